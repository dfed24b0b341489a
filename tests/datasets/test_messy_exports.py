"""What exports of shops hold: dates of all kinds, commas in numbers, returns, missing customers, odd columns."""

import codecs
import uuid
from datetime import UTC, datetime
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corml.data import load
from corml.errors import DataError, DataWarning, UsageError


def pairs(data):
    return list(zip(data.users.labels[data.user], data.items.labels[data.item], strict=True))


def moments(make, *texts, **options):
    """Times of a column of texts, as they come out of `load`."""
    rows = "".join(f"u;i{at};{text}\n" for at, text in enumerate(texts))
    return load(make("t.csv", "user;item;time\n" + rows), time="time", **options).times.tolist()


def seconds(*parts):
    return datetime(*parts, tzinfo=UTC).timestamp()


NOON = seconds(2024, 1, 31, 12)

SAVE = "save it as UTF-8, or pass encoding="

# --- times -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-01-31 12:00:00+00", NOON),
        ("2024-01-31 12:00:00.25+00", NOON + 0.25),
        ("2024-01-31 14:00:00+02", NOON),
        ("2024-01-31 17:30:00+0530", NOON),
        ("2024-01-31 07:00:00-05:00", NOON),
        ("2024-01-31 14:00:00 +0200", NOON),
        ("2024-01-31 12:00:00 UTC", NOON),
        ("2024-01-31 12:00:00.5 UTC", NOON + 0.5),
        ("2024-01-31 12:00:00 +0000 UTC", NOON),
        ("2024-01-31T12:00:00Z", NOON),
        ("2024-01-31T12:00:00.000Z", NOON),
        ("2024-01-31T12:00", NOON),
        ("2024/01/31 12:00", NOON),
        ("2024/1/31", NOON - 43200),
        ("2024-01-31", NOON - 43200),
        ("2024-01-31T14:00:00+02:00", NOON),
        (" 1706702400.25", NOON + 0.25),
        ("1706702400", NOON),
        ("-5", -5),
    ],
)
def test_common_ways_to_write_a_time_are_understood(make, text, moment):
    assert moments(make, text) == [moment]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["31.01.2024", "01.02.2024"], [seconds(2024, 1, 31), seconds(2024, 2, 1)]),
        (["31.01.2024 12:00", "1.2.2024 9:05:30"], [NOON, seconds(2024, 2, 1, 9, 5, 30)]),
        (["31/01/2024 12:00:00"], [NOON]),
        (["1/31/2024 12:00 PM", "2/1/2024 1:05 am"], [NOON, seconds(2024, 2, 1, 1, 5)]),
        (["1/31/2024 12:00"], [NOON]),
        (["31-01-2024"], [seconds(2024, 1, 31)]),
    ],
)
def test_days_or_months_come_first_as_the_column_shows(make, texts, expected):
    assert moments(make, *texts) == expected


@pytest.mark.parametrize("texts", [["01.02.2024"], ["1/2/2024", "3/4/2024"], ["31.01.2024", "01.31.2024"]])
def test_an_order_that_nothing_shows_is_not_guessed(make, texts):
    with pytest.raises(DataError, match=r"line 2: the time .* may have its day or its month first: give time_format="):
        moments(make, *texts)
    path = make("t.csv", "user;item;date\na;x;01.02.2024\n")
    with pytest.warns(DataWarning, match="times ignored, .*--time-format"):
        assert load(path).times is None
    assert load(path, time_format="%d.%m.%Y").times.tolist() == [seconds(2024, 2, 1)]


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [
        ("20240131", "%Y%m%d", seconds(2024, 1, 31)),
        ("01.02.24 09:30", "%d.%m.%y %H:%M", seconds(2024, 2, 1, 9, 30)),
        ("Jan 31, 2024", "%b %d, %Y", seconds(2024, 1, 31)),
        ("31.01.2024 14:00 +0200", "%d.%m.%Y %H:%M %z", NOON),
    ],
)
def test_a_time_format_can_be_given(make, text, form, expected):
    assert moments(make, text, time_format=form) == [expected]


def test_a_time_format_reads_whole_numbers_too_and_names_the_row_that_differs(make):
    frame = pl.DataFrame({"user": ["a"], "item": ["x"], "time": [20240131]})
    assert load(frame, time_format="%Y%m%d").times.tolist() == [seconds(2024, 1, 31)]
    with pytest.raises(DataError, match=r"line 3: the time '2024' is not written as '%d\.%m\.%Y'"):
        moments(make, "31.01.2024", "2024", time_format="%d.%m.%Y")
    with pytest.raises(UsageError, match=r"time_format= \(--time-format\) must be a pattern such as"):
        load(frame, time_format="german")


# --- text ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-32", "utf-32-be", "utf-8", "shift-jis"])
def test_text_in_another_encoding_is_read_if_it_is_named(make, encoding):
    word = "名前" if encoding == "shift-jis" else "café"
    data = load(make("a.csv", f"user,item\n{word},x\n".encode(encoding)), encoding=encoding)
    assert data.users.labels.tolist() == [word]


