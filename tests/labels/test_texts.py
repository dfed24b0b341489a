"""Labels are read as an array of texts is, however few or many there are, and whatever texts."""

import copy
import hashlib
import pickle

import numpy as np
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corml.data import labels as module
from corml.data.labels import Labels, concatenated

ANY = st.text(st.characters() | st.sampled_from("\0a\x7f\x80é\ud7ff\ud800\udfff\ue000\U0010ffff"), max_size=20)
TEXTS = st.lists(ANY, max_size=30)


@pytest.fixture(params=["few", "many"], autouse=True)
def amount(request):
    """With 'many' everything is many, and goes through in pieces of three."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "many":
            patch.setattr(module, "FEW", 0)
            patch.setattr(module, "AT_ONCE", 3)
            patch.setattr(module, "DECODED", 8)
        yield request.param


@given(TEXTS)
def test_all_of_them_come_back(texts):
    labels = Labels.of(iter(texts))
    assert len(labels) == len(texts)
    assert list(labels) == labels.tolist() == np.asarray(labels).tolist() == texts
    assert labels.size == sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    assert Labels(labels.data, labels.starts).tolist() == texts  # also when the objects are not there already


@given(TEXTS, st.data())
def test_some_of_them_are_those_of_an_array(texts, data):
    labels, plain = Labels.of(texts), np.empty(len(texts), dtype=object)
    plain[:] = texts
    some = data.draw(st.slices(len(texts)))
    assert labels[some].tolist() == plain[some].tolist()
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts))), dtype=bool)
    assert labels[mask].tolist() == labels.take(mask).tolist() == plain[mask].tolist()
    if texts:
        rows = st.integers(-len(texts), len(texts) - 1)
        one = data.draw(rows)
        assert labels[one] == labels[np.int32(one)] == texts[one]
        several = np.array(data.draw(st.lists(st.lists(rows, min_size=3, max_size=3), max_size=4)), dtype=np.int32)
        assert labels[several].tolist() == plain[several].tolist()
        assert labels[several].shape == several.shape
        forward = several.ravel() % len(texts)
        assert labels.take(forward).tolist() == plain[forward].tolist()


@pytest.mark.parametrize("row", [3, -4, np.array([0, 3]), np.array([-4]), np.array([True]), np.array([0.5]), "a"])
def test_what_is_not_there_is_an_index_error(row):
    with pytest.raises(IndexError):
        Labels.of(["a", "b", "c"])[row]


@given(TEXTS, TEXTS)
def test_parts_and_joined_ones_are_labels(first, second):
    both = concatenated([Labels.of(first), Labels.of(second)])
    assert both.tolist() == first + second
    rest = both.part(len(first), len(both))
    assert rest.tolist() == second
    assert rest == Labels.of(second)
    assert concatenated([rest, both]).tolist() == second + first + second  # its bytes do not begin at 0
    data, starts = rest.packed()
    assert starts[0] == 0
    assert Labels(data, starts).tolist() == second
    assert [text for part in both.parts() for text in part] == first + second


@given(TEXTS, TEXTS)
def test_equal_ones_have_equal_texts(first, second):
    assert (Labels.of(first) == Labels.of(second)) == (first == second)
    assert Labels.of(first) == Labels.of(first)
    assert Labels.of(["ab", "c"]) != Labels.of(["a", "bc"])
    assert Labels.of(first) != first


@given(TEXTS)
def test_they_are_sorted_as_python_sorts(texts):
    order = Labels.of(texts).order()
    assert order.tolist() == sorted(range(len(texts)), key=lambda row: texts[row])


@given(st.lists(st.binary(max_size=20).map(lambda raw: bytes(byte % 3 for byte in raw)), max_size=40))
def test_texts_that_begin_alike_and_end_with_nothing_are_sorted(raw):
    texts = [one.decode() for one in raw]
    order = Labels.of(texts).order()
    assert order.tolist() == sorted(range(len(texts)), key=lambda row: texts[row])


def as_bytes(texts):
    """What was hashed when labels were objects; files and results have such hashes."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    return np.array([len(encoded), *map(len, encoded)], dtype="<i8").tobytes() + b"".join(encoded)


@given(TEXTS, st.randoms())
def test_the_bytes_that_are_hashed_never_change(texts, random):
    labels, rows = Labels.of(texts), random.sample(range(len(texts)), len(texts))
    for digest, given_rows, expected in (
        (hashlib.sha256(), None, texts),
        (hashlib.sha256(), np.array(rows, dtype=np.int64), [texts[row] for row in rows]),
    ):
        labels.feed(digest, given_rows)
        assert digest.hexdigest() == hashlib.sha256(as_bytes(expected)).hexdigest()


@given(st.lists(st.binary(max_size=4) | ANY.map(lambda text: text.encode("utf-8", "surrogatepass")), max_size=8))
def test_bytes_are_texts_if_each_can_be_read(raw):
    starts = np.cumsum([0, *map(len, raw)])
    labels = Labels(np.frombuffer(bytearray(b"".join(raw)), dtype=np.uint8), starts)
    try:
        texts = [one.decode("utf-8", "surrogatepass") for one in raw]
    except UnicodeDecodeError:
        assert not labels.are_texts()
    else:
        assert labels.are_texts()
        assert labels.tolist() == texts


def test_a_character_cut_in_two_is_not_text():
    whole = "é".encode()
    assert Labels(np.frombuffer(bytearray(whole), dtype=np.uint8), np.array([0, 2])).are_texts()
    assert not Labels(np.frombuffer(bytearray(whole), dtype=np.uint8), np.array([0, 1, 2])).are_texts()


@given(TEXTS)
def test_copies_are_equal(texts):
    labels = Labels.of(texts)
    assert pickle.loads(pickle.dumps(labels)) == copy.deepcopy(labels) == labels


@pytest.mark.parametrize("count", [0, 3, 700])
def test_labels_are_a_column_for_polars_and_pyarrow(count):
    texts = [f"i{number}" for number in range(count)]
    labels = Labels.of(texts)
    assert polars.Series("item", labels).to_list() == texts
    assert pyarrow.chunked_array(labels).to_pylist() == texts
