"""Arrays and facts go into a file and come back equal; anything else is refused."""

import json
import os
import socket
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import load, save
from scipy.sparse import csr_array

from corml.data.saved.pairs import decode_labels, encode_ids
from corml.errors import DataError, ModelFileError, ResourceError, UsageError
from corml.persistence import container
from support import ODD_TEXTS

FACTS = {"model": "m", "settings": {}, "shape": [1, 1], "data": {}, "notes": {}, "evaluation": {}, "made_with": {}}
NAMES = st.text(max_size=5).map(lambda text: "a" + text)
FINITE = {"allow_nan": False, "allow_infinity": False}


def arrays(dtype):
    shapes = hnp.array_shapes(min_dims=0, min_side=0, max_side=4)
    return hnp.arrays(dtype, shapes, elements=FINITE if dtype[0] == "f" else None)


def packed(**arrays):
    return container.pack(arrays, FACTS)


# --- whole files -----------------------------------------------------------------------------------------------------


@given(st.dictionaries(NAMES, st.sampled_from(sorted(container.CODES)).flatmap(arrays), max_size=4))
def test_every_array_comes_back_equal_as_a_view_of_the_bytes(arrays):
    data = np.frombuffer(bytearray(container.pack(arrays, FACTS)), dtype=np.uint8)
    back = container.unpack(data).arrays
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        assert (back[name].dtype, back[name].shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(back[name], array)
        assert back[name].flags.writeable  # or kernels are compiled once more
        assert not array.size or np.shares_memory(back[name], data)


def test_the_library_reads_our_files_and_writes_the_same_bytes():
    given = {"b": np.arange(5), "a": np.ones(2, np.float32), "c": np.arange(24.0).reshape(4, 6).T[::2]}
    data = packed(**given)
    there = load(data)
    for name, array in given.items():
        np.testing.assert_array_equal(there[name], array)
    text = f'{{"format": {container.FORMAT}, "facts": {json.dumps(FACTS, sort_keys=True)}}}'
    assert save(there, metadata={"corml": text}) == data


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(**FINITE) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    )
)
def test_every_fact_comes_back_equal(fact):
    contents = container.unpack(container.pack({}, {**FACTS, "notes": {"fact": fact}}))
    assert contents.meta["notes"] == {"fact": fact}


def test_facts_of_numpy_and_paths_become_plain():
    notes = {"a": np.float32(0.5), "b": np.arange(2), "c": Path("x"), "d": np.True_}
    back = container.unpack(container.pack({}, {**FACTS, "notes": notes})).meta["notes"]
    assert back == {"a": 0.5, "b": [0, 1], "c": "x", "d": True}


@pytest.mark.parametrize("fact", [float("nan"), np.float32("inf"), object(), {1, 2}, b"bytes", {1: 2, "a": 3}])
def test_facts_that_json_cannot_hold_are_an_error(fact):
    with pytest.raises(UsageError, match="only plain facts"):
        container.pack({}, {**FACTS, "notes": {"fact": fact}})


def test_equal_contents_make_equal_bytes_and_others_another_digest():
    one, two = np.arange(3), np.ones(2)
    first = container.pack({"a": one, "b": two}, {**FACTS, "notes": {"x": 1, "y": 2}})
    second = container.pack({"b": two, "a": one}, {**dict(reversed(FACTS.items())), "notes": {"y": 2, "x": 1}})
    assert first == second
    assert len({container.unpack(packed(a=np.array([value]))).digest for value in range(10)}) == 10


@pytest.mark.parametrize(
    ("array", "fault"),
    [(np.append(np.zeros(container.SLICE, np.float32), value), "in 'a' that are not finite")
     for value in (np.nan, np.inf, -np.inf)]
    + [(np.zeros(2, dtype), f"holds 'a' as {dtype}") for dtype in ("float16", "int8", "uint64", "bool", "complex64")],
)  # fmt: skip
def test_numbers_that_are_not_finite_and_unused_types_are_refused(array, fault):
    with pytest.raises(ModelFileError, match=fault):
        packed(a=array)
    if str(array.dtype) in container.CODES:
        text = f'{{"format": {container.FORMAT}, "facts": {json.dumps(FACTS)}}}'
        with pytest.raises(ModelFileError, match=fault):
            container.unpack(b"".join(container.sealed({"a": array}, text)))


