"""Small files that would grow beyond all bounds are refused on every surface that reads one."""

import gzip
import io
import zipfile

import openpyxl
import polars as pl
import pytest

import corml
from corml.data import load, load_item_lists
from corml.errors import CormlError, DataError

TEXT = b"user,item\n" + b"u,i\n" * 500_000
TITLES = b"item,title\n" + b"i,The one\n" * 200_000
LISTS = b"1 2 3\n" * 400_000
FRAME = pl.DataFrame({"user": ["u"], "item": ["i"]})


@pytest.fixture(autouse=True)
def _a_low_limit(monkeypatch):
    monkeypatch.setattr("corml.data.formats._guard.BOMB_SIZE", 100_000)


def zipped(name, data):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return out.getvalue()


def workbook():
    book, out = openpyxl.Workbook(), io.BytesIO()
    for row in [["user", "item"], *[["u", "i"]] * 30_000]:
        book.active.append(row)
    book.save(out)
    return out.getvalue()


BOMBS = {
    "a gzip": ("a.csv.gz", gzip.compress(TEXT), load),
    "a gzip in a zip": ("a.zip", zipped("ratings.csv.gz", gzip.compress(TEXT)), load),
    "a zip in a gzip": ("a.zip.gz", gzip.compress(zipped("ratings.csv", TEXT)), load),
    "a zip of RecBole": ("shop.zip", zipped("shop/shop.inter", TEXT), load),
    "titles": ("titles.csv.gz", gzip.compress(TITLES), lambda path: load(FRAME, titles=path)),
    "a table of items": ("items.csv.gz", gzip.compress(TITLES), corml.load_items),
    "items of a load": ("items.csv.gz", gzip.compress(TITLES), lambda path: load(FRAME, items=path)),
    "lists of items": ("a.txt.gz", gzip.compress(LISTS), load_item_lists),
}


@pytest.mark.parametrize("name", list(BOMBS))
def test_a_bomb_is_refused_wherever_a_table_is_read(make, name):
    file, content, read = BOMBS[name]
    with pytest.raises(DataError, match="expands more than 200-fold"):
        read(make(file, content))


def test_three_layers_of_gzip_have_one_budget(make):
    """240 bytes became 10.3 GB, because each layer was judged by the one before."""
    data = TEXT
    for _ in range(3):
        data = gzip.compress(data)
    with pytest.raises(DataError, match="expands more than 200-fold"):
        load(make("a.csv.gz.gz.gz", data))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("name", ["a.zip", "a.npz", "a.xlsx"])
def test_members_that_are_unpacked_at_once_are_refused_before(make, name, method):
    """1,246 bytes took 3 GB: of such a member a megabyte is unpacked at once, whatever its archive says of it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for member in ("ratings.csv", "user.npy", "item.npy", "xl/workbook.xml"):
            archive.writestr(member, "user,item\nu,i\n")
    with pytest.raises(DataError, match=r"cannot be unpacked piece by piece: pack it again as a plain \.zip"):
        load(make(name, out.getvalue()))


def test_a_workbook_is_judged_by_what_its_parts_unpack_to(make, monkeypatch):
    monkeypatch.setattr("corml.data.formats._guard.BOMB_RATIO", 10)
    path = make("a.xlsx", workbook())
    with pytest.raises(DataError, match="expands more than 10-fold"):
        load(path)


@pytest.mark.parametrize("compression", ["zstd", "gzip", "snappy", "lz4", "brotli", "uncompressed"])
def test_constant_rows_of_parquet_are_refused_whatever_their_compression(tmp_path, compression):
    path = tmp_path / "a.parquet"
    pl.select(user=pl.repeat(1, 2_000_000), item=pl.repeat(2, 2_000_000)).write_parquet(path, compression=compression)
    with pytest.raises(DataError, match="expands more than 200-fold"):
        load(path)


@pytest.mark.parametrize("name", ["a.csv.gz.gz", "a.zip", "a.xlsx.gz", "a.parquet.gz"])
def test_a_store_reads_no_layers_in_layers(make, tmp_path, name):
    """What it reads it reads in pieces, of one layer: so its memory does not grow with what a file unpacks to."""
    with pytest.raises(CormlError):
        corml.build_store(make(name, gzip.compress(gzip.compress(TEXT))), tmp_path / "a.store")
    assert not (tmp_path / "a.store").exists()


def test_one_endless_line_in_a_gzip_is_refused_by_a_store(make, tmp_path, monkeypatch):
    path = make("a.csv.gz", gzip.compress(b"user,item\nu,i\n" + b"x" * 80_000_000))
    with pytest.raises(DataError):
        corml.build_store(path, tmp_path / "a.store", memory="1MB")


def test_a_table_of_items_that_is_right_may_expand(tmp_path):
    (tmp_path / "items.csv.gz").write_bytes(gzip.compress(TITLES))
    assert len(corml.load_items(tmp_path / "items.csv.gz", allow_expansion=True)) > 0
