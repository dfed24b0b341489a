"""Times that cannot be meant: later than now, or on a day that programs write where they have no time."""

from datetime import UTC, date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

import corml
from corml.data import examine, load
from corml.data.interactions import Interactions
from corml.errors import DataError, DataWarning, UsageError
from corml.models import ItemKNN

NOW = "2024-06-01"
PAST = [datetime(2024, 1 + at % 5, 1 + at % 28, 12, tzinfo=UTC) for at in range(200)]
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def table(times):
    return pl.DataFrame({"user": [f"u{at % 20}" for at in range(len(times))], "item": range(len(times)), "time": times})


def in_units(moments, unit):
    return [int(one.timestamp()) * UNITS[unit] for one in moments]


@pytest.mark.parametrize("wrong", ["2224-01-01", "9999-12-31", "2024-06-03"])
@pytest.mark.parametrize("form", ["dates", "text", *UNITS])
def test_a_time_later_than_now_is_a_bad_row(wrong, form):
    moments = [*PAST, datetime.fromisoformat(wrong).replace(tzinfo=UTC)]
    times = moments if form == "dates" else [str(one) for one in moments] if form == "text" else None
    times = in_units(moments, form) if times is None else times
    if form == "ns" and wrong.startswith("9999"):
        times[-1] = 2**63 - 1  # as far as it goes
    with pytest.raises(
        DataError, match=r"row 201: the time .*, 2\d\d\d-.* is later than now; .*now= \(--now\)|9999-12"
    ):
        load(table(times), now=NOW)
    with pytest.warns(DataWarning, match="bad rows skipped: 1, the first: The frame, row 201: the time"):
        data = load(table(times), now=NOW, skip_bad_rows=True, half_life="30d")
    assert data.times.max() == load(table(times[:-1]), now=NOW).times.max()
    assert (data.weights > 0.01).all()  # ages count from the latest time that can be meant


@pytest.mark.parametrize("wrong", ["1970-01-01", "1970-01-01 01:00", "0001-01-01", "1900-01-01", "1899-12-30"])
def test_a_date_that_programs_write_for_a_missing_time_is_a_bad_row(wrong):
    times = [*map(str, PAST), wrong]
    with pytest.raises(
        DataError, match=f"row 201: the time '{wrong}' is on {wrong[:10]}, which programs write for a m"
    ):
        load(table(times), now=NOW)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("wrong", [0, -1])
def test_zero_and_minus_one_are_no_times_among_dates(wrong, unit):
    times = [*in_units(PAST, unit), wrong]
    with pytest.raises(DataError, match=rf"row 201: the time '{wrong}' is on 19(70-01-01|69-12-31)"):
        load(table(times), now=NOW)


@pytest.mark.parametrize(
    "times",
    [range(200), range(-100, 100), [20240101 + at for at in range(200)], np.arange(200) * 1e6, [0.5, 0, -1, 1e6]],
)
def test_numbers_that_are_no_dates_are_a_clock_of_their_own(times):
    data = load(table(list(times)), now="1980-01-01")
    assert sorted(data.times.tolist()) == sorted(float(one) for one in times)


@pytest.mark.parametrize(("number", "form"), [(20240131, "%Y%m%d"), (19991231, "%Y%m%d"), (202401312359, "%Y%m%d%H%M")])
def test_dates_written_in_digits_are_told_how_to_be_read(number, form, tmp_path):
    frame = table([number] * 3)
    frame.write_csv(tmp_path / "a.csv")
    for read in (lambda: load(frame), lambda: corml.build_store(tmp_path / "a.csv", tmp_path / "s")):
        with pytest.warns(DataWarning, match=rf"numbers such as {number} are not read as dates; time_format='{form}'"):
            read()
    assert datetime.fromtimestamp(load(frame, time_format=form).times[0], UTC).strftime(form) == str(number)
    with pytest.raises(DataError, match=r"later than now; .*time_format= \(--time-format\)"):
        load(table([20240131120000] * 3), now=NOW)


