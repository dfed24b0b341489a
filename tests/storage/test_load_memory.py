"""A load takes twice the file and 64 MiB at most, without compiled code; a save takes a few MiB beside the model."""

import subprocess
import sys
import tracemalloc

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array

import corml
from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.kinds import Kinds
from corml.data.labels import Labels, repeated
from corml.data.saved import pairs as saved
from corml.data.saved.pairs import NO_TIME, encode_ids
from corml.errors import DataError, ModelFileError, UsageError
from corml.models.linear.ease import EASE
from corml.persistence import container
from support import random_interactions

MIB, ITEMS = 1 << 20, 300_000
LOAD = """
import sys
from pathlib import Path
import corml

def status(name):
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name)]
    return int(line.split()[1]) << 10

corml.read_model(sys.argv[1])
Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
before = status("VmRSS")
try:
    model = corml.read_model(sys.argv[2])
except corml.CormlError as fault:
    print(fault, file=sys.stderr)
assert "numba" not in sys.modules
print(status("VmHWM") - before)
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
    arrays |= encode_ids("items", ids or (f"i{row}" for row in range(ITEMS)))
    arrays |= {name: array for texts, made in more.items() for name, array in encode_ids(texts, made).items()}
    facts = dict(contents.meta)
    facts |= {"shape": [30, ITEMS]} | ({} if attributes is None else {"attributes": attributes})
    path.write_bytes(container.pack(arrays, facts))
    return path


def taken_by_a_load(small, path):
    done = subprocess.run([sys.executable, "-c", LOAD, small, path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return int(done.stdout), done.stderr


def texts():
    return (f"The title of {row}" for row in range(ITEMS))


SLOW = [pytest.param(what, marks=pytest.mark.slow) for what in ("titles", "a text")]


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is counted in KiB on Linux alone")
@pytest.mark.parametrize("what", ["ids", "labels", *SLOW])
def test_a_load_keeps_texts_as_bytes(what, small, tmp_path):
    path = tmp_path / "m.corml"
    if what == "a text":
        large(small, path, {"attribute.0": texts()}, attributes={"title": "t", "columns": [["t", "text"]]})
    elif what == "labels":
        contents = container.read(large(small, path, {"attribute.0.labels": sorted(texts())}))
        meta = dict(contents.meta)
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
    arrays = {name: np.array(array[:40_000]) for name, array in contents.arrays.items()} | encode_ids("items", ids)
    meta = dict(contents.meta)
    path.write_bytes(container.pack(arrays, {**meta, "shape": [30, 40_000]}))
    taken, said = taken_by_a_load(small, path)
    assert not said
    assert taken < 2 * path.stat().st_size + 12 * MIB


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is counted in KiB on Linux alone")
def test_times_in_whole_seconds_give_the_pages_of_the_file_back(small, tmp_path):
    """Twice as long in memory as in the file, they made a load of 309 MB take 778."""
    users, items = 3_000, 2_000
    pairs = corml.Interactions(
        users=Ids([f"u{row}" for row in range(users)], kind="user"),
        items=Ids([f"i{row}" for row in range(items)], kind="item"),
        user=np.repeat(np.arange(users), items),
        item=np.tile(np.arange(items), users),
        times=np.arange(users * items, dtype=float),
    )
    path = tmp_path / "m.corml"
    corml.Popularity().fit(pairs).save(path)
    taken, said = taken_by_a_load(small, path)
    assert not said
    assert path.stat().st_size > 8 * users * items
    assert taken < 2 * path.stat().st_size + 16 * MIB  # without, 2.7 times the file


def peak_of(call):
    """What a call returns, and the bytes it takes at its peak."""
    tracemalloc.start()
    try:
        return call(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", [np.int32, np.float64])
def test_times_take_the_bytes_of_times_alone(kind):
    """A copy beside them made a load of 462 MB take 1,091."""
    stored = np.arange(400_000, dtype=kind)
    stored[5] = NO_TIME[stored.dtype.kind]
    times, taken = peak_of(lambda: saved._decode_times({"a.times": stored}, "a", 400_000))
    assert np.flatnonzero(np.isnan(times)).tolist() == [5]
    assert times[:5].tolist() == [0, 1, 2, 3, 4]
    assert taken < 1.2 * times.nbytes


def test_pairs_that_two_matrices_share_are_counted_some_rows_at_a_time(monkeypatch):
    """Seen pairs that repeat those of a fit took 923 MB for a file of 309, and were refused then."""
    monkeypatch.setattr(container, "SLICE", 1_000)
    rows = csr_array((np.ones(200_000, np.float32), np.tile(np.arange(100), 2_000), np.arange(0, 200_001, 100)))
    half = csr_array(rows.tocsc()[:, :50].tocsr())
    half.resize(rows.shape)
    shared, taken = peak_of(lambda: container.in_both(rows, half))
    assert shared == 100_000
    assert container.in_both(half[:0], rows[:0]) == 0
    assert taken < rows.indices.nbytes // 4


@pytest.mark.parametrize("names", [[f"{n}" for n in range(20_000)], ["x" * 2_000_000]], ids=["many", "long"])
def test_kinds_without_number_are_refused_before_they_are_objects(names):
    """105 MB of names took 721, each an object of Python."""
    arrays = {"train.kinds": np.zeros(3, np.int32), **encode_ids("train.kind_names", names)}
    with pytest.raises(ModelFileError, match="event types, more than there can be"):
        saved._decode_kinds(arrays, "train", 3)
    with pytest.raises(UsageError, match="event types: group them first"):
        saved._encode_kinds("train", Kinds(tuple(names), np.arange(4), np.zeros(3, np.int32)))
    events = {"user": names, "item": names, "event": names} if len(names) > 1 else {}
    if events:
        with pytest.raises(DataError, match=r"20,000 event types: name the right column as event= \(--event\)"):
            corml.load(pl.DataFrame(events), event="event")


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
    monkeypatch.setattr("corml.data.labels.hash", lambda text: 0, raising=False)
    assert repeated(Labels.of(["a", "b", "c"])) == 0
    assert repeated(Labels.of(["a", "b", "a", "b", "a"])) == 3


def test_a_title_too_many_is_refused(small, tmp_path):
    path = large(small, tmp_path / "m.corml", {"titles": ["a", "b"]})
    with pytest.raises(ModelFileError, match="2 titles for 300,000 items"):
        corml.read_model(path)


# --- saves -----------------------------------------------------------------------------------------------------------


def test_a_save_takes_no_copy_of_the_model(tmp_path):
    rng = np.random.default_rng(0)
    users, items = np.repeat(np.arange(20_000), 20), (rng.random(400_000) ** 2 * 1500).astype(int)
    times = rng.integers(10**9, 2 * 10**9, 400_000).astype(float)
    model = EASE(route="dense").fit(Interactions.from_pairs(users, items, times=times))
    model.save(tmp_path / "first.corml")
    _, peak = peak_of(lambda: model.save(tmp_path / "a.corml"))
    assert (tmp_path / "a.corml").stat().st_size > 11 * MIB
    assert peak < 8 * 400_000 + 2 * MIB


def test_times_are_encoded_alike_however_many_there_are(monkeypatch):
    times = np.array([1.0, np.nan, 3.0, 4.0, np.nan])
    expected = {kind: saved._encode_times(times + rest) for kind, rest in (("i", 0), ("f", 0.5))}
    monkeypatch.setattr("corml.data.saved.pairs.SLICE", 2)
    for kind, rest in (("i", 0), ("f", 0.5)):
        found = saved._encode_times(times + rest)
        assert found.dtype == expected[kind].dtype
        assert found.dtype.kind == kind
        np.testing.assert_array_equal(found, expected[kind])
        assert (found[[1, 4]] == NO_TIME[kind]).all()
