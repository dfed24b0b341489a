"""A Parquet file is refused for what its values grow to, before they are read; what is honest is read as ever."""

import random
from contextlib import suppress

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import corml
from corml.data import load
from corml.data.formats._files import File
from corml.data.formats._table import bytes_of
from corml.data.formats._thrift import Records
from corml.data.formats.parquet import Parquet
from corml.errors import CormlError, DataError, ResourceError

LONG = "a" * 5_000
NAMES = [f"name {number % 70}" for number in range(3_000)]
PLAIN = {"use_dictionary": False, "compression": "zstd", "write_statistics": False}
DELTA = {**PLAIN, "column_encoding": "DELTA_BYTE_ARRAY"}


@pytest.fixture
def _a_low_limit(monkeypatch):
    monkeypatch.setattr("corml.data.formats._guard.BOMB_SIZE", 100_000)


@pytest.fixture
def _no_value_is_read(monkeypatch):
    def read(*_):
        raise AssertionError("a column was read")

    monkeypatch.setattr(Parquet, "_parts", read)


def written(path, columns, **how):
    pq.write_table(pa.table(columns), path, **how)
    return path


@pytest.mark.usefixtures("_a_low_limit", "_no_value_is_read")
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_long_ids_are_refused_before_they_are_read(tmp_path, version):
    """292 KB became 5.9 GB: rows were counted, and not what stands in them."""
    columns = {"user": [LONG] * 1_000, "item": ["x"] * 1_000}
    path = written(tmp_path / "a.parquet", columns, **PLAIN, data_page_version=version)
    with pytest.raises(DataError, match="expands more than 200-fold"):
        load(path)


@pytest.mark.usefixtures("_a_low_limit", "_no_value_is_read")
def test_a_list_in_a_row_counts_with_all_its_values(tmp_path):
    """74 KB became 3.6 GB: three rows, of a hundred million numbers each."""
    path = written(tmp_path / "a.parquet", {"user": [[0] * 300_000] * 3, "item": ["x"] * 3})
    with pytest.raises(DataError, match="expands more than 200-fold"):
        load(path)


@pytest.mark.usefixtures("_a_low_limit", "_no_value_is_read")
@pytest.mark.parametrize(
    "read", [corml.load_items, lambda path: load(pl.DataFrame({"user": ["u"], "item": ["1"]}), titles=path)]
)
def test_texts_of_items_are_refused_before_they_are_read(tmp_path, read):
    columns = {"item": list(map(str, range(1_000))), "title": [LONG] * 1_000}
    with pytest.raises(DataError, match="expands more than 200-fold"):
        read(written(tmp_path / "a.parquet", columns, **PLAIN))


@pytest.mark.usefixtures("_a_low_limit")
@pytest.mark.parametrize("how", [{}, DELTA], ids=["a dictionary", "differences"])
def test_a_text_that_is_stored_once_counts_in_every_row(tmp_path, how):
    """655 bytes became a gigabyte: each text went on from the one before, and added nothing."""
    path = written(tmp_path / "a.parquet", {"user": [LONG] * 1_000, "item": ["x"] * 1_000}, **how)
    with pytest.raises(DataError, match="expands more than 200-fold"):
        load(path)


def of_one_category(text, rows, shape=None):
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([text]))
    if shape == "list":
        return pa.ListArray.from_arrays(pa.array(np.arange(rows + 1), pa.int32()), column)
    return pa.StructArray.from_arrays([column], ["a"]) if shape == "record" else column


@pytest.mark.usefixtures("_a_low_limit")
@pytest.mark.parametrize("shape", [None, "list", "record"])
def test_a_category_counts_in_every_row_with_all_its_text(tmp_path, shape):
    """1,585 bytes became 9.5 GB: a hundred thousand rows of one category, a megabyte long."""
    columns = {"item": list(map(str, range(1_000))), "tags": of_one_category(LONG, 1_000, shape)}
    with pytest.raises(DataError, match="expands more than 200-fold"):
        corml.load_items(written(tmp_path / "a.parquet", columns))


@pytest.mark.usefixtures("_a_low_limit")
def test_a_store_counts_categories_with_all_their_text(tmp_path, monkeypatch):
    monkeypatch.setattr("corml.data.formats._table.HARMLESS", 100_000)
    columns = {"user": list(range(1_000)), "item": of_one_category(LONG, 1_000)}
    with pytest.raises(DataError, match=r"they take more than 1,024 bytes each, 4\.8 MiB so far"):
        corml.build_store(written(tmp_path / "a.parquet", columns), tmp_path / "a.store", allow_expansion=True)


def test_bytes_of_categories_do_not_overflow():
    class Long:
        dtype = pl.Categorical
        cat = type("cat", (), {"len_bytes": lambda: pl.Series([3_000_000_000] * 3, dtype=pl.UInt32)})

        def estimated_size(self):
            return 0

    assert bytes_of(Long()) == 9_000_000_000


