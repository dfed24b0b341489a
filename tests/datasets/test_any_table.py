"""Any table in: formats beyond CSV and Parquet, many files at once, standard input and databases."""

import gzip
import io
import json
import sqlite3
import subprocess
import sys
from datetime import datetime

import duckdb
import numpy as np
import openpyxl
import polars as pl
import pytest

from corml.data import load
from corml.errors import DataError, DataWarning, UsageError

FRAME = pl.DataFrame(
    {
        "user_id": [1, 1, 2, 3, 3, 3],
        "item_id": ["10", "20", "20", "10", "3O", "007"],
        "rating": [3.5, 4.0, 5.0, 1.0, 2.5, 4.5],
        "timestamp": [100, 50, 75, 80, 90, 95],
    }
)
CSV = FRAME.write_csv()
JSONL = "".join(json.dumps(row) + "\n" for row in FRAME.to_dicts())


def excel(*sheets):
    """Make a workbook of (name, rows) pairs."""
    book, out = openpyxl.Workbook(), io.BytesIO()
    book.remove(book.active)
    for name, rows in sheets:
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(out)
    return out.getvalue()


ROWS = [FRAME.columns, *FRAME.rows()]


def pipe(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def pairs(data):
    return list(zip(data.users.labels[data.user], data.items.labels[data.item], strict=True))


@pytest.fixture(scope="module")
def expected():
    return load(FRAME, at_least=2)


# --- JSON Lines and Excel --------------------------------------------------------------------------------------------

FILES = {
    "a.jsonl": JSONL.encode(),
    "a.ndjson": b"\n" + JSONL.replace("\n", "\r\n\r\n").encode(),
    "a.json": json.dumps(FRAME.to_dicts(), indent=2).encode(),
    "lines.json.gz": gzip.compress(JSONL.encode()),
    "utf16.jsonl": JSONL.encode("utf-16"),
    "a.xlsx": excel(("Sheet1", ROWS)),
    "gaps.xlsx": excel(("Sheet1", [[], *ROWS[:3], [None, None], *ROWS[3:]])),
    "floats.xlsx": excel(("Sheet1", [[float(v) if isinstance(v, int) else v for v in row] for row in ROWS])),
}


@pytest.mark.parametrize("name", FILES)
def test_records_and_workbooks_give_the_same_interactions(make, expected, name):
    encoding = "utf-16" if name.startswith("utf16") else None
    data = load(make(name, FILES[name]), at_least=2, encoding=encoding)
    assert data.fingerprint == expected.fingerprint
    assert pairs(data) == pairs(expected)
    assert data.times.tolist() == expected.times.tolist()


def test_numbers_of_json_keep_their_text_and_words_their_case(make):
    text = '{"user": 123456789012345678901, "item": 7.0}\n{"user": "Ann", "item": true}\n{"item": 7, "user": "é"}\n'
    assert pairs(load(make("a.jsonl", text))) == [("123456789012345678901", "7.0"), ("Ann", "true"), ("é", "7")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"user": 1, "item": 2}\n{"user": 1, "item"\n', "line 2: it is not JSON"),
        ('{"user": 1, "item": 2}\n\n[1, 2]\n', "line 3: it is not a JSON record"),
        ('{"user": 1, "item": 2}\n{"user": 1}\n', "line 2: the item is an empty id"),
        ('{"user": 1, "item": [2, 3]}\n', "line 1: its field item holds a list; item_lists=True"),
        ('{"a": 1, "b": 2, "c": 3}\n', "'a', 'b', 'c' as user="),
        ("nothing\n", "no line holds a JSON record"),
        ("[1, 2]", "no record holds a JSON record"),
        ('[{"user": 1}', "is not JSON"),
    ],
)
def test_bad_json_is_refused_with_its_line(make, text, says):
    with pytest.raises(DataError) as caught:
        load(make("a.jsonl", text))
    assert says in str(caught.value)


def test_a_bad_line_of_json_can_be_skipped(make):
    with pytest.warns(DataWarning, match="bad rows skipped: 1"):
        data = load(make("a.jsonl", JSONL + "broken\n"), max_bad_rows=0.2)
    assert (len(data), data.source["bad_rows"]) == (6, 1)


def test_the_first_sheet_is_read_and_another_can_be_named(make):
    path = make("two.xlsx", excel(("2009", [["Customer ID", "StockCode"], [1, "A"]]), ("2010", [["u", "i"], [2, 5]])))
    with pytest.warns(DataWarning, match=r"sheet: '2009' is read, the first of 2; sheet= \(--sheet\) chooses another"):
        data = load(path)
    assert pairs(data) == [("1", "A")]
    assert pairs(load(path, sheet="2010")) == [("2", "5")]
    with pytest.raises(DataError, match=r"no sheet '2011'; its sheets are '2009', '2010'"):
        load(path, sheet="2011")


