"""Arrays and facts go into a file and come back equal; anything else is refused."""

import json
import os
import socket
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import load, save
from scipy.sparse import csr_array

from corml.data.saved import labels as saved_labels
from corml.errors import DataError, ModelFileError, ResourceError, UsageError
from corml.persistence import container

FACTS = {"model": "m", "settings": {}, "shape": [1, 1], "data": {}, "notes": {}, "evaluation": {}, "made_with": {}}
TEXTS = [
    "a",
    "NA",
    "é",
    "e\u0301",
    "☕🧑‍🚀",
    "line\nbreak",
    "tab\t",
    "\u202e",
    '"quoted"',
    "\\",
    "\udc80",
    "x" * 300,
    "007",
    "7",
]


def packed(**arrays):
    return container.pack(arrays, FACTS)


# --- whole files -----------------------------------------------------------------------------------------------------


@given(
    st.dictionaries(
        st.text(max_size=5).map(lambda text: "a" + text),
        st.sampled_from(sorted(container.DTYPES)).flatmap(
            lambda dtype: hnp.arrays(
                dtype,
                hnp.array_shapes(min_dims=0, min_side=0, max_side=4),
                elements={"allow_nan": False, "allow_infinity": False} if dtype[0] == "f" else None,
            )
        ),
        max_size=4,
    )
)
def test_every_array_comes_back_equal(arrays):
    back = container.unpack(container.pack(arrays, FACTS)).arrays
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        assert back[name].shape == array.shape
        np.testing.assert_array_equal(back[name], array)


def test_strided_arrays_come_back_equal():
    numbers = np.arange(24.0).reshape(4, 6)
    back = container.unpack(packed(turned=numbers.T, skipped=numbers[:, ::2])).arrays
    np.testing.assert_array_equal(back["turned"], numbers.T)
    np.testing.assert_array_equal(back["skipped"], numbers[:, ::2])


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    )
)
def test_every_fact_comes_back_equal(fact):
    contents = container.unpack(container.pack({}, {**FACTS, "notes": {"fact": fact}}))
    assert contents.meta["notes"] == {"fact": fact}
    assert contents.meta["format"] == container.FORMAT


def test_facts_of_numpy_and_paths_become_plain():
    data = container.pack(
        {}, {**FACTS, "notes": {"a": np.float32(0.5), "b": np.arange(2), "c": Path("x"), "d": np.True_}}
    )
    assert container.unpack(data).meta["notes"] == {"a": 0.5, "b": [0, 1], "c": "x", "d": True}


@pytest.mark.parametrize("fact", [float("nan"), np.float32("inf"), object(), {1, 2}, b"bytes", {1: 2, "a": 3}])
def test_facts_that_json_cannot_hold_are_one_sentence(fact):
    with pytest.raises(UsageError, match="only plain facts"):
        container.pack({}, {**FACTS, "notes": {"fact": fact}})


def test_a_fact_that_looks_like_the_digest_is_just_a_fact():
    lure = {"digest": container.BLANK, "text": f'"digest": "{container.BLANK}"', "format": 99}
    assert container.unpack(container.pack({}, {**FACTS, "data": lure})).meta["data"] == lure


def test_other_programs_can_read_the_arrays():
    np.testing.assert_array_equal(load(packed(a=np.arange(5)))["a"], np.arange(5))


def test_equal_contents_make_equal_bytes_whatever_their_order():
    one, two = np.arange(3), np.ones(2)
    first = container.pack({"a": one, "b": two}, {**FACTS, "notes": {"x": 1, "y": 2}})
    second = container.pack({"b": two, "a": one}, {**dict(reversed(FACTS.items())), "notes": {"y": 2, "x": 1}})
    assert first == second


