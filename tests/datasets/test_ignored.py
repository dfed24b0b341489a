"""Columns that nothing is made of: a rating under another name would count as a like unseen."""

import pandas as pd
import polars as pl
import pytest

import corml
from corml.data import load
from corml.errors import DataWarning

ROWS = 60
PLAIN = {"user": [f"u{at % 9}" for at in range(ROWS)], "item": [f"i{at % 13}" for at in range(ROWS)]}


def column(*values):
    return [values[at % len(values)] for at in range(ROWS)]


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("Bewertung", (1, 2, 5, 4), r"'Bewertung' \(1 to 5: ratings\? use rating= \(--rating\)\)"),
        ("Bewertung", ("1.5", "3"), r"'Bewertung' \(1\.5 to 3: ratings\?"),
        ("wie_gut", (0.5, 1, 5), r"'wie_gut' \(0\.5 to 5: ratings\?"),
        ("review_score", (17, 93, 40), r"'review_score' \(17 to 93: ratings\?"),
        (
            "event",
            ("view", "cart", "purchase"),
            r"'event' \(with 'view', 'cart', 'purchase': events\? use event= \(--ev",
        ),
        ("was", ("Add to cart", "Page View"), r"'was' \(with 'Add to cart', 'Page View': events\?"),
        ("Quantity", (1, 12, 400), r"'Quantity' \(1 to 400: quantities\? use weight= \(--weight\)\)"),
    ],
)
@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl", "pandas", "polars", "folder", "store"])
def test_a_column_that_looks_like_a_weight_is_named_when_it_is_ignored(name, values, said, form, tmp_path):
    frame = pl.DataFrame({**PLAIN, "note": column("x y z", "w"), name: column(*values)})
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / f"a.{form if form in ('csv', 'jsonl') else 'parquet'}"
    {"csv": frame.write_csv, "jsonl": frame.write_ndjson}.get(form, frame.write_parquet)(path)
    source = {"pandas": frame.to_pandas(), "polars": frame, "folder": tmp_path / "in"}.get(form, path)
    with pytest.warns(DataWarning, match=f"columns ignored: {said}.*say rating=False") as caught:
        corml.build_store(path, tmp_path / "s") if form == "store" else load(source)
    assert len(caught) == 1
    if form != "store":
        load(source, rating=False)  # says that it is right, and so nothing more is said


def test_a_column_of_dates_is_named_when_no_times_are_found():
    frame = pl.DataFrame({**PLAIN, "Kaufdatum": column("2024-01-05", "2024-02-05 10:00")})
    with pytest.warns(DataWarning, match=r"'Kaufdatum' \(from 2024-01-05: times\? use time= \(--time\)\).*time=False"):
        load(frame)
    load(frame, time=False)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        *(
            ("title", ("A Film", "Another")),
            ("genre", ("drama", "comedy")),
            ("price", (1.5, 2.0)),
            ("year", (1999, 2001)),
        ),
        *(("gender", (0, 1)), ("is_new", (0, 1)), ("weekday", (1, 2, 3)), ("category_id", (1, 2, 3)), ("page", (1, 2))),
        *(("release_date", ("2001-01-01", "2002-01-01")), ("one", (1, 1)), ("id", range(60)), ("lists", ([1], [2]))),
        *(
            ("price_text", ("1.234,50", "3,99")),
            ("country", ("DE", "AT")),
            ("ean13", (4006381333931, 4006381333948)),
            ("order_id", (1, 2, 3, 4)),
        ),
    ],
)
@pytest.mark.parametrize("make_frame", [pl.DataFrame, pd.DataFrame])
def test_attributes_and_numbers_that_are_no_scale_are_only_noted(name, values, make_frame):
    data = load(make_frame({**PLAIN, name: column(*values)}))
    assert f"columns ignored: '{name}'" in data.source["notes"]


def test_nothing_is_asked_where_a_strength_was_chosen():
    frame = pl.DataFrame({**PLAIN, "event": column("view", "buy"), "rating": column(1, 5), "Bewertung": column(1, 5)})
    for chosen in ({"rating": "rating"}, {"event": "event"}, {"weight": "Bewertung"}):
        load(frame, **chosen)


@pytest.mark.parametrize("name", ["event", "event_type"])
def test_a_column_named_event_is_named_next_to_ratings_that_were_found(name):
    frame = pl.DataFrame({**PLAIN, name: column("show", "open"), "rating": column(1, 5)})
    match = (
        rf"'{name}' \(with 'show', 'open': events\? use event= \(--event\)\).*say rating='rating' \(--rating 'rating'\)"
    )
    with pytest.warns(DataWarning, match=match):
        load(frame)
    load(frame, rating="rating")


def test_events_of_a_categorical_column_are_named():
    with pytest.warns(DataWarning, match=r"'event' \(with 'view', 'buy': events\?"):
        load(pl.DataFrame({**PLAIN, "event": pl.Series(column("view", "buy"), dtype=pl.Categorical)}))


@pytest.mark.parametrize("make", [int, str, lambda second: second * 1000])
def test_a_column_of_seconds_since_1970_is_named_when_no_times_are_found(make):
    frame = pl.DataFrame({**PLAIN, "zeit": [make(1_600_000_000 + 3600 * at) for at in range(ROWS)]})
    with pytest.warns(DataWarning, match=r"'zeit' \(from 2020-09-13: times\? use time= \(--time\)\).*time=False"):
        load(frame)
    load(frame, time=False)


def test_a_warning_lists_a_few_columns():
    frame = pl.DataFrame({**PLAIN, **{f"punkte{at}": column(1, 5) for at in range(9)}})
    with pytest.warns(DataWarning) as caught:
        load(frame)
    assert str(caught[0].message).count("ratings?") == 3
