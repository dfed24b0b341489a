"""Files have the bytes that the safetensors library writes, and a header cannot name bytes that are not its own."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import save

from corml.persistence import tensors

ARRAYS = st.dictionaries(
    st.text(max_size=4).filter(lambda name: name != "__metadata__"),
    st.sampled_from(sorted(set(tensors.CODES) - {"bool"})).flatmap(
        lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, min_side=0, max_side=3))
    ),
    max_size=5,
)


def written(arrays, metadata):
    ordered = tensors.in_order(arrays)
    return tensors.header(ordered, metadata) + b"".join(array.tobytes() for array in ordered.values())


@given(ARRAYS, st.text())
def test_a_file_has_the_bytes_of_the_library(arrays, text):
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    assert written(arrays, {"corml": text}) == save(contiguous, metadata={"corml": text})


def opened(data):
    return tensors.views(np.frombuffer(bytearray(data), dtype=np.uint8))


@given(ARRAYS)
def test_arrays_are_views_of_the_bytes(arrays):
    data = np.frombuffer(bytearray(written(arrays, {"corml": "x"})), dtype=np.uint8)
    back, metadata = tensors.views(data)
    assert metadata == {"corml": "x"}
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array)
        assert back[name].dtype == array.dtype
        assert back[name].flags.writeable  # or kernels are compiled once more
        assert not array.size or np.shares_memory(back[name], data)


def forged(entries, body=b"12345678", length=None, aligned=True):
    text = json.dumps(entries).encode() if isinstance(entries, dict) else entries
    text += b" " * (-len(text) % 8 if aligned else 0)
    return (len(text) if length is None else length).to_bytes(8, "little") + text + body


def entry(**changes):
    return {"__metadata__": {}, "a": {"dtype": "I32", "shape": [2], "data_offsets": [0, 8], **changes}}


def test_the_header_that_the_others_are_made_of_is_sound():
    assert opened(forged(entry()))[0]["a"].tobytes() == b"12345678"


@pytest.mark.parametrize(
    "data",
    [
        forged(entry(shape=[3])),
        forged(entry(shape=[-2])),
        forged(entry(shape=[True, 2])),
        forged(entry(shape=[2.0])),
        forged(entry(shape=2)),
        forged(entry(shape=[2**62, 4])),
        forged(entry(data_offsets=[0, 9])),
        forged(entry(data_offsets=[4, 12])),
        forged(entry(data_offsets=[8, 0])),
        forged(entry(data_offsets=[-8, 0])),
        forged(entry(data_offsets=[0])),
        forged(entry(data_offsets=[0, 8, 8])),
        forged(entry(dtype="F4")),
        forged(entry(dtype=["I32"])),
        forged(entry(), body=b"1234567"),
        forged(entry(), body=b"123456789"),
        forged(entry() | {"b": {"dtype": "I32", "shape": [1], "data_offsets": [4, 8]}}),  # bytes of another
        forged(entry() | {"b": {"dtype": "I32", "shape": [2], "data_offsets": [0, 8]}}),
        forged(entry() | {"b": {"dtype": "I32", "shape": [1], "data_offsets": [12, 16]}}, body=b"1" * 16),  # a gap
        forged(json.dumps(entry()).encode()[:-1] + b', "a": {"dtype": "I32", "shape": [2], "data_offsets": [0, 8]}}'),
        forged(entry(), length=2**63),
        forged(entry(), length=10**6),
        forged({"a": 1, "__metadata__": {}}),
        forged(b"[]"),
        forged(b"\xff"),
        b"\x01",
        b"",
    ],
)
def test_a_header_that_does_not_add_up_is_refused(data):
    with pytest.raises((ValueError, KeyError, TypeError, AttributeError)):  # which `container` turns into a sentence
        opened(data)


def test_numbers_at_an_odd_place_are_refused():
    """Copied to where they may be, they were there twice, and what is made of them a third time."""
    text = json.dumps(entry()).encode()
    data = forged(text + b" " * (-len(text) % 8 + 1), aligned=False)
    with pytest.raises(ValueError, match="its arrays begin at odd places"):
        opened(data)