@pytest.mark.parametrize(("number", "remedy"), [(12, "newer than the 5 .* upgrade"), (4, "older than the 5 .* fit")])
def test_another_format_names_both_versions(number, remedy):
    data = save({}, metadata={"corml": f'{{"format": {number}, "seal": "another way to be sure"}}'})
    with pytest.raises(ModelFileError, match=f"has format {number}, {remedy}"):
        container.unpack(data)


@pytest.mark.parametrize("number", ["0", "-1", "1.0", "true", "1" * 5000, '"1"'])
def test_a_format_must_be_a_counting_number(number):
    with pytest.raises(ModelFileError, match="is not a corml model file"):
        container.unpack(save({}, metadata={"corml": f'{{"format": {number}, "facts": {{}}}}'}))


@pytest.mark.parametrize("fact", sorted(container.FACTS))
def test_every_fact_of_a_model_must_be_there_and_of_its_type(fact):
    lacking = {name: value for name, value in FACTS.items() if name != fact}
    for facts in (lacking, {**FACTS, fact: None}, {**FACTS, fact: 7}):
        with pytest.raises(ModelFileError, match=f"has no valid {fact}"):
            container.unpack(container.pack({}, facts))


def test_any_changed_byte_is_noticed():
    data = packed(a=np.arange(3))
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 1
        with pytest.raises(ModelFileError):
            container.unpack(bytes(changed))


# --- headers that lie, with a right digest ---------------------------------------------------------------------------

TEXT = f'{{"format": {container.FORMAT}, "facts": {json.dumps(FACTS)}}}'


def forged(entries=None, *, body=bytes(8), text=TEXT, length=None, end=None, digest=True, blanks=0):
    """A file with a header of our own making and a digest that is right."""
    end = len(body) if end is None else end
    seal = {"~sha256": {"dtype": "U8", "shape": [32], "data_offsets": [end, end + 32]}} if digest else {}
    head = entries if isinstance(entries, bytes) else json.dumps(
        {"__metadata__": {"corml": text}, **(entries or {}), **seal}
    ).encode()  # fmt: skip
    head += b" " * (-len(head) % 8 + blanks)
    data = (len(head) if length is None else length).to_bytes(8, "little") + head + body
    return data + sha256(data).digest()


def entry(name="a", **changes):
    return {name: {"dtype": "I32", "shape": [2], "data_offsets": [0, 8], **changes}}


def test_the_header_that_the_others_are_made_of_is_sound():
    assert container.unpack(forged(entry())).arrays["a"].tolist() == [0, 0]


@pytest.mark.parametrize(
    "data",
    [
        *(forged(entry(shape=shape)) for shape in ([3], [-2], [True, 2], [2.0], 2, [2**62, 4])),
        *(forged(entry(data_offsets=at)) for at in ([0, 9], [4, 12], [8, 0], [-8, 0], [0], [0, 8, 8], [0, 80])),
        *(forged(entry(dtype=dtype)) for dtype in ("F4", "F99", "BF16", "BOOL", "O", ["I32"])),
        forged({"a": {"shape": [2], "data_offsets": [0, 8]}}),
        forged({"a": []}),
        forged({"a": 1}),
        forged(entry(), body=b"1234567"),
        forged(entry(), body=b"123456789"),
        forged(entry(), body=b"12345678x", end=8),
        forged(entry() | entry("b", shape=[1], data_offsets=[4, 8])),  # bytes of another
        forged(entry() | entry("b")),
        forged(entry() | entry("b", shape=[1], data_offsets=[12, 16]), body=b"1" * 16),  # a gap
        forged(json.dumps({"__metadata__": {"corml": TEXT}, **entry()}).encode()[:-1] + b', "a": {}}'),
        forged(entry(), digest=False),
        forged(entry(), blanks=1),  # numbers at odd places would be copied
        *(forged({}, body=b"", length=length) for length in (0, 1, 2**31, 2**63, 2**64 - 1)),
        *(forged(head) for head in (b"[]", b"\xff", b"{}", b'{"__metadata__": 1}')),
        *(forged({}, body=b"", text=text) for text in ("[" * 100_000 + "]" * 100_000, "1" * 5000, "x", "[]", "null")),
        b"\x01",
        b"",
    ],
)  # fmt: skip
def test_a_header_that_does_not_add_up_is_refused_although_the_digest_is_right(data):
    with pytest.raises(ModelFileError, match="is damaged"):
        container.unpack(data)


