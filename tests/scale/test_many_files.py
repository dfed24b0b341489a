"""Many small files make a store in time in proportion to their number, and the same one as read one by one."""

import contextlib
import gzip
import time

import polars as pl
import pytest

import corml
from corml.errors import DataError, UsageError
from corml.outofcore.ingest import encode
from corml.outofcore.ingest.plan import runs

FEW, MORE = 100, 8


def write_files(folder, count, bad=()):
    folder.mkdir()
    for n in range(count):
        rating = "much" if n in bad else n % 5 + 1
        text = f"user,item,rating,time\nu{n % 7},i{n % 11},{rating},{n % 3}\nu{n % 5},i{n},4,{n}\n"
        name = folder / f"{n:05}.csv"
        name.with_suffix(".csv.gz").write_bytes(gzip.compress(text.encode())) if n % 3 == 1 else name.write_text(text)
    return folder


def files_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.filterwarnings("ignore::corml.errors.DataWarning")  # some rows are bad
@pytest.mark.parametrize("rows", [1, 7, 1 << 20])
def test_files_read_together_make_the_bytes_that_each_alone_makes(tmp_path, monkeypatch, rows):
    write_files(tmp_path / "in", 60, bad=(3, 40))
    options = {"skip_bad_rows": True, "max_bad_rows": 0.5, "at_least": 3, "memory": 1 << 20}
    joined = encode.joined
    monkeypatch.setattr(encode, "joined", lambda batches, most: joined(batches, min(most, rows)))
    corml.build_store(tmp_path / "in", tmp_path / "together", **options)
    monkeypatch.setattr(encode, "TOGETHER", 1 << 20)  # no two files are few enough rows
    corml.build_store(tmp_path / "in", tmp_path / "alone", **options)
    assert files_of(tmp_path / "together") == files_of(tmp_path / "alone")
    assert [source["rows"] for source in corml.Store(tmp_path / "together").manifest.sources] == [2] * 60


def test_small_files_share_a_piece(tmp_path, monkeypatch):
    written, put = [], encode.put_piece
    monkeypatch.setattr(
        encode, "put_piece", lambda path, *rest, **facts: (written.append(path), put(path, *rest, **facts))
    )
    corml.build_store(write_files(tmp_path / "in", 100), tmp_path / "s", memory="64MB")
    assert len([path for path in written if path.parent.name == "split"]) == 1


def test_runs_keep_the_order_and_a_large_file_stands_alone():
    assert runs([3, 3, 3, 50, 1, 1, 9, 1], 10) == [range(3), range(3, 4), range(4, 6), range(6, 8)]
    assert runs([50], 10) == [range(1)]
    assert runs([6, 6, 4], 10) == [range(1), range(1, 3)]


def test_a_file_that_changes_among_others_is_found(tmp_path, monkeypatch):
    write_files(tmp_path / "in", 20)
    digest = encode.digest

    def changing(path):
        if path.name == "00005.csv":
            path.write_text("user,item,rating,time\n")
        return digest(path)

    monkeypatch.setattr(encode, "digest", changing)
    with pytest.raises(DataError, match=r"00005\.csv' changed while the store was being made"):
        corml.build_store(tmp_path / "in", tmp_path / "s")


def spent(sources, out):
    begun = time.process_time()
    with contextlib.suppress(UsageError):
        corml.build_store(sources, out)
    return time.process_time() - begun


@pytest.mark.parametrize("twice", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_store_of_many_files_takes_time_in_proportion(tmp_path, twice):
    """A square would take sixty-four times as long for eight times as many; named twice, it is the time to refuse."""
    taken = []
    for count in (FEW, MORE * FEW):
        folder = tmp_path / str(count)
        folder.mkdir()
        for n in range(count):
            pl.DataFrame({"user": [f"u{n}"], "item": ["i"]}).write_csv(folder / f"{n}.csv")
        sources = [folder, folder / "*.csv"] if twice else [folder]
        spent(sources, tmp_path / f"{count}.warm")
        taken.append(spent(sources, tmp_path / f"{count}.store"))
    assert taken[1] < 2 * MORE * max(taken[0], 0.01), taken
