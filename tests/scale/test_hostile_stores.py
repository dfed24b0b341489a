"""Stores whose hashes are right and whose contents are not: no array may lead beyond the matrix."""

import json
import shutil

import numpy as np
import pytest

import corml
from attack.stores import rehash
from corml.errors import DataError
from support import random_interactions, with_weights


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    with_weights(random_interactions(3, users=40, items=16)).to_frame().write_parquet(folder / "pairs.parquet")
    corml.build_store(folder / "pairs.parquet", folder / "s.store", weight="weight")
    return folder / "s.store"


@pytest.fixture
def store(made, tmp_path):
    return shutil.copytree(made, tmp_path / "s.store")


def changed(store, array, change):
    path = store / "by_user" / f"{array}-00000.npy"
    numbers = np.load(path)
    np.save(path, change(numbers))
    rehash(store)


def put(at, value):
    def change(numbers):
        numbers[at] = value
        return numbers

    return change


def test_a_store_with_its_own_hashes_is_read_so_that_the_others_mean_something(store):
    changed(store, "indices", lambda numbers: numbers)
    assert len(corml.Store(store).interactions())


@pytest.mark.parametrize(
    ("array", "change"),
    [
        ("indices", put(0, 10**6)), ("indices", put(0, -1)), ("indices", lambda numbers: numbers.astype(np.int64)),
        ("indices", lambda numbers: numbers[::-1].copy()), ("indices", lambda numbers: numbers[:-1]),
        ("indptr", put(1, 2**40)), ("indptr", put(0, -5)), ("indptr", put(-1, 10**9)),
        ("indptr", lambda numbers: numbers[:0]), ("weights", put(0, np.nan)), ("weights", put(0, -1)),
        ("weights", lambda numbers: numbers[:-1]), ("weights", lambda numbers: numbers.astype(np.float64)),
    ],
)  # fmt: skip
def test_arrays_that_are_no_rows_of_the_matrix_are_refused(store, array, change):
    changed(store, array, change)
    opened = corml.Store(store)
    for use in (opened.interactions, lambda: list(opened.chunks())):
        with pytest.raises(DataError, match=r"does not add up: make the store again"):
            use()


def test_bytes_that_are_no_array_are_refused(store):
    (store / "by_user" / "indices-00000.npy").write_bytes(b"\x93NUMPY\x01\x00\x10\x00{'a': (            \n")
    rehash(store)
    with pytest.raises(DataError, match="is no array"):
        corml.Store(store).interactions()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("users", "many"), ("users", -1), ("items", 2**40), ("interactions", []), ("weighted", 1), ("others", None),
        ("user_starts", 3), ("user_starts", [0]), ("user_starts", [0, 7]), ("item_starts", [5, 16]), ("counts", 3),
        ("counts", {"rows": "x"}), ("options", []), ("sources", 1), ("files", {"../x": {"size": 1, "sha256": ""}}),
        ("columns", {"user": 1}), ("split", [[]]),
    ],
    ids=str,
)  # fmt: skip
def test_a_manifest_of_another_form_is_refused(store, name, value):
    facts = json.loads((store / "manifest.json").read_text())
    (store / "manifest.json").write_text(json.dumps({**facts, name: value}))
    with pytest.raises(DataError, match="is damaged: make the store again"):
        corml.Store(store)


def test_a_store_with_other_pairs_than_its_manifest_says_is_refused(store, tmp_path):
    facts = json.loads((store / "manifest.json").read_text())
    (store / "manifest.json").write_text(json.dumps({**facts, "interactions": 1}))
    with pytest.raises(DataError, match="is not as its manifest says"):
        corml.fit_store(corml.CoRML(rank=3, adapt=False), corml.Store(store), work=tmp_path / "work")


def test_a_part_whose_arrays_the_manifest_does_not_name_is_refused(store):
    facts = json.loads((store / "manifest.json").read_text())
    del facts["files"]["by_user/indptr-00000.npy"]
    (store / "manifest.json").write_text(json.dumps(facts))
    rehash(store)
    with pytest.raises(DataError, match=r"by_user, part 0, of .* is missing"):
        corml.Store(store).interactions()


@pytest.mark.parametrize("fact", ["procedure", "counts"])
@pytest.mark.parametrize("value", [None, 3, [[]], "ratio"], ids=str)
def test_a_split_of_a_store_with_facts_of_another_form_is_refused(store, tmp_path, fact, value):
    corml.split(corml.Store(store), "ratio", seed=1, out=tmp_path / "parts")
    facts = json.loads((tmp_path / "parts" / "split.json").read_text())
    (tmp_path / "parts" / "split.json").write_text(json.dumps({**facts, fact: value}))
    with pytest.raises(DataError, match=r"split\.json of .* is damaged"):
        str(corml.read_split(tmp_path / "parts"))
