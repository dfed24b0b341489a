"""Every damage to a model file is noticed: changed, cut, added or swapped, it is a ModelFileError and nothing else."""

import json

import numpy as np
import pytest

import corml
from corml.errors import ModelFileError
from corml.persistence import container


@pytest.fixture
def good(content, old):
    return content(old)


def refused(data):
    with pytest.raises(ModelFileError):
        container.unpack(data)


def header_end(data):
    return 8 + int.from_bytes(data[:8], "little")


def test_the_undamaged_file_is_accepted_so_that_the_others_mean_something(good):
    assert container.unpack(good).meta["model"] == "corml"


def test_a_file_cut_anywhere_in_its_header_is_refused(good):
    for length in range(header_end(good) + 1):
        refused(good[:length])


def test_a_file_cut_anywhere_else_is_refused(good):
    for length in np.linspace(header_end(good), len(good) - 1, 300).astype(int):
        refused(good[:length])


def test_a_file_with_any_bit_flipped_is_refused(good):
    rng = np.random.default_rng(2026)
    anywhere = rng.integers(0, 8 * len(good), 1500)
    in_header = rng.integers(0, 8 * header_end(good), 500)
    for bit in np.concatenate([anywhere, in_header]).tolist():
        damaged = bytearray(good)
        damaged[bit // 8] ^= 1 << bit % 8
        refused(bytes(damaged))


def test_a_file_with_any_bit_of_its_first_bytes_flipped_is_refused(good):
    for bit in range(8 * 150):
        damaged = bytearray(good)
        damaged[bit // 8] ^= 1 << bit % 8
        refused(bytes(damaged))


@pytest.mark.parametrize("tail", [b"\0", b" ", b"}", bytes(8), bytes(4096), b"PK\5\6" + bytes(18)])
def test_a_file_with_something_appended_is_refused(good, tail):
    refused(good + tail)


def test_a_file_appended_to_itself_or_repeated_is_refused(good):
    refused(good + good)


@pytest.mark.parametrize("junk", [b"\0", b"\n", b"\xef\xbb\xbf"])
def test_a_file_with_something_put_before_it_is_refused(good, junk):
    refused(junk + good)


def test_a_hole_of_zeros_anywhere_is_refused(good):
    """What a disk leaves of a page that was never written."""
    for start in range(0, len(good) - 64, 64):
        damaged = good[:start] + bytes(64) + good[start + 64 :]
        if damaged != good:
            refused(damaged)


def test_any_part_of_one_model_inside_another_is_refused(good, content, other):
    """Header, arrays and every page between: each cut is old before it and new after it, or the other way round."""
    foreign = content(other)
    for cut in [8, 150, header_end(good), *range(256, min(len(good), len(foreign)), 256)]:
        for mixture in (good[:cut] + foreign[cut:], foreign[:cut] + good[cut:]):
            assert mixture in (good, foreign) or refused(mixture) is None


def spans(data):
    """Where each array lies in a file."""
    end = header_end(data)
    header = json.loads(data[8:end])
    return {
        name: slice(*(end + at for at in entry["data_offsets"])) for name, entry in header.items() if name[0] != "_"
    }


def test_every_array_swapped_for_that_of_another_model_is_refused(good, content, other):
    foreign = content(other)
    ours, theirs = spans(good), spans(foreign)
    for name, span in ours.items():
        swapped = good[: span.start] + foreign[theirs[name]] + good[span.stop :]
        assert swapped == good or refused(swapped) is None


@pytest.mark.parametrize(
    "name", ["H.indptr", "H.indices", "H.data", "train.indptr", "train.indices", "counts", "degrees"]
)
def test_arrays_swapped_by_someone_who_corrects_the_digest_no_longer_fit_together(good, content, other, path, name):
    ours, theirs = container.unpack(good), container.unpack(content(other))
    path.write_bytes(container.pack({**ours.arrays, name: theirs.arrays[name]}, ours.meta))
    with pytest.raises(ModelFileError, match="cannot be trusted"):
        corml.read_model(path)


def test_random_bytes_are_refused():
    rng = np.random.default_rng(7)
    for size in [0, 1, 7, 8, 9, 64, 200, 5000]:
        refused(rng.bytes(size))
