"""Ids are opaque text: what goes in comes out, in every format."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from corml.data import load, write
from corml.data.interactions import Interactions
from corml.errors import DataWarning

ODD = [
    "NA", "null", "nan", "None", "True", "007", "7", "7.0", " 7", "9223372036854775808", "-1", str(10**30), "x" * 256,
    "🎬", "é", "e\u0301", "a\tb", "a,b", 'say "hi"', "two\nlines", "cr\rhere", "crlf\r\nhere", "../../etc/passwd",
    "=cmd()", "<script>alert(1)</script>", "# no comment", "\x1b[31mred", "'", "a\u2028b", "a\x0bb",
]  # fmt: skip


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".inter", ".parquet", ".npz"])
def test_odd_ids_survive_writing_and_reading(tmp_path, suffix):
    data = Interactions.from_pairs(ODD, ODD[::-1], times=np.arange(len(ODD)) + 0.5)
    write(data, tmp_path / f"odd{suffix}")
    back = load(tmp_path / f"odd{suffix}")
    assert back.users.labels.tolist() == ODD
    assert back.fingerprint == data.fingerprint


def test_plain_text_keeps_ids_verbatim_and_distinct(make):
    words = ["NA", "null", "nan", "None", "True", "007", "7", "7.0", " 7", "7 ", "-1", "1e5", "é", "e\u0301"]
    path = make("words.csv", "user,item\n" + "\n".join(f"{word},x" for word in words))
    assert load(path).users.labels.tolist() == words


def test_trim_strips_ids_and_nothing_else_does(make):
    path = make("blanks.csv", "user,item\n 7,x\n7,y\n7 ,x\n")
    assert load(path).users.labels.tolist() == [" 7", "7", "7 "]
    assert load(path, trim=True).users.labels.tolist() == ["7"]


def test_whole_numbers_become_their_exact_digits(tmp_path):
    big = [2**53 + 1, 2**60 + 1, -5]
    frame = pl.DataFrame({"user": big, "item": [1, 2, 3]})
    frame.write_parquet(tmp_path / "big.parquet")
    for source in (frame, frame.to_pandas(), frame.to_arrow(), tmp_path / "big.parquet"):
        assert load(source).users.labels.tolist() == [str(n) for n in big]


def test_number_columns_and_text_columns_give_the_same_ids(make):
    text = load(make("a.csv", "user,item\n7,1\n8,2\n"))
    assert load(pl.DataFrame({"user": [7, 8], "item": [1, 2]})).fingerprint == text.fingerprint


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        (pl.Series(["b", "a"], dtype=pl.Categorical), ["b", "a"]),
        (pl.Series(["b", "a"], dtype=pl.Enum(["a", "b"])), ["b", "a"]),
        (pl.Series([Decimal("1.50"), Decimal("2.00")]), ["1.50", "2.00"]),
        (pl.Series([True, False]), ["True", "False"]),
        (pl.Series([b"x", b"y"]), ["x", "y"]),
        (pd.Series(pd.Categorical(["b", "a"])), ["b", "a"]),
        (pd.Series([1, "a"], dtype=object), ["1", "a"]),
        (np.array([3, 4], dtype=np.uint64), ["3", "4"]),
    ],
    ids=lambda value: None if isinstance(value, list) else str(value.dtype),
)
def test_columns_of_other_types_have_one_text_form(column, labels):
    frame = pd.DataFrame({"user": column, "item": [1, 2]}) if isinstance(column, pd.Series) else None
    frame = pl.DataFrame({"user": column, "item": [1, 2]}) if frame is None else frame
    assert load(frame).users.labels.tolist() == labels


WHOLE = "user ids: decimal numbers that are whole are read without .0 \\(512000255.0 as 512000255; rows: 2\\)"


@pytest.mark.parametrize("make_source", [pd.DataFrame, pl.DataFrame, "a.parquet", "a.npz"])
def test_whole_numbers_that_gaps_made_decimal_are_whole_numbers_again(make_source, tmp_path):
    columns = {"user": [512000255.0, 2.5, 1e15], "item": [1, 2, 1]}
    if make_source == "a.parquet":
        pl.DataFrame(columns).write_parquet(tmp_path / "a.parquet")
    elif make_source == "a.npz":
        np.savez(tmp_path / "a.npz", **columns)
    source = tmp_path / make_source if isinstance(make_source, str) else make_source(columns)
    with pytest.warns(DataWarning, match=WHOLE):
        assert load(source).users.labels.tolist() == ["512000255", "2.5", "1000000000000000"]


def test_a_frame_with_gaps_has_the_same_ids_and_times_as_one_without():
    whole = pd.DataFrame({"user": [7, 8, 9], "item": [1107596, 1107597, 1107596], "time": [1.6e9, 1.7e9, 1.5e9]})
    gaps = pd.concat([whole, pd.DataFrame({"user": [None, 7], "item": [3, None], "time": [1.6e9, None]})])
    with pytest.warns(DataWarning) as caught:
        data = load(gaps, null_ids="drop")
    assert {str(one.message).partition(":")[0] for one in caught} == {"user ids", "item ids", "null ids"}
    assert data.fingerprint == load(whole).fingerprint
    assert data.times.tolist() == load(whole).times.tolist()


@pytest.mark.parametrize("items", [[1107596, 1107596.0, "A1"], ["1107596", 1107596.0, "A1"], [1107596, 1107596.0, 5]])
def test_a_column_of_numbers_and_text_has_one_form_for_a_number(items):
    frame = pd.DataFrame({"user": [1, 2, 3], "item": pd.Series(items, dtype=object)})
    with pytest.warns(DataWarning, match=r"read without .0 \(1107596.0 as 1107596; rows: "):
        assert load(frame).items.labels.tolist() == ["1107596", str(items[2])]


def test_numbers_beyond_what_floats_hold_are_told_of():
    with pytest.warns(DataWarning, match=r"above 2\^53 such numbers have lost digits"):
        load(pl.DataFrame({"user": [2.0**60, 1.5], "item": [1, 2]}))


def test_text_that_ends_in_point_zero_stays_text(make):
    data = load(make("a.csv", "user,item\n7.0,1.50\n8.0,x\n"))
    assert (data.users.labels.tolist(), data.items.labels.tolist()) == (["7.0", "8.0"], ["1.50", "x"])
