"""Ids are opaque text: what goes in comes out, in every format."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from corml.datasets import load, write
from corml.interactions import Interactions

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
        (pl.Series([7.0, 8.5]), ["7.0", "8.5"]),
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


def test_ids_that_arrive_as_decimal_numbers_are_remarked_upon():
    data = load(pd.DataFrame({"user": [1.0, 2.0], "item": [1, 2]}))
    assert any("decimal numbers" in note for note in data.source["notes"])
