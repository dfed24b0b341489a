"""A load takes twice the file and 64 MiB at most: texts stay bytes, and no compiled code is needed for it."""

import subprocess
import sys

import numpy as np
import pytest

import corml
from corml.errors import ModelFileError
from corml.labels import Labels
from corml.labels.repeats import repeated
from corml.storage import container
from support import random_interactions

MIB, ITEMS = 1 << 20, 300_000
LOAD = """
import resource, sys
import corml
corml.read_model(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    model = corml.read_model(sys.argv[2])
except corml.CormlError as fault:
    print(fault, file=sys.stderr)
assert "numba" not in sys.modules
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10)
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "m.corml"
    corml.Popularity().fit(random_interactions(3, users=30, items=16)).save(path, history=False)
    return path


def large(small, path, more, *, attributes=None, ids=None):
    """The file of a model with many items, and what else is known of them."""
    contents = container.read(small)
    arrays = {name: np.zeros(ITEMS, dtype=array.dtype) for name, array in contents.arrays.items()}
    arrays = {name: array for name, array in arrays.items() if not name.startswith("items.")}
    arrays |= container.encode_ids("items", ids or (f"i{row}" for row in range(ITEMS)))
    arrays |= {name: array for texts, made in more.items() for name, array in container.encode_ids(texts, made).items()}
    facts = {key: value for key, value in contents.meta.items() if key != "format"}
    facts |= {"shape": [30, ITEMS]} | ({} if attributes is None else {"attributes": attributes})
    path.write_bytes(container.pack(arrays, facts))
    return path


def taken_by_a_load(small, path):
    done = subprocess.run([sys.executable, "-c", LOAD, small, path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return int(done.stdout), done.stderr


def texts():
    return (f"The title of {row}" for row in range(ITEMS))


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is counted in KiB on Linux alone")
@pytest.mark.parametrize("what", ["ids", "titles", "a text", "labels"])
def test_a_load_keeps_texts_as_bytes(what, small, tmp_path):
    path = tmp_path / "m.corml"
    if what == "a text":
        large(small, path, {"attribute.0": texts()}, attributes={"title": "t", "columns": [["t", "text"]]})
    elif what == "labels":
        contents = container.read(large(small, path, {"attribute.0.labels": sorted(texts())}))
        meta = {key: value for key, value in contents.meta.items() if key != "format"}
        of_all = {"attribute.0.indptr": np.arange(ITEMS + 1), "attribute.0.indices": np.arange(ITEMS)}
        about = {"title": "", "columns": [["genre", "category"]]}
        path.write_bytes(container.pack({**contents.arrays, **of_all}, {**meta, "attributes": about}))
    else:
        large(small, path, {"titles": texts()} if what == "titles" else {})
    taken, said = taken_by_a_load(small, path)
    assert not said
    assert taken < 2 * path.stat().st_size + 12 * MIB  # as objects, texts alone take 20 MiB or more


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is counted in KiB on Linux alone")
def test_a_file_with_an_id_twice_is_refused_in_as_little_memory(small, tmp_path):
    path = large(small, tmp_path / "m.corml", {}, ids=[f"i{row // 2}" for row in range(ITEMS)])
    taken, said = taken_by_a_load(small, path)
    assert "some of its item ids occur twice" in said
    assert taken < 2 * path.stat().st_size + 20 * MIB


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is counted in KiB on Linux alone")
def test_few_long_ids_are_not_made_four_times_as_large(small, tmp_path):
    path = large(small, tmp_path / "m.corml", {})
    contents = container.read(path)
    ids = (f"{row} \N{GRINNING FACE}{'x' * 1000}" for row in range(40_000))
    arrays = {name: np.array(array[:40_000]) for name, array in contents.arrays.items()} | container.encode_ids(
        "items", ids
    )
    meta = {key: value for key, value in contents.meta.items() if key != "format"}
    path.write_bytes(container.pack(arrays, {**meta, "shape": [30, 40_000]}))
    taken, said = taken_by_a_load(small, path)
    assert not said
    assert taken < 2 * path.stat().st_size + 12 * MIB


def test_titles_of_many_items_are_a_mapping_as_those_of_few(small, tmp_path):
    some = ["" if row % 2 else f"Título {row}" for row in range(ITEMS)]
    path = large(small, tmp_path / "m.corml", {"titles": some})
    model = corml.read_model(path)
    titles = model.titles_
    assert (titles["i4"], titles.get("i5"), titles.get("nothing"), "i6" in titles, "i7" in titles) == (
        "Título 4", None, None, True, False,
    )  # fmt: skip
    assert len(titles) == ITEMS // 2
    assert next(iter(titles.items())) == ("i0", "Título 0")
    model.save(tmp_path / "again.corml", history=False)
    again = container.read(tmp_path / "again.corml").arrays
    for name, array in container.read(path).arrays.items():
        np.testing.assert_array_equal(array, again[name])


def test_texts_of_one_hash_are_told_apart(monkeypatch):
    monkeypatch.setattr("corml.labels.repeats._hashes", lambda labels: np.zeros(len(labels), dtype=np.int64))
    assert repeated(Labels.of(["a", "b", "c"])) == 0
    assert repeated(Labels.of(["a", "b", "a"])) > 0


def test_a_title_too_many_is_refused(small, tmp_path):
    path = large(small, tmp_path / "m.corml", {"titles": ["a", "b"]})
    with pytest.raises(ModelFileError, match="2 titles for 300,000 items"):
        corml.read_model(path)