def test_dates_of_excel_are_times_and_ids_of_mixed_kind_are_text(make):
    rows = [["StockCode", "CustomerID", "InvoiceDate"], ["85123A", 17850, datetime(2010, 12, 1, 8, 26)]]
    rows += [[22423, 17850, datetime(2010, 12, 1, 8, 26, 30)]]
    data = load(make("retail.xlsx", excel(("Online Retail", rows))))
    assert pairs(data) == [("17850", "85123A"), ("17850", "22423")]
    assert data.times.tolist() == [1291191960, 1291191990]


def test_a_bad_row_of_excel_is_named_by_the_number_excel_shows(make):
    path = make("a.xlsx", excel(("S", [[], ["user", "item"], [1, 2], [], [None, 3]])))
    with pytest.raises(DataError, match=r"a\.xlsx', row 5: the user is an empty id"):
        load(path)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.xlsx", b"PK\x03\x04 no more", "not a readable Excel workbook"),
        ("a.xlsx", excel(("S", [])), "has no interactions: the sheet is empty"),
        ("a.xlsx", excel(("S", [["user", "item"]])), "has no interactions"),
        ("a.xlsx", excel(("S", [[1, 2], [3, 4]])), "seems to have no header"),
        ("a.xls", b"\xd0\xcf\x11\xe0", "save it as .xlsx or CSV"),
    ],
)
def test_unusable_workbooks_are_refused(make, name, content, says):
    with pytest.raises(DataError, match=says):
        load(make(name, content))


def test_a_workbook_without_header_is_read_by_position(make):
    assert pairs(load(make("a.xlsx", excel(("S", [[1, 2], [3, 4]]))), header=False)) == [("1", "2"), ("3", "4")]


def test_a_workbook_that_expands_like_a_bomb_is_refused(make, monkeypatch):
    monkeypatch.setattr("corml.data.formats._guard.BOMB_SIZE", 1000)
    monkeypatch.setattr("corml.data.formats._guard.BOMB_RATIO", 5)
    path = make("a.xlsx", excel(("S", [["user", "item"]] + [[1, 2]] * 5000)))
    with pytest.raises(DataError, match=r"allow_expansion=True \(--allow-expansion\)"):
        load(path)
    assert len(load(path, allow_expansion=True)) == 1


@pytest.mark.parametrize(("name", "extra"), [("a.xlsx", "excel"), ("a.duckdb", "duckdb")])
def test_a_missing_extra_is_named(tmp_path, monkeypatch, name, extra):
    path = tmp_path / name
    if extra == "excel":
        path.write_bytes(excel(("S", ROWS)))
    else:
        duckdb.connect(str(path)).close()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=rf"pip install 'corml\[{extra}\]'"):
        load(path)


def test_readers_of_extras_and_polars_wait_until_they_are_needed():
    code = "import sys, corml.data; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"polars", "openpyxl", "duckdb", "sqlite3"} & set(loaded)


# --- folders and patterns --------------------------------------------------------------------------------------------


@pytest.fixture
def parts(tmp_path):
    """Write the rows in three files of a kind, hive partitions by day, with what Spark leaves beside them."""

    def write(kind, root="events"):
        for at in range(3):
            folder = tmp_path / root / f"day=2024-01-0{at + 1}"
            folder.mkdir(parents=True)
            piece = FRAME.slice(2 * at, 2).drop("timestamp")
            out = folder / f"part-{at}.{kind}"
            piece.write_parquet(out) if kind == "parquet" else out.write_bytes(piece.write_csv().encode())
            (folder / f".part-{at}.{kind}.crc").write_bytes(b"junk")
        (tmp_path / root / "_SUCCESS").write_bytes(b"")
        return tmp_path / root

    return write


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_folder_is_one_table_and_its_partitions_are_columns(parts, expected, kind):
    folder = parts(kind)
    data = load(folder, at_least=2, time="day")
    assert pairs(data) == pairs(expected)
    assert data.times.tolist() == [1704067200, 1704067200, 1704153600, 1704240000, 1704240000]
    assert any(note.startswith("files: 3, from ") for note in data.source["notes"])
    assert data.source["from"] == str(folder)


def test_a_pattern_takes_some_files(parts):
    folder = parts("parquet")
    assert len(load(f"{folder}/**/*.parquet")) == 6
    assert len(load(f"{folder}/day=2024-01-0[23]/*.parquet", time="day")) == 4
    with pytest.raises(DataError, match=r"No file matches .*\*\.csv': check the pattern"):
        load(f"{folder}/*.csv")


