"""What a small file grows to in memory is counted while it is read, not when all of it is there."""

import contextlib
import io
import json
import sqlite3
import tracemalloc

import duckdb
import openpyxl
import pytest

import corml.data.formats._guard as _guard
import corml.data.formats.database as _databases
import corml.data.formats.json_lines as _json
from attack.bombs import of_one_text
from corml.data import load
from corml.data._options import Notes, Options
from corml.data.formats._files import File
from corml.data.formats.excel import Excel
from corml.errors import DataError, DataWarning, ResourceError


def pairs(data):
    return list(zip(data.users.labels[data.user], data.items.labels[data.item], strict=True))


# --- bad rows --------------------------------------------------------------------------------------------------------


def test_of_many_bad_rows_a_few_are_kept_and_all_are_counted(make, monkeypatch):
    """Forty megabytes of short lines became four gigabytes of faults."""
    kept = []
    monkeypatch.setattr("corml.data.formats._table.Fault", lambda *about: kept.append(about) or _Fault(*about))
    path = make("a.csv", "user,item\n1,2\n" + "a\n" * 5000)
    with pytest.raises(DataError, match=r"line 3: there are 1 fields where 2 are expected \(4,999 more bad rows"):
        load(path)
    assert len(kept) == 100


class _Fault:
    def __init__(self, number, what):
        self.number, self.what, self.file, self.where = number, what, 0, ""


def test_bad_rows_beyond_those_kept_count_in_the_share(make):
    path = make("a.csv", "user,item\n" + "u,i\n" * 1000 + "a\n" * 300)
    with pytest.raises(DataError, match=r"300 of 1,300 rows are bad, more than 20%"):
        load(path, max_bad_rows=0.2)
    with pytest.warns(DataWarning, match="bad rows skipped"):
        assert pairs(load(path, max_bad_rows=0.3)) == [("u", "i")]


def test_bad_records_of_json_and_of_several_files_are_all_counted(make):
    good = '{"user": 1, "item": 2}\n'
    first = make("a.jsonl", good + "1\n" * 300)
    make("b.jsonl", good + "2\n" * 300)
    with pytest.raises(DataError, match=r"600 of 602 rows are bad"):
        load(str(first.parent / "*.jsonl"), skip_bad_rows=True)


# --- lists of JSON ---------------------------------------------------------------------------------------------------


def test_a_list_is_decoded_record_by_record(make, monkeypatch):
    """A list of sixty million empty records took five gigabytes before anything was asked for."""
    decoded = []
    monkeypatch.setattr(_json, "_DECODER", Counting(decoded))
    with pytest.raises(DataError, match="Cannot tell which column"):
        load(make("a.json", "[" + "{},\n" * 20_000 + '{"user": 1, "item": 2}]'))
    assert len(decoded) == _json.SAMPLE


class Counting:
    def __init__(self, decoded):
        self.decoded, self.decoder = decoded, _json._DECODER

    def raw_decode(self, text, at):
        self.decoded.append(at)
        return self.decoder.raw_decode(text, at)


@pytest.mark.parametrize("size", [1, 7, 40, 47, 10_000])
def test_records_are_the_same_wherever_a_piece_of_the_text_ends(size):
    records = [{"user": user, "item": "x" * (user % 9)} for user in range(100)]
    for text in (json.dumps(records), json.dumps(records, indent=1), f" {json.dumps(records)} \n"):
        rows = list(_json._values(iter([text[at : at + size] for at in range(0, len(text), size)])))
        assert rows == [{"user": str(record["user"]), "item": record["item"]} for record in records]