# --- reading from disk -----------------------------------------------------------------------------------------------


def test_read_tells_digest_size_and_name(tmp_path):
    path = tmp_path / "m.corml"
    path.write_bytes(packed(a=np.arange(3)))
    found = container.read(path)
    assert (found.bytes, len(found.digest), found.name) == (path.stat().st_size, 64, f"'{path}'")


@pytest.mark.parametrize(
    "content", [b"", b"x", bytes(8), b"user,item\n1,2\n" * 100, b"PK\3\4" + bytes(500), b"\xff" * 500]
)
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "m.corml"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="is not a corml model file"):
        container.read(path)
    assert container.peek(path) is None


def test_large_files_are_refused_before_they_are_read(tmp_path):
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.truncate(1 << 42)  # takes no room on the disk, and would take 4 TiB in memory
    with pytest.raises(ModelFileError, match="is not a corml model file"):
        container.read(path)
    path.write_bytes(packed())
    os.truncate(path, 1 << 42)
    with pytest.raises(ResourceError, match=r"Reading the model .* needs 10240"):
        container.read(path, mapped=False)
    with pytest.raises(ResourceError, match=r"Reading the model .* needs 6144"):  # what is made of its arrays
        container.read(path, mapped=True)


@pytest.mark.parametrize(("name", "fault"), [("nowhere", ": No such file"), ("a\0b", "null")])
def test_a_missing_file_and_an_impossible_name_are_errors(tmp_path, name, fault):
    with pytest.raises(DataError, match=f"Cannot read the model .*{fault}"):
        container.read(f"{tmp_path}/{name}")


@pytest.mark.parametrize("kind", ["folder", "pipe", "socket", "device", "loop"])
def test_what_is_not_a_file_is_refused_at_once(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    if kind == "folder":
        os.mkdir("odd")
    elif kind == "pipe":
        os.mkfifo("odd")
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("odd")
    else:
        os.symlink("/dev/zero" if kind == "device" else "odd", "odd")
    with pytest.raises((DataError, ModelFileError)):
        container.read("odd")


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_an_error(tmp_path):
    path = tmp_path / "m.corml"
    path.write_bytes(packed())
    path.chmod(0)
    with pytest.raises(DataError, match="Permission denied"):
        container.read(path)


# --- texts -----------------------------------------------------------------------------------------------------------


@given(st.lists(st.text(st.characters(codec=None), max_size=8)) | st.permutations(ODD_TEXTS))
def test_every_text_comes_back_equal(texts):
    assert decode_labels(encode_ids("x", texts), "x").tolist() == list(texts)


def ids(raw, offsets, dtype=np.int64):
    return {"x.bytes": np.frombuffer(raw, dtype=np.uint8), "x.offsets": np.array(offsets, dtype=dtype)}


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        *(
            ids(b"ab", at)
            for at in ([], [0, 1], [1, 2], [0, 3], [0, 2, 1, 2], [0, 2**63 - 1, -(2**63), 2], [[0, 2]], 2)
        ),
        ids(b"ab", [0, 1, 2], dtype=np.int32),
        ids(b"\xff\xfe", [0, 1, 2]),
        ids("é".encode(), [0, 1, 2]),
        {"x.bytes": np.zeros(2), "x.offsets": np.array([0, 2])},
        {"x.bytes": np.zeros((1, 2), dtype=np.uint8), "x.offsets": np.array([0, 1])},
        {"x.bytes": np.zeros(2, dtype=np.uint8)},
    ],
)
def test_texts_that_do_not_add_up_are_refused(arrays):
    with pytest.raises(ModelFileError, match="its x "):
        decode_labels(arrays, "x")


