from datetime import UTC, date, datetime

import numpy as np
import pytest

from corml.data.interactions import Interactions
from corml.errors import DataError, DataWarning, SettingError
from corml.splits import read_split, split


@pytest.fixture
def ten():
    """Ten pairs, one at each of the moments 0 to 9, of users a (0–4) and b (5–9)."""
    return Interactions.from_pairs(["a"] * 5 + ["b"] * 5, list(range(10)), times=np.arange(10.0))


def sizes(parts):
    return len(parts.train), len(parts.valid), len(parts.test)


def test_shares_are_of_pairs_in_the_order_of_time(ten):
    parts = split(ten, "temporal")
    assert sizes(parts) == (6, 2, 2)
    assert parts.train.times.max() < parts.valid.times.min() <= parts.valid.times.max() < parts.test.times.min()
    assert parts.procedure["cuts"] == [6.0, 8.0]


def test_a_moment_belongs_to_the_later_part(ten):
    assert sizes(split(ten, "temporal", moments=(4, 6))) == (4, 2, 4)
    assert sizes(split(ten, "temporal", moments=4)) == (4, 0, 6)
    assert sizes(split(ten, "temporal", moments="4, 6")) == (4, 2, 4)
    with pytest.warns(DataWarning, match="moments 100 is after the last time of the data, 9: valid and test are empty"):
        assert sizes(split(ten, "temporal", moments=100)) == (10, 0, 0)


def test_users_without_train_pairs_are_counted(ten):
    counts = split(ten, "temporal", moments=5).counts()
    assert counts["users without train rows"] == 1
    assert counts["cold items"] == 5


def test_pairs_of_one_moment_stay_together():
    data = Interactions.from_pairs(["u"] * 6, list(range(6)), times=[0, 1, 1, 1, 1, 2])
    assert sizes(split(data, "temporal", shares=(0.5, 0.5))) == (1, 0, 5)


def test_an_empty_train_part_is_refused(ten):
    with pytest.raises(DataError, match="No pair is earlier than 0, so train would be empty"):
        split(ten, "temporal", moments=0)
    with pytest.raises(DataError, match="choose a later moment or a larger share"):
        split(Interactions.from_pairs(["u", "v"], ["i", "i"], times=[5, 5]), "temporal")


def test_a_cut_after_everything_can_be_saved_and_verified(ten, tmp_path):
    parts = split(ten, "temporal", shares=(1, 0, 0))
    assert parts.procedure["cuts"] == [None, None]
    parts.save(tmp_path / "s")
    read_split(tmp_path / "s").verify(ten)


def test_shares_and_moments_exclude_each_other(ten):
    with pytest.raises(SettingError, match="shares or moments, not both"):
        split(ten, "temporal", shares=(0.5, 0.5), moments=3)


@pytest.mark.parametrize("moments", [(2, 1), (1, 2, 3), (), float("inf"), float("nan"), "noon", object()])
def test_moments_are_one_or_two_ascending_numbers(ten, moments):
    with pytest.raises(SettingError, match="moments of the split 'temporal' must be one finite number, or two"):
        split(ten, "temporal", moments=moments)


@pytest.fixture
def dated():
    """One pair on each of the first ten days of 2024."""
    start = datetime(2024, 1, 1, tzinfo=UTC).timestamp()
    return Interactions.from_pairs(["a"] * 5 + ["b"] * 5, list(range(10)), times=start + 86_400 * np.arange(10.0))


@pytest.mark.parametrize(
    "moments",
    [
        ("2024-01-05", "2024-01-07"),
        "2024-01-05, 2024-01-07",
        (date(2024, 1, 5), datetime(2024, 1, 7)),
        (datetime(2024, 1, 5, tzinfo=UTC), "2024-01-07T00:00:00+00:00"),
        (1_704_412_800, "1704585600"),
        np.array([1_704_412_800_000, 1_704_585_600_000]),
    ],
)
def test_moments_of_dates_are_given_as_dates(dated, moments):
    parts = split(dated, "temporal", moments=moments)
    assert sizes(parts) == (4, 2, 4)
    assert parts.procedure["moments"] == [1_704_412_800.0, 1_704_585_600.0]
    assert sizes(split(dated, "temporal", moments="2024-01-05")) == (4, 0, 6)
    assert sizes(split(dated, "temporal", moments=date(2024, 1, 5))) == (4, 0, 6)


@pytest.mark.parametrize("moments", ["noon", ("2024-01-07", "2024-01-05"), object(), ("2024-01-05",) * 3])
def test_moments_of_dates_that_cannot_be_meant_name_the_unit(dated, moments):
    match = r"must be one date such as 2024-05-31 \(or seconds since 1970\), or two of which the second is not earlier"
    with pytest.raises(SettingError, match=match):
        split(dated, "temporal", moments=moments)


def test_a_date_as_the_moment_of_times_that_are_no_dates_is_refused(ten):
    with pytest.raises(SettingError, match="the times are no dates; got '2024-01-05'"):
        split(ten, "temporal", moments="2024-01-05")


def test_moments_outside_the_dates_of_the_data_are_named_as_dates(dated):
    with pytest.raises(
        DataError, match=r"than 1970-01-01T00:00:04\+00:00, 4 seconds since 1970, so train would be empty"
    ):
        split(dated, "temporal", moments=4)
    match = (
        r"moments 2025-01-01T00:00:00\+00:00, .* after the last time of the data, 2024-01-10T.*valid and test are empty"
    )
    with pytest.warns(DataWarning, match=match):
        assert sizes(split(dated, "temporal", moments="2025-01-01")) == (10, 0, 0)