def test_partitions_are_decoded_and_may_be_null(make, tmp_path):
    make("e/user=a%2Fb/x.csv", "item,rating\n1,2\n")
    make("e/user=__HIVE_DEFAULT_PARTITION__/x.csv", "item,rating\n2,2\n")
    with pytest.warns(DataWarning, match="null ids: 1"):
        assert pairs(load(tmp_path / "e", null_ids="drop")) == [("a/b", "1")]
    with pytest.raises(DataError, match=r"HIVE_DEFAULT_PARTITION__/x\.csv', line 2: the user is an empty id"):
        load(tmp_path / "e")


def test_a_bad_row_is_named_with_the_file_it_stands_in(make, tmp_path):
    make("e/1.csv", "user,item\na,x\nb,y\n")
    make("e/2.csv", "user,item\nc,x\nd,\n")
    make("e/3.csv", "user,item\nshort\n")
    with pytest.raises(DataError, match=r"e/2\.csv', line 3: the item is an empty id.*\(1 more bad row follows\)"):
        load(tmp_path / "e")
    (tmp_path / "e/2.csv").unlink()
    with pytest.raises(DataError, match=r"e/3\.csv', line 2: there are 1 fields where 2"):
        load(tmp_path / "e")


def test_files_may_order_their_columns_differently_and_be_empty(make, tmp_path):
    make("e/1.csv", "user,item\na,x\n")
    make("e/2.csv", "item,user\ny,b\n")
    make("e/3.csv", "user,item\n")
    make("e/0.csv", "")
    assert pairs(load(tmp_path / "e")) == [("a", "x"), ("b", "y")]
    make("e/4.csv", "item,who\ny,b\n")
    with pytest.raises(DataError, match=r"e/4\.csv' has no column 'user', which .*e/1\.csv' has"):
        load(tmp_path / "e")


def test_ids_of_files_with_different_types_keep_their_text(tmp_path):
    columns = {"1": np.array([7, 8], dtype=np.int32), "2": np.array([2**40, 8]), "3": np.array(["07", "8"])}
    for name, users in columns.items():
        pl.DataFrame({"user": users, "item": ["x", "y"]}).write_parquet(tmp_path / f"{name}.parquet")
    assert load(tmp_path / "[12].parquet").users.labels.tolist() == ["7", "8", str(2**40)]
    assert load(tmp_path).users.labels.tolist() == ["7", "8", str(2**40), "07"]


def test_folders_that_are_no_table_are_refused(make, tmp_path):
    (tmp_path / "empty").mkdir()
    make("mixed/a.csv", CSV)
    make("mixed/b.jsonl", JSONL)
    make("other/readme.md", "x")
    with pytest.raises(DataError, match="folder without tables; it holds nothing"):
        load(tmp_path / "empty")
    with pytest.raises(DataError, match=r"it holds 'readme\.md'"):
        load(tmp_path / "other")
    with pytest.raises(DataError, match=r"several kinds \(csv, jsonl\): choose by a pattern, such as .*\*\*/\*\.csv'"):
        load(tmp_path / "mixed")


# --- standard input --------------------------------------------------------------------------------------------------


def parquet():
    out = io.BytesIO()
    FRAME.write_parquet(out)
    return out.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        CSV.encode(),
        CSV.replace(",", "\t").encode(),
        JSONL.encode(),
        gzip.compress(CSV.encode()),
        parquet(),
        FILES["a.xlsx"],
    ],
    ids=["csv", "tsv", "jsonl", "gzip", "parquet", "excel"],
)
def test_standard_input_is_read_as_what_it_is(monkeypatch, expected, data):
    pipe(monkeypatch, data)
    loaded = load("-", at_least=2)
    assert loaded.fingerprint == expected.fingerprint
    assert loaded.source["from"] == "-"


def test_errors_of_standard_input_name_it(monkeypatch):
    pipe(monkeypatch, b"user,item\na,x\nb\n")
    with pytest.raises(DataError, match="Standard input, line 3: there are 1 fields"):
        load("-")
    pipe(monkeypatch, b"")
    with pytest.raises(DataError, match="Standard input has no interactions"):
        load("-")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(DataError, match="no standard input"):
        load("-")