def test_a_record_longer_than_the_window_is_refused(make, monkeypatch):
    monkeypatch.setattr(_json, "LONGEST", 1 << 20)
    lines = "[],\n" * 900_000
    path = make("a.json", '[{"user": 1, "item": 2}, {"user": [' + lines + "[]]}]")
    with pytest.raises(DataError, match=r"after 1 records: a record is longer than 1\.0 MiB, or has no end"):
        load(path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[{"user": 1} {"user": 2}]', "after 1 records: Expecting ',' delimiter"),
        ('[{"user": 1}', "after 1 records: Expecting ',' delimiter"),
        ('[{"user": 1}] x', "after 1 records: Extra data"),
        ('[{"user": 1},\n{"user": 2},\n x]', "after 2 records: Expecting value"),
    ],
)
def test_a_list_that_is_not_json_is_refused_after_its_last_record(make, text, reason):
    with pytest.raises(DataError, match=r"is not JSON") as refused:
        load(make("a.json", text))
    assert reason in str(refused.value)


def test_of_the_records_that_are_looked_at_for_names_one_is_in_memory(make):
    """247 KB became 6.4 GB: the first thousand records were there together, each with a megabyte of empty ones."""
    record = json.dumps({"user": 1, "item": 2, "more": [{}] * 30_000}) + "\n"
    path = make("a.jsonl", record * 10)
    tracemalloc.start()
    try:
        assert pairs(load(path)) == [("1", "2")]
        assert tracemalloc.get_traced_memory()[1] < 8 * len(record) * 10
    finally:
        tracemalloc.stop()


def test_names_of_fields_are_not_without_number(make, monkeypatch):
    monkeypatch.setattr(_json, "MOST_NAMES", 50)
    path = make("a.jsonl", "".join(f'{{"user": 1, "item": 2, "x{n}": 3}}\n' for n in range(60)))
    with pytest.raises(DataError, match="more than 50 names of fields: are ids written as names"):
        load(path)


# --- workbooks -------------------------------------------------------------------------------------------------------


def workbook(header, rows):
    book, out = openpyxl.Workbook(), io.BytesIO()
    book.active.append(header)
    for row in rows:
        book.active.append(row)
    book.save(out)
    return out.getvalue()


def test_cells_to_the_right_of_the_header_are_not_kept(make):
    """Sixty thousand rows with a cell in the last column took three gigabytes."""
    path = make("a.xlsx", workbook(["user", "item"], [{1: 7, 2: 8, 16_384: 9}] * 5))
    table = Excel(File(path), Options(), Notes())
    assert [cells for _, cells in table._cells] == [[7, 8]] * 5


def test_cells_are_counted_while_a_workbook_is_read(make, monkeypatch):
    monkeypatch.setattr("corml.data.formats._guard.BOMB_SIZE", 5_000_000)
    path = make("a.xlsx", workbook({1: "user", 2: "item", 16_384: "far"}, [{1: 7, 2: 8, 16_384: 9}] * 30))
    with pytest.raises(DataError, match="expands more than 200-fold"):
        load(path)


def test_a_text_that_a_workbook_has_once_counts_in_every_cell(tmp_path, monkeypatch):
    """839 KB became more than eight gigabytes: a hundred thousand cells of one text, a megabyte long."""
    path = of_one_text(tmp_path / "a.xlsx", "i" * 1_000, 2_000)
    assert pairs(load(path)) == [("1", "i" * 1_000)]
    monkeypatch.setattr("corml.data.formats._guard.BOMB_SIZE", 1_000_000)
    monkeypatch.setattr("corml.data.formats._guard.BOMB_RATIO", 10)
    with pytest.raises(DataError, match="expands more than 10-fold"):
        load(path)


def test_a_row_that_no_workbook_has_is_refused_before_all_above_it_are_counted(make, monkeypatch):
    monkeypatch.setattr("corml.data.formats.excel.LAST_ROW", 4)
    path = make("a.xlsx", workbook(["user", "item"], [[1, 2]] * 4))
    with pytest.raises(DataError, match=r"has a row beyond 4, the last of Excel"):
        load(path)


# --- databases -------------------------------------------------------------------------------------------------------

ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"


def database(path, statement):
    with contextlib.closing((sqlite3 if path.suffix == ".sqlite" else duckdb).connect(str(path))) as connection:
        connection.execute(statement)
        connection.commit()
    return path


