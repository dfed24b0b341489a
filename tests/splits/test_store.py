import json
import struct

import numpy as np
import pytest
from safetensors.numpy import load, save

from corml.errors import DataError
from corml.interactions import Interactions
from corml.splits import Split, read_split, split
from corml.splits._store import _digest


@pytest.fixture
def saved(sample, tmp_path):
    path = tmp_path / "sample.split"
    split(sample, "new-users").save(path)
    return path


def rewritten(path, *, arrays=None, manifest=None):
    """Change a file as a forger would: with a hash that fits the new content."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    text = json.loads(content[8 : 8 + length])["__metadata__"]["corml"]
    text = json.loads(text)["manifest"]
    changed = {name: array for name, array in (load(content) | (arrays or {})).items() if array is not None}
    text = json.dumps(json.loads(text) | (manifest or {}))
    path.write_bytes(
        save(changed, metadata={"corml": json.dumps({"manifest": text, "sha256": _digest(text, changed)})})
    )


def test_everything_comes_back(saved, sample, contents):
    made, read = split(sample, "new-users"), read_split(saved)
    assert contents(read) == contents(made)
    assert read.fingerprint == made.fingerprint
    assert read.procedure == made.procedure
    assert read.counts() == made.counts()
    assert read.train.users == sample.users
    assert read.train.titles == sample.titles
    assert read.train.source == sample.source
    assert read.test.times.tolist() == made.test.times.tolist()
    assert read.history.users is read.train.users


def test_equal_splits_are_equal_files(saved, sample, tmp_path):
    for _ in range(5):
        split(sample, "new-users").save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == saved.read_bytes()


def test_labels_of_any_script_and_parts_without_times_come_back(tmp_path, contents):
    odd = ["007", "7", "NA", "\ud800", "😀", "a\nb", "ñ", "n\u0303"]
    made = split(Interactions.from_pairs(odd, odd[::-1]))
    made.save(tmp_path / "s")
    assert contents(read_split(tmp_path / "s")) == contents(made)
    assert read_split(tmp_path / "s").train.times is None


def test_nothing_but_ids_comes_back(sample, tmp_path):
    Split(train=sample.where([])).save(tmp_path / "s")
    assert read_split(tmp_path / "s").train.shape == sample.shape


def test_the_manifest_can_be_read_by_people(saved, sample):
    content = saved.read_bytes()
    header = json.loads(content[8 : 8 + struct.unpack("<Q", content[:8])[0]])
    manifest = json.loads(json.loads(header["__metadata__"]["corml"])["manifest"])
    assert manifest["procedure"]["name"] == "new-users"
    assert manifest["procedure"]["data"] == sample.fingerprint
    assert manifest["parts"]["train"] == read_split(saved).train.fingerprint


def test_any_changed_byte_is_noticed(saved):
    content = bytearray(saved.read_bytes())
    for at in np.linspace(0, len(content) - 1, 150).astype(int):
        damaged = content.copy()
        damaged[at] ^= 0x55
        saved.write_bytes(damaged)
        with pytest.raises(DataError, match=r"make and save it again"):
            read_split(saved)


@pytest.mark.parametrize("keep", [0, 5, 100, -1])
def test_a_cut_file_is_noticed(saved, keep):
    saved.write_bytes(saved.read_bytes()[:keep])
    with pytest.raises(DataError, match="is not a split file of corml, or it is damaged"):
        read_split(saved)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "other"
    for content in (
        b"user,item\n1,2\n",
        save({"a": np.zeros(3)}),
        save({"a": np.zeros(3)}, metadata={"corml": "[]"}),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match="is not a split file of corml"):
            read_split(path)


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(DataError, match=r"Could not read the split .*nowhere': No such file"):
        read_split(tmp_path / "nowhere")
    with pytest.raises(DataError, match="Could not read the split"):
        read_split(tmp_path)


def test_a_folder_to_save_in_must_exist(sample, tmp_path):
    with pytest.raises(DataError, match="does not exist: create it first"):
        split(sample).save(tmp_path / "no" / "s")


@pytest.mark.parametrize("manifest", [{"version": 2}, {"version": None}])
def test_a_newer_file_is_refused_by_its_version(saved, manifest):
    rewritten(saved, manifest=manifest)
    with pytest.raises(DataError, match=r"has version .* where this program reads 1"):
        read_split(saved)


@pytest.mark.parametrize("manifest", [{"format": "soup"}, {"format": None}])
def test_a_file_of_another_format_is_refused(saved, manifest):
    rewritten(saved, manifest=manifest)
    with pytest.raises(DataError, match="is not a split file"):
        read_split(saved)


@pytest.mark.parametrize(
    "arrays",
    [
        {"train.user": np.array([0, 10**6], np.int32), "train.item": np.array([0, 1], np.int32), "train.times": None},
        {"train.user": np.array([0, -1], np.int32), "train.item": np.array([0, 1], np.int32), "train.times": None},
        {"train.user": np.array([0], np.int32), "train.item": np.array([99], np.int32), "train.times": None},
        {"train.user": np.array([0, 0], np.int32), "train.item": np.array([1, 1], np.int32), "train.times": None},
        {"train.user": np.array([0.5]), "train.item": np.array([0], np.int32), "train.times": None},
        {"train.user": np.array([0, 1], np.int32), "train.item": np.array([0], np.int32), "train.times": None},
        {"train.times": np.zeros(3)},
        {"train.user": None},
        {"train.item": None},
        {"titles": np.frombuffer(b"{", np.uint8)},
        {"users.offsets": np.array([0, 3, 2, 9])},
        {"users.offsets": np.array([0.5])},
        {"items.bytes": np.frombuffer(b"\xff\xfe", np.uint8), "items.offsets": np.array([0, 1, 2])},
        {"items.bytes": np.frombuffer(b"aa", np.uint8), "items.offsets": np.array([0, 1, 2])},
        {"items.bytes": None},
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(saved, arrays):
    rewritten(saved, arrays=arrays)
    with pytest.raises(DataError, match=r"is inconsistent \(labels, rows or manifest do not fit together"):
        read_split(saved)


@pytest.mark.parametrize("manifest", [{"procedure": 7}, {"dropped": "none"}, {"source": None}, {"fingerprint": 1}])
def test_a_strange_manifest_is_refused(saved, manifest):
    rewritten(saved, manifest=manifest)
    with pytest.raises(DataError, match="is inconsistent"):
        read_split(saved)


def test_moved_pairs_do_not_have_the_recorded_fingerprint(saved):
    arrays = load(saved.read_bytes())
    swap = {
        f"{one}.{column}": arrays[f"{other}.{column}"]
        for one, other in (("test", "valid"), ("valid", "test"))
        for column in ("user", "item", "times")
    }
    rewritten(saved, arrays=swap)
    with pytest.raises(DataError, match="do not have the recorded fingerprint"):
        read_split(saved)
