"""One user with nearly all rows takes no more than the budget, and a file that expands like a bomb is refused."""

import gzip

import numpy as np
import polars as pl
import pytest

import corml
from corml.errors import DataError, ResourceError
from corml.outofcore.ingest import bucket as gather

SMALL = 1 << 20  # the least budget: batches of 2,048 rows, buckets of 4,096


def write_heavy(path, rows=40_000, items=40, **more):
    """Rows of which nearly all are of one user, with few items, ratings that disagree and times that repeat."""
    rng = np.random.default_rng(5)
    columns = {
        "user": np.where(rng.random(rows) < 0.97, "heavy", [f"u{number}" for number in rng.integers(0, 200, rows)]),
        "item": rng.integers(0, items, rows),
        **more,
    }
    pl.DataFrame(columns).write_parquet(path)
    return path


def draws(low, high, rows=40_000):
    return np.random.default_rng(high).integers(low, high, rows)


COLUMNS = {
    "nothing": {},
    "ratings": {"rating": draws(-2, 6)},
    "times": {"time": draws(0, 50)},
    "ratings and times": {"rating": draws(-2, 6), "time": draws(0, 50)},
}


def files_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("known", "at_least"),
    [("nothing", 0), ("times", 0), ("ratings", 3), *(("ratings and times", n) for n in (-1, 0, 3))],
)
def test_rows_left_out_because_they_decide_nothing_change_no_byte(tmp_path, monkeypatch, known, at_least):
    path, options = write_heavy(tmp_path / "a.parquet", **COLUMNS[known]), {}
    if "ratings" in known:
        options = {"at_least": at_least}
    thinned = []
    thin = gather.Gathered._thin
    monkeypatch.setattr(gather.Gathered, "_thin", lambda self: (thin(self), thinned.append(self.left_out)))
    corml.build_store(path, tmp_path / "thinned", memory=SMALL, **options)
    assert max(thinned) > 20_000
    monkeypatch.setattr(gather, "CROWDED", 1000)
    monkeypatch.setattr(gather, "FULL", 1000)
    corml.build_store(path, tmp_path / "whole", memory=SMALL, **options)
    assert files_of(tmp_path / "thinned") == files_of(tmp_path / "whole")


def test_no_more_rows_are_held_than_a_bucket_may_have(tmp_path, monkeypatch):
    held, add = [], gather.Gathered.add

    def watched(self, labels, columns):
        add(self, labels, columns)
        held.append(sum(len(part["user"]) for part in self._parts))

    monkeypatch.setattr(gather.Gathered, "add", watched)
    corml.build_store(write_heavy(tmp_path / "a.parquet"), tmp_path / "s", memory=SMALL)
    assert max(held) <= 3 * SMALL // 256


@pytest.mark.parametrize("known", [{"quantity": np.ones(40_000)}, {}])
def test_a_user_with_more_pairs_than_the_budget_holds_is_refused_by_name(tmp_path, known):
    path = write_heavy(tmp_path / "a.parquet", items=40 if known else 10**9, **known)
    options = {"weight": "quantity"} if known else {}
    with pytest.raises(ResourceError, match=r"^The rows of user 'heavy', 1\d,\d+ or more.* memory= \(--memory\)"):
        corml.build_store(path, tmp_path / "s", memory=SMALL, **options)
    assert corml.build_store(path, tmp_path / "t", memory=16 * SMALL, **options).users


# --- bombs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.parquet", "a.csv.gz"])
def test_a_file_that_expands_like_a_bomb_is_no_store_unless_it_is_allowed(tmp_path, monkeypatch, name):
    path, rows = tmp_path / name, 100_000
    if name.endswith("parquet"):
        pl.DataFrame({"user": np.zeros(rows, int), "item": np.zeros(rows, int)}).write_parquet(path)
    else:
        path.write_bytes(gzip.compress(b"user,item\n" + b"u1,i1\n" * rows))
    monkeypatch.setattr("corml.data.formats._guard.BOMB_SIZE", 500_000)
    with pytest.raises(DataError, match=r"expands more than 200-fold.*allow_expansion=True \(--allow-expansion\)"):
        corml.build_store(path, tmp_path / "s", memory=SMALL)
    assert not (tmp_path / "s").exists()
    assert len(corml.build_store(path, tmp_path / "s", memory=SMALL, allow_expansion=True)) == 1


@pytest.mark.parametrize("encoding", ["dictionary", pytest.param("delta", marks=pytest.mark.slow)])
def test_rows_of_long_texts_that_lie_in_a_file_once_are_refused(tmp_path, encoding):
    """One text of a megabyte, named by each of many rows: a few kilobytes on disk."""
    parquet = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    rows = 20_000
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["x" * 1_000_000]))
    table = pa.table({"user": texts, "item": np.arange(rows)})
    options = {"use_dictionary": True, "store_schema": False}
    if encoding == "delta":
        table = pa.table({"user": ["x" * 1_000_000] * 600, "item": np.arange(600)})
        options = {"use_dictionary": False, "column_encoding": {"user": "DELTA_BYTE_ARRAY"}}
    parquet.write_table(table, tmp_path / "a.parquet", compression="zstd", **options)
    assert (tmp_path / "a.parquet").stat().st_size < 400_000
    with pytest.raises(DataError, match=r"they take more than 1,024 bytes each|expands more than 200-fold"):
        corml.build_store(tmp_path / "a.parquet", tmp_path / "s", memory=SMALL)
    assert not (tmp_path / "s").exists()