def test_the_digest_tells_contents_apart():
    digests = {container.unpack(packed(a=np.array([value]))).digest for value in range(10)}
    assert len(digests) == 10


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_neither_written_nor_read(value, monkeypatch):
    array = np.zeros(3 * container.SLICE // 2, dtype=np.float32)
    array[-1] = value
    with pytest.raises(ModelFileError, match="in 'a' that are not finite"):
        packed(a=array)
    with monkeypatch.context() as unchecked:
        unchecked.setattr(container, "_check_arrays", lambda *_: None)
        data = packed(a=array)
    with pytest.raises(ModelFileError, match="in 'a' that are not finite"):
        container.unpack(data)


@pytest.mark.parametrize("dtype", ["float16", "int8", "uint64", "bool", "complex64"])
def test_types_no_model_uses_are_neither_written_nor_read(dtype, monkeypatch):
    array = np.zeros(2, dtype=dtype)
    with pytest.raises(ModelFileError, match=f"holds 'a' as {dtype}"):
        packed(a=array)
    with monkeypatch.context() as unchecked:
        unchecked.setattr(container, "_check_arrays", lambda *_: None)
        data = packed(a=array)
    with pytest.raises(ModelFileError, match=f"holds 'a' as {dtype}"):
        container.unpack(data)


def test_a_newer_format_names_both_versions(monkeypatch):
    with monkeypatch.context() as later:
        later.setattr(container, "FORMAT", 12)
        data = packed()
    with pytest.raises(ModelFileError, match="has format 12, newer than the 4 this corml reads: upgrade"):
        container.unpack(data)


def test_a_newer_format_is_recognised_even_if_only_its_number_is_familiar():
    data = save({}, metadata={"corml": '{"format": 5, "seal": "another way to be sure"}'})
    with pytest.raises(ModelFileError, match="has format 5, newer than the 4"):
        container.unpack(data)


@pytest.mark.parametrize("number", ["0", "-1", "1.0", "true", "1" * 50, '"1"'])
def test_a_format_must_be_a_counting_number(number):
    text = f'{{"format": {number}, "digest": "{container.BLANK}", "facts": {{}}}}'
    with pytest.raises(ModelFileError):
        container.unpack(save({}, metadata={"corml": text}))


def test_a_file_of_our_format_without_a_digest_is_refused():
    with pytest.raises(ModelFileError, match="no digest"):
        container.unpack(save({}, metadata={"corml": '{"format": 4, "facts": {}}'}))


@pytest.mark.parametrize("fact", sorted(container.FACTS))
def test_every_fact_a_model_needs_must_be_there_and_of_its_kind(fact):
    lacking = {name: value for name, value in FACTS.items() if name != fact}
    for facts in (lacking, {**FACTS, fact: None}, {**FACTS, fact: 7}):
        with pytest.raises(ModelFileError, match=f"does not say its {fact}"):
            container.unpack(container.pack({}, facts))


def sealed(body):
    """A file with a header of our own making and a digest that is right."""
    start = body.index(container.BLANK.encode())
    digest = container._digest(body, start, start + 64).encode()
    return body[:start] + digest + body[start + 64 :]


def header(tensors, *, facts=None, data=b"", length=None):
    text = f'{{"format": {container.FORMAT}, "digest": "{container.BLANK}", "facts": {facts or json.dumps(FACTS)}}}'
    head = json.dumps({"__metadata__": {"corml": text}, **tensors}, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    return sealed((len(head) if length is None else length).to_bytes(8, "little") + head + data)


def test_our_own_header_is_accepted_so_that_the_next_test_means_something():
    tensors = {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
    assert container.unpack(header(tensors, data=bytes(8))).arrays["a"].tolist() == [0, 0]


@pytest.mark.parametrize(
    "spec",
    [
        {"dtype": "F32", "shape": [2], "data_offsets": [0, 80]},
        {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]},
        {"dtype": "F32", "shape": [2**40, 2**40], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]},
        {"dtype": "F99", "shape": [2], "data_offsets": [0, 8]},
        {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]},
        {"dtype": "O", "shape": [1], "data_offsets": [0, 8]},
        {"shape": [2], "data_offsets": [0, 8]},
        [],
    ],
)
def test_headers_that_lie_about_their_arrays_are_refused_although_the_digest_is_right(spec):
    with pytest.raises(ModelFileError, match="is damaged"):
        container.unpack(header({"a": spec}, data=bytes(8)))


@pytest.mark.parametrize("length", [0, 1, 2**31, 2**63, 2**64 - 1])
def test_headers_that_lie_about_their_length_are_refused_although_the_digest_is_right(length):
    with pytest.raises(ModelFileError, match="is damaged"):
        container.unpack(header({}, length=length))


@pytest.mark.parametrize("facts", ["[" * 100_000 + "]" * 100_000, "1" * 5000, "nonsense", "[]", "null", '"text"'])
def test_facts_that_are_not_facts_are_refused_although_the_digest_is_right(facts):
    with pytest.raises(ModelFileError):
        container.unpack(header({}, facts=facts))


# --- reading from disk -----------------------------------------------------------------------------------------------


def test_read_tells_digest_size_and_name(tmp_path):
    path = tmp_path / "m.corml"
    path.write_bytes(packed(a=np.arange(3)))
    found = container.read(path)
    assert found.bytes == path.stat().st_size
    assert len(found.digest) == 64
    assert found.name == f"'{path}'"


@pytest.mark.parametrize(
    "content", [b"", b"x", bytes(8), b"user,item\n1,2\n" * 100, b"PK\3\4" + bytes(500), b"\xff" * 500]
)
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "m.corml"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="is not a corml model file"):
        container.read(path)


def test_a_large_file_of_another_kind_is_refused_without_being_read(tmp_path):
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.truncate(1 << 42)  # takes no room on the disk, and would take 4 TiB in memory
    with pytest.raises(ModelFileError, match="is not a corml model file"):
        container.read(path)