@pytest.mark.parametrize(
    ("content", "advice"),
    [
        ("user,item\ncafé,x\n".encode("latin-1"), "encoding='latin-1' (--encoding latin-1)"),
        ("user,item\n“a”,x\n".encode("cp1252"), "encoding='cp1252' (--encoding cp1252)"),
        *(
            (
                "user,item\na,x\n".encode(name),
                f"is {name[:6].upper()} (byte offset 0), not UTF-8: {SAVE}'{name}' (--encoding {name})",
            )
            for name in ("utf-16", "utf-32", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
        ),
        (codecs.BOM_UTF32_BE + "user,item\na,x\n".encode("utf-32-be"), "is UTF-32 (byte offset 0)"),
        (codecs.BOM_UTF16_BE + "user,item\na,x\n".encode("utf-16-be"), "is UTF-16 (byte offset 0)"),
    ],
)
def test_a_file_in_another_encoding_says_which_to_name(make, content, advice):
    with pytest.raises(DataError) as caught:
        load(make("a.csv", content))
    assert advice in str(caught.value)


def test_an_encoding_that_does_not_exist_or_does_not_fit_is_refused(make):
    path = make("a.csv", "user,item\ncafé,x\n".encode("latin-1"))
    for wrong in ("klingon", "zlib", 7):
        with pytest.raises(UsageError, match=r"encoding= \(--encoding\) .* is not known"):
            load(path, encoding=wrong)
    with pytest.raises(DataError, match="is not ascii at byte offset 13"):
        load(path, encoding="ascii")


def test_a_decimal_comma_is_read_if_the_option_says_so_and_named_if_not(make):
    path = make("a.csv", "user;item;rating\na;x;4,5\na;y;1.234,5\na;z;1.000\nb;x;3\n")
    assert pairs(load(path, decimal=",", at_least=4)) == [("a", "x"), ("a", "y"), ("a", "z")]
    assert len(load(path, decimal=",", at_least=1000)) == 2
    with pytest.raises(
        DataError, match=r"line 2: the rating '4,5' is not a finite number; decimal=',' \(--decimal ,\)"
    ):
        load(path)
    with pytest.raises(UsageError, match=r"decimal= \(--decimal\) must be '\.' or ','"):
        load(path, decimal=";")


# --- rows ------------------------------------------------------------------------------------------------------------


def test_a_larger_or_smaller_share_of_bad_rows_can_be_allowed(make):
    path = make("a.csv", "user,item\n" + "".join(f"u{n},i{n % 3}\n" for n in range(90)) + "short\n" * 10)
    with pytest.warns(DataWarning, match="bad rows skipped: 10"):
        data = load(path, max_bad_rows=0.1)
    assert (len(data), data.source["bad_rows"]) == (90, 10)
    with pytest.raises(DataError, match=r"10 of 100 rows are bad, more than 9\.9%.*max_bad_rows= \(--max-bad-rows\)"):
        load(path, max_bad_rows=0.099)
    with pytest.raises(DataError, match="2 of 2 rows are bad"):
        load(make("b.csv", "user,item\nx\ny\n"), max_bad_rows=1.0)
    for wrong in (1.5, -0.1, float("nan"), True):
        with pytest.raises(UsageError, match=r"max_bad_rows= \(--max-bad-rows\) must be a share from 0 to 1"):
            load(path, max_bad_rows=wrong)


RETURNS = "user,item,quantity,time\na,x,6,1\na,x,-1,2\na,y,-2,3\nb,x,0,4\nb,y,3,5\n"


def test_negative_quantities_are_left_out_and_counted_with_a_threshold(make):
    path = make("a.csv", RETURNS)
    with pytest.warns(DataWarning, match=r"negative ratings: 2 rows \(returns, corrections\) left out"):
        data = load(path, rating="quantity", at_least=1)
    assert pairs(data) == [("a", "x"), ("b", "y")]  # of six, one came back: five were kept
    assert data.times.tolist() == [1, 5]
    assert data.source["filtered"] == 2
    with pytest.raises(DataError, match=r"line 3: the rating '-1' is negative; at_least= \(--at-least\) leaves out"):
        load(path, rating="quantity")


def test_ratings_on_a_scale_below_zero_keep_their_latest_value(make):
    path = make("a.csv", "user,item,rating,time\na,x,6,1\na,x,-8,2\na,y,-2,3\n")
    assert pairs(load(path, at_least=-5)) == [("a", "y")]


@pytest.mark.parametrize("missing", ["", "  ", "null", "NULL", "NaN", "None", "NA", r"\N"])
def test_rows_without_an_id_are_dropped_if_the_option_says_so(make, missing):
    with pytest.warns(DataWarning, match="null ids: 1 of 3 rows without a user or an item left out"):
        data = load(make("a.csv", f"user,item\na,x\n{missing},x\nb,y\n"), null_ids="drop")
    assert pairs(data) == [("a", "x"), ("b", "y")]
    assert (data.source["without_id"], data.source["bad_rows"], data.source["rows"]) == (1, 0, 3)


def test_rows_without_an_id_can_be_kept_as_one(make):
    frame = pl.DataFrame({"user": ["a", None, "", "null"], "item": ["x", "x", "y", "z"]})
    assert pairs(load(frame, null_ids="keep")) == [("a", "x"), ("null", "x"), ("null", "y"), ("null", "z")]
    with pytest.raises(DataError, match=r"row 2: the user is an empty id; null_ids='drop' \(--null-ids drop\) leaves"):
        load(frame)
    with pytest.raises(UsageError, match=r"null_ids= \(--null-ids\) must be 'drop' or 'keep'; got 'skip'"):
        load(frame, null_ids="skip")


def test_dropped_rows_are_not_bad_rows_and_all_of_them_are_too_many(make):
    path = make("a.csv", "user,item,rating\n,x,bad\na,x,1\n")
    with pytest.warns(DataWarning, match="null ids"):
        assert len(load(path, null_ids="drop")) == 1
    with pytest.raises(
        DataError, match=r"Every row lacks a user or an item: name the right columns as user= \(--user\)"
    ):
        load(make("b.csv", "user,item\n,x\n,y\n"), null_ids="drop")


# --- ids and columns -------------------------------------------------------------------------------------------------


def test_ids_may_have_2048_bytes(make):
    longest = "é" * 1024
    assert load(make("a.csv", f"user,item\n{longest},x\n")).users.labels.tolist() == [longest]
    with pytest.raises(DataError, match="line 2: the user is an id longer than 2048 bytes"):
        load(make("a.csv", f"user,item\n{longest}e,x\n"))


IDS = [uuid.UUID("df2eb21c-e9c4-4e45-b09b-d79894ffe597"), uuid.UUID("00000000-0000-4000-8000-0000000000ff")]


def test_uuids_are_ids_from_every_source(tmp_path):
    table = pa.table({"user": pa.array([one.bytes for one in IDS], pa.uuid()), "item": [1, 2]})
    pq.write_table(table, tmp_path / "a.parquet")
    objects = pl.DataFrame({"user": pl.Series(IDS, dtype=pl.Object), "item": [1, 2]})
    for source in (tmp_path / "a.parquet", table, pd.DataFrame({"user": IDS, "item": [1, 2]}), objects):
        assert load(source).users.labels.tolist() == [str(one) for one in IDS]


def test_bytes_that_are_neither_text_nor_uuids_are_refused():
    with pytest.raises(DataError, match="bytes that are not UTF-8 text"):
        load(pl.DataFrame({"user": [b"\xff" * 15, b"\xff" * 16], "item": [1, 2]}))


def test_decimal_columns_are_ids_ratings_and_times(tmp_path):
    frame = pl.DataFrame(
        {
            "user": pl.Series([Decimal(7), Decimal(8)], dtype=pl.Decimal(38, 0)),
            "item": pl.Series([Decimal("1.50"), Decimal("2.00")], dtype=pl.Decimal(10, 2)),
            "rating": pl.Series([Decimal("4.5"), Decimal("2.5")], dtype=pl.Decimal(4, 1)),
            "time": pl.Series([Decimal(10), Decimal(20)], dtype=pl.Decimal(18, 0)),
        }
    )
    frame.write_parquet(tmp_path / "a.parquet")
    for source in (frame, frame.to_arrow(), frame.to_pandas(), tmp_path / "a.parquet"):
        data = load(source, at_least=4)
        assert pairs(data) == [("7", "1.50")]
        assert data.times.tolist() == [10]


@pytest.mark.parametrize(
    ("header", "chosen"),
    [
        ("InvoiceNo,StockCode,Quantity,InvoiceDate,CustomerID", "user=CustomerID, item=StockCode, time=InvoiceDate"),
        ("Invoice,StockCode,InvoiceDate,Price,Customer ID", "user=Customer ID, item=StockCode, time=InvoiceDate"),
        ("order_id,customer_id,SKU,order_date,x", "user=customer_id, item=SKU, time=order_date"),
        ("x,y,product id,Customer-ID,z", "user=Customer-ID, item=product id"),
        ("a,cust_id,Article Number,purchased_at,z", "user=cust_id, item=Article Number, time=purchased_at"),
        ("a,household_key,PRODUCT_ID,b,c", "user=household_key, item=PRODUCT_ID"),
        ("a,visitorid,itemid,b,timestamp", "user=visitorid, item=itemid, time=timestamp"),
    ],
)
def test_columns_of_shops_are_found_by_their_names(make, header, chosen):
    data = load(make("a.csv", f"{header}\n1,2,3,4,5\n"))
    assert f"columns: {chosen}" in data.source["notes"]