@pytest.mark.parametrize(
    "now", ["2224-02-01", "2224-02-01T00:00:00Z", datetime(2224, 2, 1), date(2224, 2, 1), 8018265600, 8018265600000]
)
def test_data_of_the_future_are_read_with_a_now_of_theirs(now):
    times = [datetime(2224, 1, 1 + at) for at in range(30)]
    data = load(table(times), now=now)
    assert len(data) == 30
    assert isinstance(data.source["options"]["now"], str | int)
    with pytest.raises(DataError, match="later than now"):
        load(table(times), now="2223-12-31")


@pytest.mark.parametrize("wrong", ["soon", "", True, float("nan"), [1]])
def test_a_now_that_is_no_moment_is_refused(wrong):
    with pytest.raises(
        UsageError, match=r"now= \(--now\) must be a date such as 2024-05-31, or seconds since 1970; got"
    ):
        load(table(PAST), now=wrong)


def test_without_now_the_present_is_meant():
    assert len(load(table([*PAST[:10], datetime.now(UTC)]))) == 11
    with pytest.raises(DataError, match=r"row 11: .* later than now"):
        load(table([*PAST[:10], datetime(2999, 1, 1, tzinfo=UTC)]))


def test_what_was_recent_is_excluded_although_one_row_is_dated_wrong():
    times = [*map(str, PAST), "2224-01-01"]
    frame = pd.DataFrame({"user": [f"u{at % 19}" for at in range(201)], "item": [f"i{at % 21}" for at in range(201)]})
    with pytest.warns(DataWarning, match="bad rows skipped: 1"):
        data = load(frame.assign(time=times), now=NOW, skip_bad_rows=True)
    model = ItemKNN(neighbours=20).fit(data)
    everything = model.recommend(["u0"], k=21, seen="allow")["u0"]
    older = model.recommend(["u0"], k=21, seen="allow", exclude_recent="60d")["u0"]
    known = data.times[data.user == data.users.labels.tolist().index("u0")]
    assert len(everything) - len(older) == (known >= data.times.max() - 60 * 86400).sum() > 0


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("numeric", [True, False])
def test_a_store_has_the_same_bad_rows(tmp_path, form, numeric):
    moments = [PAST[at % 200] for at in range(30_000)]
    for at, year in ((17, 2224), (9_000, 1970), (29_999, 9999)):
        moments[at] = datetime(year, 1, 1, tzinfo=UTC)
    frame = table(in_units(moments, "s") if numeric else [str(one) for one in moments])
    path = tmp_path / f"a.{form}"
    frame.write_csv(path) if form == "csv" else frame.write_parquet(path)
    with pytest.raises(DataError, match=r"(line|row) \d+: the time .*, 2224-01-01.* is later than now"):
        corml.build_store(path, tmp_path / "refused", now=NOW, memory="2MB")
    with pytest.warns(DataWarning, match="bad rows skipped: 3 of 30,000"):
        store = corml.build_store(path, tmp_path / "s", now=NOW, memory="2MB", skip_bad_rows=True)
    with pytest.warns(DataWarning, match="bad rows skipped: 3"):
        data = load(path, now=NOW, skip_bad_rows=True)
    assert store.interactions().fingerprint == data.fingerprint
    assert store.interactions().times.max() == data.times.max()


def test_the_report_shows_first_and_last_in_one_unit_and_names_what_cannot_be_meant():
    times = [1.6e9 + at for at in range(50)] + [0.0, 253402300799.0]
    data = Interactions.from_pairs([f"u{at % 5}" for at in range(52)], range(52), times=times)
    report = examine(data)
    facts, said = dict(report.facts), [finding.what for finding in report.findings]
    assert facts["first time"] < facts["last time"]
    assert facts["last time"] == "9999-12-31T23:59:59+00:00"
    assert "1 pairs have a time later than now, the last 9999-12-31T23:59:59+00:00" in said
    assert "1 pairs have a time that stands for none: '1970-01-01'" in said
