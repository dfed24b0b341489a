import numpy as np
import pytest

from corml.data.interactions import Interactions
from corml.errors import DataError, SettingError
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