def test_categories_are_the_ids_they_say(tmp_path):
    texts = [f"name {number % 7}" for number in range(100)]
    plain = load(written(tmp_path / "a.parquet", {"user": texts, "item": texts}))
    coded = load(
        written(tmp_path / "b.parquet", {name: pa.array(texts).dictionary_encode() for name in ("user", "item")})
    )
    assert coded.fingerprint == plain.fingerprint


@pytest.mark.usefixtures("_a_low_limit", "_no_value_is_read")
def test_lists_of_texts_that_go_on_from_each_other_are_refused_before_they_are_read(tmp_path):
    columns = {"item": ["x"], "tags": [[LONG] * 1_000]}
    with pytest.raises(DataError, match="expands more than 200-fold"):
        corml.load_items(written(tmp_path / "a.parquet", columns, **DELTA))


@pytest.mark.usefixtures("_a_low_limit")
def test_differences_are_read_in_slices_that_stay_small(tmp_path, monkeypatch):
    monkeypatch.setattr("corml.data.formats.parquet.SLICE", 60_000)
    columns = {"user": [LONG] * 1_000, "item": ["x"] * 1_000}
    path = written(tmp_path / "a.parquet", columns, **DELTA)
    table = Parquet(File(path))
    with pytest.raises(DataError, match="expands more than 200-fold"):
        table.read([0, 1])
    sizes = [part.estimated_size() for part in table._parts(0, 0, 1_000)]
    assert max(sizes) <= 60_000
    assert sum(sizes) == 5_000_000


@pytest.mark.usefixtures("_no_value_is_read")
def test_a_file_that_may_expand_must_still_fit_into_memory(tmp_path, monkeypatch):
    path = written(tmp_path / "a.parquet", {"user": [LONG] * 1_000, "item": ["x"] * 1_000}, **PLAIN)
    monkeypatch.setattr("corml._runtime.memory.budget", lambda: 1_000_000)
    with pytest.raises(ResourceError, match=r"Reading .*a.parquet' needs 4\.8 MiB"):
        load(path, allow_expansion=True)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("how", [{}, PLAIN, DELTA], ids=["a dictionary", "plain", "differences"])
def test_texts_are_the_same_however_they_are_stored(tmp_path, monkeypatch, version, how):
    monkeypatch.setattr("corml.data.formats.parquet.SLICE", 30_000)
    path = written(
        *(tmp_path / "a.parquet", {"user": NAMES, "item": NAMES[::-1]}),
        **(how | {"data_page_version": version, "row_group_size": 700, "data_page_size": 400}),
    )
    user, item = Parquet(File(path)).read([0, 1]).series
    assert (user.to_list(), item.to_list()) == (NAMES, NAMES[::-1])


def test_pages_of_differences_that_are_too_large_to_slice_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("corml.data.formats.parquet.SLICE", 30_000)
    monkeypatch.setattr("corml.data.formats.parquet.DELTA_PAGE", 1_000)
    path = written(tmp_path / "a.parquet", {"user": NAMES, "item": NAMES}, **DELTA)
    with pytest.raises(DataError, match="write it again with pages of 1 MiB, or another encoding"):
        load(path)


def test_columns_of_every_kind_are_found_in_the_footer(tmp_path):
    columns = {
        "deep": [{"a": [{"b": [1, 2], "c": "x"}], "d": 2.5}] * 50,
        "none": pa.nulls(50),
        "fixed": pa.array([b"0123456789abcdef"] * 50, pa.binary(16)),
        "flag": [True] * 50,
        "user": NAMES[:50],
        "item": np.arange(50, dtype=np.int32),
    }
    path = written(tmp_path / "a.parquet", columns, row_group_size=20, compression="gzip")
    table = Parquet(File(path))
    least = {"deep": 50 * 2 * 8, "none": 0, "fixed": 50 * 32, "flag": 50 * 8, "user": 50 * 16, "item": 50 * 8}
    for at, name in enumerate(table.names):
        assert least[name] <= table.growth([at]) < least[name] + 10_000, name
    assert load(path).shape == (50, 50)


def test_bytes_that_are_no_footer_end_in_a_sentence(tmp_path):
    """What Polars would pass over is asked as well: each byte of a footer is damaged in turn."""
    path = written(tmp_path / "a.parquet", {"user": NAMES[:60], "item": NAMES[:60]})
    whole, dice = path.read_bytes(), random.Random(5)
    for at in range(len(whole) - 300, len(whole)):
        path.write_bytes(whole[:at] + bytes([dice.randrange(256)]) + whole[at + 1 :])
        with suppress(CormlError):  # and nothing else
            load(path)


@pytest.mark.parametrize(
    "data", [b"", b"\x19\xfc\xff\xff\xff\xff\x0f" + b"\x00" * 9, b"\x1c" * 200, b"\x16" + b"\xff" * 99]
)
def test_a_record_has_bounds(data):
    with pytest.raises(ValueError, match=r"no end|outside|too many parts|too long"):
        Records(data).read(0, {})
