"""What the report on data advises, and how it reads."""

import polars as pl
import pytest

from corml.data import examine, load, write
from corml.errors import DataWarning

DAY = 86_400
FIRST = 1_442_483_036


def events(kinds=("view", "cart"), rows=60):
    return pl.DataFrame(
        {
            "user": [f"u{at % 7}" for at in range(rows)],
            "item": [f"i{at % 11}" for at in range(rows)],
            "event": [kinds[at % 3 == 0] for at in range(rows)],
            "time": [FIRST + DAY * at for at in range(rows)],
        }
    )


def said(report):
    return {finding.what: finding.advice for finding in report.findings}


def advice_with(report, start):
    return next((advice for what, advice in said(report).items() if start in what), None)


def test_a_report_prints_as_text():
    report = examine(events(), event="event", weights={"view": 1, "cart": 3})
    lines = str(report).splitlines()
    assert lines[0].split() == ["users", "7"]
    assert any(line.startswith("note: lists leave out everything") for line in lines)
    assert any(line.startswith("    → ") for line in lines)
    assert "Report(" not in str(report)


def test_events_of_equal_weight_are_not_offered_again():
    start = "lists leave out everything known of a user"
    assert "hide_events" in advice_with(examine(events(), event="event", weights={"view": 1, "cart": 3}), start)
    for weights in ({"view": 1, "cart": 1}, {"view": 3, "cart": 1}, None):
        assert advice_with(examine(events(), event="event", weights=weights), start) is None


def test_rows_that_say_exactly_the_same_are_counted():
    twice = pl.concat([events(), events()[:10]])
    counted = "10 rows say the same as another: same user, item, time and all else that is read"
    report = examine(twice, event="event", weights={"view": 1, "cart": 3})
    assert said(report)[counted].endswith("their weights are added up")
    assert counted not in said(examine(events(), event="event"))
    assert counted not in said(
        examine(twice.drop("time", "event"))
    )  # who came twice on no known day may have come twice


def test_quantities_of_which_a_few_pairs_have_most_are_advised_to_be_flattened():
    hours = events().drop("event").with_columns(hours=pl.Series([5000.0 if at < 4 else 1.0 for at in range(60)]))
    assert "--transform log1p" in advice_with(examine(hours, weight="hours"), "% of the weight")
    assert advice_with(examine(hours, weight="hours", transform="log1p"), "% of the weight") is None


def test_what_a_file_does_not_keep_is_warned_of(tmp_path):
    data = load(events(), event="event", weights={"view": 1, "cart": 3}, half_life="9d")
    with pytest.warns(
        DataWarning, match=r"not event types \('cart', 'view'\), .*Load its weights with weight='weight'"
    ):
        write(data, tmp_path / "a.csv")
    with pytest.warns(DataWarning, match=r"'weight' \(.*: quantities\? use weight= \(--weight\)"):
        load(tmp_path / "a.csv")
    assert load(tmp_path / "a.csv", weight="weight").fingerprint == data.fingerprint


def test_columns_of_events_are_to_be_named():
    with pytest.warns(DataWarning, match=r"use event= \(--event\)\)\. Without it all events count alike"):
        load(events())


def test_an_index_with_a_name_is_warned_of():
    frame = events().drop("event").to_pandas()
    with pytest.warns(DataWarning, match=r"index ignored: 'user': only columns are read; frame\.reset_index\(\)"):
        load(frame.assign(session=frame["user"]).set_index("user"))
    load(frame.set_index("user", drop=False))


def test_columns_named_after_items_are_titles():
    titles = pl.DataFrame({"itemid": ["i1", "i2"], "Game Name": ["One", "Two"]})
    data = load(events().drop("event"), titles=titles)
    assert data.titles["i1"] == "One"
    data = load(events().drop("event"), items=titles)
    assert data.titles["i2"] == "Two"