def test_a_model_larger_than_memory_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "huge.corml"
    path.write_bytes(packed())
    os.truncate(path, 1 << 42)
    with pytest.raises(ResourceError, match=r"Reading the model .* needs 10240"):
        container.read(path, mapped=False)
    with pytest.raises(ResourceError, match=r"Reading the model .* needs 6144"):  # what is made of its arrays
        container.read(path, mapped=True)


def test_a_missing_file_is_a_sentence(tmp_path):
    with pytest.raises(DataError, match=r"Cannot read the model .*nowhere.*: No such file"):
        container.read(tmp_path / "nowhere")


def test_a_name_with_nul_is_a_sentence(tmp_path):
    with pytest.raises(DataError, match=r"Cannot read the model .*null"):
        container.read(f"{tmp_path}/a\0b")


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
def test_a_file_without_permission_is_a_sentence(tmp_path):
    path = tmp_path / "m.corml"
    path.write_bytes(packed())
    path.chmod(0)
    with pytest.raises(DataError, match="Permission denied"):
        container.read(path)


# --- ids -------------------------------------------------------------------------------------------------------------


@given(st.lists(st.text(st.characters(codec=None), max_size=8)) | st.permutations(TEXTS))
def test_every_text_comes_back_equal(texts):
    assert saved_labels.decode_ids(saved_labels.encode_ids("x", texts), "x") == list(texts)


def ids(raw, offsets, dtype=np.int64):
    return {"x.bytes": np.frombuffer(raw, dtype=np.uint8), "x.offsets": np.array(offsets, dtype=dtype)}


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        ids(b"ab", []),
        ids(b"ab", [0, 1]),
        ids(b"ab", [1, 2]),
        ids(b"ab", [0, 3]),
        ids(b"ab", [0, 2, 1, 2]),
        ids(b"ab", [0, 2**63 - 1, -(2**63), 2]),
        ids(b"ab", [0, 1, 2], dtype=np.int32),
        ids(b"ab", [[0, 2]]),
        ids(b"ab", 2),
        ids(b"\xff\xfe", [0, 1, 2]),
        ids("é".encode(), [0, 1, 2]),
        {"x.bytes": np.zeros(2), "x.offsets": np.array([0, 2])},
        {"x.bytes": np.zeros((1, 2), dtype=np.uint8), "x.offsets": np.array([0, 1])},
        {"x.bytes": np.zeros(2, dtype=np.uint8)},
    ],
)
def test_texts_that_do_not_add_up_are_refused(arrays):
    with pytest.raises(ModelFileError, match="its x "):
        saved_labels.decode_ids(arrays, "x")


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


HUGE = 2**31 - 1


@pytest.mark.parametrize(
    "arrays",
    [
        matrix([0, 1, 2], [0, 1], np.ones(2, dtype=np.int64)),
        matrix([0, 1, 2], [0, 1], np.ones(3, dtype=np.float32)),
        matrix([0, 1, 2], [0, 1], np.ones((2, 1), dtype=np.float32)),
        matrix([0, 1, 2], [0, 1], index=np.float32),
        matrix([0, 1, 2], [0, 1], index=np.uint8),
        matrix([0, 1], [0]),
        matrix([0, 1, 1, 2], [0, 1]),
        matrix([[0, 1, 2]], [0, 1]),
        matrix([0, 1, 3], [0, 1]),
        matrix([0, 1, 1], [0, 1]),
        matrix([1, 1, 2], [0, 1]),
        matrix([0, 2, 1], [0]),
        matrix([0, 3, 2], [0, 1]),
        matrix([0, -1, 2], [0, 1]),
        matrix([0, 1, 2], [0, 3]),
        matrix([0, 1, 2], [-1, 1]),
        matrix([0, 2, 2], [1, 0]),
        matrix([0, 2, 2], [1, 1]),
        {"x.indptr": np.zeros(3, dtype=np.int32)},
        {},
    ],
)
def test_matrices_that_do_not_add_up_are_refused(arrays):
    with pytest.raises(ModelFileError, match="its matrix x "):
        container.decode_sparse(arrays, "x", (2, 3))


def test_row_starts_whose_differences_overflow_are_refused():
    arrays = matrix([0, HUGE, -HUGE - 1, -1, 2], [0, 1])
    assert (np.diff(arrays["x.indptr"]) >= 0).all()  # as an innocent check would see it
    with pytest.raises(ModelFileError):
        container.decode_sparse(arrays, "x", (4, 3))


def test_a_matrix_with_values_is_not_complete_without_them():
    arrays = matrix([0, 1, 2], [0, 1])
    del arrays["x.data"]
    assert container.decode_sparse(arrays, "x", (2, 3), values=False).nnz == 2
    with pytest.raises(ModelFileError, match="incomplete"):
        container.decode_sparse(arrays, "x", (2, 3))