# --- matrices --------------------------------------------------------------------------------------------------------


@given(
    hnp.arrays(
        np.float32, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.sampled_from([0, 0, 1, 2.5])
    )
)
def test_every_matrix_comes_back_equal(dense):
    X = csr_array(dense)
    back = container.decode_sparse(container.encode_sparse("x", X), "x", X.shape)
    np.testing.assert_array_equal(back.toarray(), dense)
    pattern = container.decode_sparse(container.encode_sparse("x", X, values=False), "x", X.shape, values=False)
    np.testing.assert_array_equal(pattern.toarray(), dense != 0)
    assert back.indices.dtype == X.indices.dtype


def test_unsorted_and_repeated_entries_are_put_in_order_and_the_original_left_alone():
    X = csr_array((np.ones(3, dtype=np.float32), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    back = container.decode_sparse(container.encode_sparse("x", X), "x", (1, 3))
    assert back.toarray().tolist() == [[1, 0, 2]]
    assert X.indices.tolist() == [2, 0, 2]


def matrix(indptr, indices, data=None, index=np.int32):
    data = np.ones(len(indices), dtype=np.float32) if data is None else data
    return {"x.indptr": np.array(indptr, dtype=index), "x.indices": np.array(indices, dtype=index), "x.data": data}


@pytest.mark.parametrize(
    "arrays",
    [
        *(matrix([0, 1, 2], [0, 1], values) for values in
          (np.ones(2, dtype=np.int64), np.ones(3, dtype=np.float32), np.ones((2, 1), dtype=np.float32))),
        *(matrix([0, 1, 2], [0, 1], index=index) for index in (np.float32, np.uint8)),
        *(matrix(starts, [0, 1]) for starts in
          ([0, 1, 1, 2], [[0, 1, 2]], [0, 1, 3], [0, 1, 1], [1, 1, 2], [0, 3, 2], [0, -1, 2])),
        *(matrix(starts, [0]) for starts in ([0, 1], [0, 2, 1])),
        *(matrix([0, 1, 2], columns) for columns in ([0, 3], [-1, 1])),
        *(matrix([0, 2, 2], columns) for columns in ([1, 0], [1, 1])),
        {"x.indptr": np.zeros(3, dtype=np.int32)},
        {},
    ],
)  # fmt: skip
def test_matrices_that_do_not_add_up_are_refused(arrays):
    with pytest.raises(ModelFileError, match="its matrix x "):
        container.decode_sparse(arrays, "x", (2, 3))


def test_row_starts_whose_differences_overflow_are_refused():
    arrays = matrix([0, 2**31 - 1, -(2**31), -1, 2], [0, 1])
    assert (np.diff(arrays["x.indptr"]) >= 0).all()  # as an innocent check would see it
    with pytest.raises(ModelFileError):
        container.decode_sparse(arrays, "x", (4, 3))


def test_a_matrix_with_values_is_not_complete_without_them():
    arrays = matrix([0, 1, 2], [0, 1])
    del arrays["x.data"]
    assert container.decode_sparse(arrays, "x", (2, 3), values=False).nnz == 2
    with pytest.raises(ModelFileError, match="incomplete"):
        container.decode_sparse(arrays, "x", (2, 3))


def test_rows_that_fall_at_the_border_of_a_slice_are_noticed(monkeypatch):
    monkeypatch.setattr(container, "SLICE", 2)
    indptr = np.array([0, 4])
    assert container.is_ascending(indptr, np.array([0, 1, 2, 3]))
    assert not container.is_ascending(indptr, np.array([0, 2, 1, 3]))
    assert container.is_ascending(np.array([0, 2, 4]), np.array([0, 2, 1, 3]))
