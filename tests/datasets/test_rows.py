"""Ratings, times and repeated rows: what counts and what is reported."""

from datetime import UTC, date, datetime

import polars as pl
import pytest

from corml.data import load
from corml.errors import DataError, DataWarning


def test_the_threshold_keeps_ratings_from_there_on_and_counts_the_rest(make):
    data = load(make("a.csv", "user,item,rating\na,x,3.5\na,y,4\nb,x, 5 \nb,z,1\n"), at_least=4)
    assert data.items.labels.tolist() == ["x", "y"]
    assert data.source["filtered"] == 2
    assert (
        "ratings: 2 pairs without a rating of at least 4: not used for training, never recommended"
        in data.source["notes"]
    )


def test_without_threshold_only_zeros_are_left_out(make):
    data = load(make("a.csv", "user,item,rating\na,x,0\na,y,0.5\n"))
    assert data.items.labels.tolist() == ["y"]
    assert data.source["filtered"] == 1


def test_negative_ratings_are_allowed_below_a_negative_threshold(make):
    path = make("a.csv", "user,item,rating\na,x,-3\na,y,2\nb,x,-9\n")
    assert len(load(path, at_least=-5)) == 2


def test_repeated_rows_are_merged_and_counted(make):
    rows = ["a,x", "b,x", "a,x", "a,y", "a,x"]
    data = load(make("a.csv", "user,item\n" + "\n".join(rows)))
    once = load(make("b.csv", "user,item\na,x\nb,x\na,y\n"))
    assert data.fingerprint == once.fingerprint
    assert data.source["duplicates"] == 2
    assert "duplicates: 2 rows repeat a pair; merged" in data.source["notes"]


@pytest.mark.parametrize(
    ("rows", "counts"),
    [
        (["a,x,5,10", "a,x,1,20"], False),  # the latest rating is low
        (["a,x,1,20", "a,x,5,10"], False),  # wherever it stands
        (["a,x,5,20", "a,x,1,10"], True),
        (["a,x,5,10", "a,x,1,10"], False),  # of equal times the lower line counts
        (["a,x,1,10", "a,x,5,10"], True),
    ],
)
def test_of_conflicting_ratings_the_latest_counts(make, rows, counts):
    data = load(make("a.csv", "\n".join(["user,item,rating,time", *rows, "b,y,5,1"])), at_least=4)
    assert ("x" in data.items) is counts
    assert data.source["conflicts"] == 1
    assert any("1 with differing ratings (the latest counts)" in note for note in data.source["notes"])


def test_of_conflicting_ratings_without_times_the_highest_counts(make):
    data = load(make("a.csv", "user,item,rating\na,x,1\na,x,5\na,x,2\nb,y,5\n"), at_least=4)
    assert data.items.labels.tolist() == ["x", "y"]
    assert (data.source["duplicates"], data.source["conflicts"]) == (2, 1)
    assert any("the highest counts" in note for note in data.source["notes"])


def test_a_merged_pair_has_its_latest_time(make):
    data = load(make("a.csv", "user,item,time\na,x,5\na,y,1\na,x,9\na,x,7\n"))
    assert data.times.tolist() == [9, 1]


NOON = datetime(2020, 1, 2, 12, 0, 0, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "values",
    [
        [datetime(2020, 1, 2, 12), datetime(2020, 1, 2, 12)],
        [datetime(2020, 1, 2, 12, tzinfo=UTC)] * 2,
        pl.Series([date(2020, 1, 2)] * 2),
    ],
)
def test_times_of_a_frame_become_seconds(values):
    data = load(pl.DataFrame({"user": ["a", "b"], "item": ["x", "y"], "when": values}))
    assert set(data.times.tolist()) <= {NOON, NOON - 12 * 3600}


def test_a_time_that_cannot_be_read_is_a_bad_row_whether_times_were_named_or_not(make):
    path = make("a.csv", "user,item,time\na,x,5\nb,y,soon\n")
    with pytest.raises(DataError, match=r"line 3: the time 'soon' .*; time=False \(--no-time\) ignores column 'time'"):
        load(path)
    with pytest.raises(DataError, match="line 3: the time 'soon' is no number"):
        load(path, time="time")
    with pytest.warns(DataWarning, match="bad rows skipped: 1, the first: .*line 3: the time 'soon'"):
        data = load(path, max_bad_rows=0.5)
    assert (data.times.tolist(), data.source["bad_rows"]) == ([5], 1)


def test_a_missing_time_is_a_bad_row(make):
    with pytest.raises(DataError, match="line 3: the time is missing"):
        load(make("a.csv", "user,item,time\na,x,5\nb,y,\n"))
    frame = pl.DataFrame({"user": ["a", "b"], "item": ["x", "y"], "time": [1.0, None]})
    for source in (frame, frame.to_pandas()):
        with pytest.raises(DataError, match="row 2: the time is missing"):
            load(source)


def test_a_column_in_which_hardly_anything_is_a_time_is_ignored_with_a_warning(make):
    path = make("a.csv", "user,item,date\n" + "u,i,soon\n" * 11 + "u,j,7\n")
    with pytest.warns(
        DataWarning, match="times ignored, as hardly anything in their column is one: .*line 2: the time"
    ):
        data = load(path)
    assert (len(data), data.times) == (2, None)
    for named in ({"time": "date"}, {"half_life": "1d"}):
        with pytest.raises(DataError, match="line 2: the time 'soon'"):
            load(path, **named)


def test_columns_that_cannot_be_ratings_or_times_are_refused():
    frame = pl.DataFrame({"user": ["a"], "item": ["x"], "odd": [[1]], "flag": [True]})
    with pytest.raises(DataError, match="not numbers"):
        load(frame, rating="odd")
    with pytest.raises(DataError, match="not times"):
        load(frame, time="flag")
    assert len(load(frame, rating="flag")) == 1


def test_a_missing_rating_in_a_frame_is_a_bad_row():
    with pytest.raises(DataError, match="row 1: the rating is missing"):
        load(pl.DataFrame({"user": ["a"], "item": ["x"], "rating": pl.Series([None], dtype=pl.Float64)}))


def test_pairs_that_events_reject_are_counted_without_those_that_are_rated_low(make):
    rows = ["a,x,5,buy", "a,y,5,return", "b,x,5,look", "b,y,1,buy", "b,z,1,return", "c,z,4,buy"]
    path = make("a.csv", "user,item,rating,event\n" + "\n".join(rows))
    data = load(path, event="event", weights={"buy": 1, "look": 0}, negative=["return"], at_least=4)
    rejected = (
        "events: 2 pairs that weigh nothing or end with a negative event: not used for training, never recommended"
    )
    assert rejected in data.source["notes"]
    assert (len(data), data.source["filtered"]) == (2, 2)
    for options in ({"at_least": 4}, {"at_least": 1}):  # some pairs are rated low, and none is
        none = load(path, event="event", **options)
        assert not any(note.startswith("events:") for note in none.source["notes"])


VIEWS = "user,item,event\n" + "".join(f"u{at % 9},i{at % 7},view\n" for at in range(200))


@pytest.mark.parametrize("weights", [None, {"view": 1}])
@pytest.mark.parametrize("cell", ["", "  "])
def test_an_empty_event_is_a_bad_row(cell, weights, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"{VIEWS}u1,i1,{cell}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.csv', line 202: the event is missing: correct it, or pass skip_bad_rows"):
        load(path, event="event", weights=weights)
    with pytest.warns(DataWarning, match="bad rows skipped: 1, the first: "):
        data = load(path, event="event", weights=weights, skip_bad_rows=True)
    assert data.event_types == ("view",)
