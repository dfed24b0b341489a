"""Dates of all sources are seconds: whatever unit they come in, and whichever data they meet."""

from datetime import UTC, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

import corml
from corml.data import load
from corml.data.interactions import Interactions
from corml.errors import DataError, UsageError
from corml.models import ItemKNN

FIRST = 1_442_483_036_178  # milliseconds
UNITS = {"s": 1e-3, "ms": 1, "us": 10**3, "ns": 10**6}
ROWS = 40
MOMENTS = [FIRST + 86_400_000 * at for at in range(ROWS)]


def frame(times, first=0):
    people = [f"u{at % 7}" for at in range(first, first + len(times))]
    return pl.DataFrame({"user": people, "item": [f"i{at % 9}" for at in range(len(times))], "time": list(times)})


def in_unit(unit):
    return [one * UNITS[unit] for one in MOMENTS]


def dates():
    return [datetime.fromtimestamp(one / 1000, UTC) for one in MOMENTS]


def forms():
    yield from (frame(in_unit(unit)) for unit in UNITS)
    yield frame(dates())
    yield frame([one.isoformat() for one in dates()])
    yield frame([str(one) for one in MOMENTS])
    yield frame(MOMENTS).to_pandas().assign(time=pd.to_datetime(np.array(MOMENTS), unit="ms"))


def test_the_same_dates_in_any_unit_are_the_same_data():
    loaded = [load(one, half_life="30d") for one in forms()]
    pairs = frame(MOMENTS)
    made = Interactions.from_pairs(pairs["user"].to_list(), pairs["item"].to_list(), times=in_unit("ms"))
    assert {one.source["latest"] for one in loaded} == {MOMENTS[-1] / 1000}
    assert len({one.fingerprint for one in loaded}) == 1
    assert made.fingerprint == load(frame(dates())).fingerprint


def test_counters_stay_what_they_are():
    assert load(frame(range(ROWS))).times.tolist() == list(range(ROWS))
    assert Interactions.from_pairs(["a", "b"], ["x", "y"], times=[10**6, 5]).times.tolist() == [10**6, 5]


@pytest.mark.parametrize("other", ["s", "us", "text"])
def test_files_by_type_may_have_times_in_units_of_their_own(other, tmp_path):
    frame(MOMENTS).write_csv(tmp_path / "v.csv")
    times = [f"{one:%Y-%m-%d %H:%M:%S}" for one in dates()] if other == "text" else in_unit(other)
    frame(times, 3).write_csv(tmp_path / "b.csv")
    files = {"view": tmp_path / "v.csv", "buy": tmp_path / "b.csv"}
    data = load(files, weights={"view": 1, "buy": 10}, half_life="30d")
    assert 1.4e9 < data.times.min() < data.times.max() < 1.5e9
    assert data.weights.max() > 5  # no purchase lost its weight


def test_files_of_a_folder_and_of_a_store_may_have_times_in_units_of_their_own(tmp_path):
    (tmp_path / "events").mkdir()
    frame(MOMENTS).write_csv(tmp_path / "events" / "a.csv")
    frame([one.isoformat() for one in dates()], 3).write_csv(tmp_path / "events" / "b.csv")
    corml.build_store([tmp_path / "events"], tmp_path / "s")
    data, stored = load(tmp_path / "events"), load(tmp_path / "s")
    assert 1.4e9 < data.times.min() < data.times.max() < 1.5e9
    assert data.fingerprint == stored.fingerprint


def test_dates_and_numbers_in_one_column_are_brought_together():
    times = [str(one) if at % 2 else dates()[at].isoformat() for at, one in enumerate(MOMENTS)]
    assert load(frame(times)).fingerprint == load(frame(MOMENTS)).fingerprint


def test_counters_and_dates_are_not_mixed(tmp_path):
    counters = [100_000 * (at + 1) for at in range(ROWS)]
    frame(MOMENTS).write_csv(tmp_path / "a.csv")
    frame(counters).write_csv(tmp_path / "b.csv")
    what = r"The times of .*b\.csv' are numbers that are no dates, such as 4000000, and those of .*a\.csv' are dates"
    with pytest.raises(DataError, match=what):
        load({"view": tmp_path / "a.csv", "buy": tmp_path / "b.csv"})
    with pytest.raises(DataError, match=what):
        corml.build_store([tmp_path / "a.csv", tmp_path / "b.csv"], tmp_path / "s")
    model = ItemKNN().fit(load(frame(MOMENTS)))
    with pytest.raises(UsageError, match="times of the model's data are dates and the new ones numbers that are no"):
        model.update(load(frame(range(5)), as_update=True))


def test_an_update_in_another_unit_leaves_old_events_as_old_as_they_are():
    model = ItemKNN().fit(load(frame(dates()), half_life="30d"))
    later = [one + 86_400_000 * ROWS for one in MOMENTS]
    new = model.update(load(frame(later), half_life="30d", as_update=True))
    together = load(pl.concat([frame(MOMENTS), frame(later)]), half_life="30d")
    assert new.fitted_.added.data.source["latest"] == together.source["latest"]
    assert new.fitted_.added.data.times.max() - new.fitted_.added.data.times.min() < 86_400 * 2 * ROWS


def test_a_file_by_type_without_a_weight_is_named(tmp_path):
    frame(MOMENTS).write_csv(tmp_path / "a.csv")
    with pytest.raises(DataError, match=r"a\.csv' has events without a weight: 'view': give it a number"):
        load({"view": tmp_path / "a.csv", "buy": frame(MOMENTS)}, weights={"buy": 1})
    with pytest.raises(DataError, match="The frame of buy has events without a weight"):
        load({"view": tmp_path / "a.csv", "buy": frame(MOMENTS)}, weights={"view": 1})