# --- databases -------------------------------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path):
    """Make a SQLite or DuckDB file with the rows as a table, and as many others as asked for."""

    def write(kind, others=0):
        path = tmp_path / ("shop.db" if kind == "sqlite" else "shop.duckdb")
        connection = sqlite3.connect(path) if kind == "sqlite" else duckdb.connect(str(path))
        connection.execute("CREATE TABLE events (user_id INTEGER, item_id VARCHAR, rating REAL, timestamp INTEGER)")
        connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?)", FRAME.rows())
        for at in range(others):
            connection.execute(f"CREATE TABLE other{at} (a INTEGER, b INTEGER)")
        if kind == "sqlite":
            connection.commit()
        connection.close()
        return path

    return write


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_the_only_table_of_a_database_is_read(database, expected, kind):
    data = load(database(kind), at_least=2)
    assert data.fingerprint == expected.fingerprint
    assert pairs(data) == pairs(expected)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_query_chooses_among_tables(database, kind):
    path = database(kind, others=1)
    with pytest.raises(DataError, match=r"holds 2 tables \('events', 'other0'\): choose with query= \(--query\)"):
        load(path)
    data = load(path, query="SELECT user_id AS client, item_id AS sku FROM events WHERE rating > 3 ORDER BY rating")
    assert pairs(data) == [("1", "10"), ("1", "20"), ("3", "007"), ("2", "20")]
    assert data.source["options"]["query"].startswith("SELECT")


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("SELECT nothing FROM events", "cannot be queried: .*nothing"),
        ("SELEC", "cannot be queried: .*syntax"),
        ("DROP TABLE events", "cannot be queried|gives no rows"),
        ("SELECT * FROM events WHERE user_id > 99", "has no interactions"),
    ],
)
def test_a_query_that_cannot_be_answered_is_refused_and_changes_nothing(database, kind, query, says):
    path = database(kind)
    before = path.read_bytes()
    with pytest.raises((DataError, UsageError), match=says):
        load(path, query=query)
    assert path.read_bytes() == before


def test_uuids_decimals_and_zoned_times_of_duckdb_are_read(tmp_path):
    path = tmp_path / "typed.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE t (user_id UUID, item_id DECIMAL(18, 0), rating DECIMAL(4, 1), ts TIMESTAMPTZ)"
        )
        connection.execute(
            "INSERT INTO t VALUES ('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 12345, 4.5, '2024-01-31 12:00:00+00')"
        )
    data = load(path, at_least=4.5)
    assert pairs(data) == [("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "12345")]
    assert data.times.tolist() == [1706702400]


def test_a_query_is_only_for_databases(make, tmp_path):
    make("e/a.csv", CSV)
    for source, name in (
        (make("a.csv", CSV), r"a\.csv'"),
        (FRAME, "a frame"),
        (tmp_path / "e", "e'"),
        ("-", "standard"),
    ):
        with pytest.raises(
            UsageError, match=rf"query= \(--query\) is for SQLite and DuckDB files, and .*{name}.* is none"
        ):
            load(source, query="SELECT 1")


def test_what_is_named_like_a_database_and_is_none_is_refused(make):
    with pytest.raises(DataError, match=r"a\.sqlite' is neither a SQLite nor a DuckDB file"):
        load(make("a.sqlite", "user,item\na,x\n"))


# --- lists and `::` --------------------------------------------------------------------------------------------------

LISTS = "0 10 20 30\n1 10\n\n2\n3 20 40 \n4 10 20 30 40 50\n"


def test_lists_of_items_for_each_user_are_recognised(make):
    data = load(make("train.txt", LISTS))
    assert pairs(data)[:5] == [("0", "10"), ("0", "20"), ("0", "30"), ("1", "10"), ("3", "20")]
    assert len(data) == 11
    assert "lists: each line is a user and then all their items" in data.source["notes"]


def test_lists_of_words_are_read_if_the_option_says_so(make):
    path = make("lists.txt", "ann x y\nbob\ty z\n")
    assert pairs(load(path, item_lists=True)) == [("ann", "x"), ("ann", "y"), ("bob", "y"), ("bob", "z")]
    long = make("long.txt", "ann x\nbob " + "y" * 3000)
    with pytest.raises(DataError, match="line 2: the item is an id longer than 2048 bytes"):
        load(long, item_lists=True)
    with pytest.raises(DataError, match="has no items: each line must be a user and then the items"):
        load(make("none.txt", "ann\nbob\n"), item_lists=True)


def test_a_table_with_blanks_is_not_taken_for_lists(make):
    with pytest.raises(DataError, match=r"no header.*item_lists=True \(--item-lists\)"):
        load(make("table.txt", "1 2 5\n1 3 4\n2 3\n"))


def test_files_divided_by_colons_are_read_as_movielens_writes_them(make):
    data = load(make("ratings.dat", "1::1193::5::978300760\n1::661::3::978302109\n"), at_least=4)
    assert pairs(data) == [("1", "1193")]
    assert data.times.tolist() == [978300760]
    assert "no header: read as user::item::rating::time, the layout of MovieLens' .dat files" in data.source["notes"]
    movies = make("movies.dat", "1193::One Flew Over the Cuckoo's Nest (1975)::Drama\n")
    assert load(make("r.dat", "1::1193::5::9\n"), titles=movies).titles["1193"].startswith("One Flew")
