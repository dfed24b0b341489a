"""Several files, each of one kind of events, are read as one table with a column of kinds."""

import numpy as np
import polars
import pytest

import corml
from corml.data import files_by_kind
from corml.errors import DataError, UsageError

WEIGHTS = {"view": 1, "buy": 10}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    views = {"visitor": ["a", "a", "b"], "sku": ["x", "y", "x"], "when": ["1970-01-03", "1970-01-04", "1970-01-05"]}
    polars.DataFrame(views).rename({"visitor": "user_id", "when": "timestamp"}).write_parquet("views.parquet")
    (tmp_path / "orders.csv").write_text("customer id;product id;date;quantity\na;x;1970-01-10;2\nc;y;1970-01-11;1\n")
    return {"view": "views.parquet", "buy": "orders.csv"}


def strengths(data):
    weights = np.ones(len(data)) if data.weights is None else data.weights
    return {data.users[u] + data.items[i]: float(w) for u, i, w in zip(data.user, data.item, weights, strict=True)}


def test_each_file_has_its_columns_and_its_kind(files):
    data = corml.load(files, weights=WEIGHTS)
    assert strengths(data) == {"ax": 11, "ay": 1, "bx": 1, "cy": 10}
    assert dict(zip(strengths(data), data.kinds.words(), strict=True))["ax"] == "buy"
    assert data.times.max() == 10 * 86_400
    assert "columns of buy: user=customer id, item=product id, time=date" in data.source["notes"]
    assert data.source["from"] == "view=views.parquet,buy=orders.csv"


def test_the_same_as_text_and_as_frames(files):
    data = corml.load(files, weights=WEIGHTS)
    text = corml.load("view=views.parquet, buy=orders.csv", weights=WEIGHTS)
    frames = {"view": polars.read_parquet("views.parquet"), "buy": "orders.csv"}
    assert text.fingerprint == data.fingerprint == corml.load(frames, weights=WEIGHTS).fingerprint
    assert corml.load(data.source["from"], **data.source["options"]).fingerprint == data.fingerprint


def test_a_file_without_the_column_of_weights_counts_rows_as_one(files):
    assert strengths(corml.load(files, weight="quantity", weights=WEIGHTS))["ax"] == 21


def test_a_kind_may_be_negative(files):
    data = corml.load({**files, "return": polars.DataFrame({"user": ["a"], "item": ["y"], "time": ["1970-01-20"]})},
                      weights=WEIGHTS, negative=["return"])  # fmt: skip
    assert data.negative.kinds.words() == ["return"]
    assert "ay" not in strengths(data)


def test_times_count_where_every_file_has_them(files, tmp_path):
    (tmp_path / "carts.csv").write_text("user,item\na,y\n")
    data = corml.load({**files, "cart": "carts.csv"}, weights={**WEIGHTS, "cart": 3})
    assert data.times is None
    assert "times ignored: 'carts.csv' has none" in data.source["notes"]


def test_what_exists_comes_before_kinds(files, tmp_path):
    (tmp_path / "day=1").mkdir()
    (tmp_path / "day=1" / "a.csv").write_text("user,item\na,x\n")
    assert files_by_kind("day=1") is None
    assert files_by_kind("day=*/*.csv") is None
    assert files_by_kind("events/day=1") is None
    assert files_by_kind("buy=day=1/a.csv,view=v,w.csv") == {"buy": "day=1/a.csv", "view": "v,w.csv"}
    assert len(corml.load("day=1")) == 1


@pytest.mark.parametrize(
    ("source", "options", "kind", "sentence"),
    [
        ({}, {}, UsageError, "Files by event type are written view=views.parquet,buy=orders.csv.*got none"),
        ({"a=b": "orders.csv"}, {}, UsageError, "have no comma, = or slash; got 'a=b'"),
        ("buy=orders.csv,buy=views.parquet", {}, UsageError, "Two files have the same event type"),
        ("buy=orders.csv", {"event": "type"}, UsageError, r"named before it: leave event= \(--event\) out"),
        (
            "buy=orders.csv,view=views.parquet",
            {"weights": {"buy": 1}},
            DataError,
            "has events without a weight: 'view'",
        ),
        ("buy=orders.csv,view=nowhere.csv", {}, DataError, "nowhere.csv"),
        ("buy=orders.csv", {"weight": "amount"}, DataError, "No file has a column 'amount' for weight"),
        ("buy=orders.csv,view=views.parquet", {"user": "customer id"}, DataError, "'views.parquet' has no column"),
    ],
)
def test_what_cannot_be_meant_is_named(files, source, options, kind, sentence):
    with pytest.raises(kind, match=sentence):
        corml.load(source, **options)


def test_a_bad_row_is_named_with_its_file(files, tmp_path):
    with (tmp_path / "orders.csv").open("a") as file:
        file.write(";y;1970-01-11;1\n")
    with pytest.raises(DataError, match=r"'orders\.csv', row 4: the user is an empty id"):
        corml.load(files, weights=WEIGHTS)


@pytest.mark.parametrize("source", ["view=views.csv,buy=", "buy=", "view= ,buy=orders.csv"])
def test_a_kind_without_a_file_is_not_passed_over(source):
    with pytest.raises(UsageError, match=r"'(buy|view)' has no file: write, for example, buy=orders\.csv"):
        corml.load(source)