def test_a_view_without_end_is_refused_by_its_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr("corml.data.formats._guard.BOMB_SIZE", 1_000_000)
    path = database(tmp_path / "a.sqlite", f"CREATE VIEW v AS {ENDLESS} SELECT x AS user, x AS item FROM c")
    with pytest.raises(DataError, match="expands more than 200-fold"):
        load(path)


def test_the_answer_of_a_query_must_fit_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("corml.data.formats._guard.STEP", 100_000)
    monkeypatch.setattr("corml._runtime.memory.budget", lambda: 500_000)
    path = database(tmp_path / "a.sqlite", f"CREATE VIEW v AS {ENDLESS} SELECT x AS user, x AS item FROM c")
    with pytest.raises(ResourceError, match=r"Reading .* the budget is 488\.3 KiB; read it in parts"):
        load(path, allow_expansion=True)


def test_a_view_that_gives_no_row_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(_databases, "PATIENCE", 0.2)
    path = database(tmp_path / "a.sqlite", f"CREATE VIEW v AS {ENDLESS} SELECT x AS user, x AS item FROM c WHERE x < 0")
    with pytest.raises(DataError, match=r"gave no row for 0\.2 seconds: .* query= \(--query\)"):
        load(path)


def test_a_view_of_duckdb_that_gives_no_row_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(_databases, "PATIENCE", 0.3)
    rows = "SELECT range AS u, range AS i FROM range(10000000000000) WHERE (range + random()) < 0"
    path = database(tmp_path / "a.duckdb", f"CREATE VIEW v AS {rows}")
    with pytest.raises(DataError, match=r"gave no row for 0\.3 seconds"):
        load(path, user="u", item="i")


def test_what_a_view_sorts_is_counted_and_goes_into_no_file(tmp_path, monkeypatch):
    """A view of 4 KB sorted rows of megabytes into a file, five gigabytes in a quarter of a minute."""
    monkeypatch.setattr(_databases, "PATIENCE", 20.0)
    monkeypatch.setattr(_guard, "BOMB_SIZE", 10_000_000)
    rows = "SELECT x AS user, hex(zeroblob(1000000)) || x AS item FROM c ORDER BY 2"
    path = database(tmp_path / "a.sqlite", f"CREATE VIEW v AS {ENDLESS} {rows}")
    with pytest.raises(ResourceError, match=r"takes more memory than a file of its size may"):
        load(path)


def test_a_query_given_by_the_user_may_take_its_time(tmp_path, monkeypatch):
    monkeypatch.setattr(_databases, "PATIENCE", 0.0)
    monkeypatch.setattr(_databases, "STEPS", 10)
    path = database(tmp_path / "a.sqlite", "CREATE TABLE t AS SELECT 'a' AS user, 'x' AS item")
    long = f"{ENDLESS} SELECT x AS user, x AS item FROM c WHERE x > 1000 LIMIT 1"
    assert pairs(load(path, query=long)) == [("1001", "1001")]


def test_one_value_of_many_megabytes_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_databases, "LONGEST", 10_000)
    path = database(tmp_path / "a.sqlite", "CREATE VIEW v AS SELECT hex(zeroblob(20000)) AS user, 1 AS item")
    with pytest.raises(DataError, match="string or blob too big"):
        load(path)


def test_a_duckdb_view_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_guard, "BOMB_SIZE", 10_000_000)
    monkeypatch.setattr(_guard, "BOMB_RATIO", 1)
    path = database(tmp_path / "a.duckdb", "CREATE VIEW v AS SELECT range AS u, range AS i FROM range(100000000000)")
    with pytest.raises(ResourceError, match=r"takes more memory than a file of its size may"):
        load(path, user="u", item="i")


@pytest.mark.parametrize("by_view", [True, False])
def test_a_duckdb_file_reads_no_other_file(tmp_path, by_view):
    (tmp_path / "secret.csv").write_text("u,i\n1,2\n")
    rows = f"SELECT u, i FROM read_csv('{tmp_path}/secret.csv')"
    path = database(tmp_path / "a.duckdb", f"CREATE VIEW v AS {rows}")
    with pytest.raises(DataError, match="file system operations are disabled"):
        load(path, user="u", item="i", query=None if by_view else rows)
