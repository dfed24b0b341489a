import dataclasses

import numpy as np
import pytest

from corml.data.interactions import Interactions
from corml.errors import DataError, SettingError
from corml.splits import split


def user_with(times, name="u"):
    return Interactions.from_pairs([name] * len(times), [f"at {t}" for t in times], times=times)


def items(part):
    return sorted(part.items.labels[part.item])


def test_the_last_is_tested_and_the_one_before_validates():
    parts = split(user_with([3, 1, 4, 2]), "leave-last")
    assert (items(parts.train), items(parts.valid), items(parts.test)) == (["at 1", "at 2"], ["at 3"], ["at 4"])


@pytest.mark.parametrize(("n", "held_out"), [(1, 1), (2, 2), (3, 0)])
def test_users_with_too_few_pairs_keep_everything_in_train(n, held_out):
    parts = split(user_with(range(5)), "leave-last", n=n)
    assert (len(parts.valid), len(parts.test)) == (held_out, held_out)


def test_holding_out_none_holds_out_none(sample):
    parts = split(sample, "leave-last", n=0)
    assert len(parts.train) == len(sample)


def test_valid_has_its_own_number():
    parts = split(user_with(range(6)), "leave-last", n=2, n_valid=0)
    assert (items(parts.test), len(parts.valid), len(parts.train)) == (["at 4", "at 5"], 0, 4)
    parts = split(user_with(range(6)), "leave-last", n=0, n_valid=1)
    assert (items(parts.valid), len(parts.test)) == (["at 5"], 0)


def test_of_equal_times_the_later_row_is_the_later():
    data = Interactions.from_pairs(["u"] * 3, ["c", "a", "b"], times=[1, 1, 1])
    parts = split(data, "leave-last")
    assert (items(parts.train), items(parts.valid), items(parts.test)) == (["c"], ["a"], ["b"])


def test_nothing_held_out_is_earlier_than_what_is_learnt(sample):
    parts = split(sample, "leave-last", n=2)
    for user in np.unique(parts.test.user):
        latest = parts.train.times[parts.train.user == user].max()
        assert latest < parts.valid.times[parts.valid.user == user].min()
        assert parts.valid.times[parts.valid.user == user].max() < parts.test.times[parts.test.user == user].min()


@pytest.mark.parametrize("how", ["leave-last", "temporal"])
def test_times_are_needed(how):
    with pytest.raises(DataError, match=rf"The split '{how}' needs the time of each pair.*time= \(--time\)"):
        split(Interactions.from_pairs(["u"], ["i"]), how)


@pytest.mark.parametrize("how", ["leave-last", "temporal"])
def test_a_missing_time_is_named(how):
    data = dataclasses.replace(Interactions.from_pairs(["u", "v"], ["i", "j"]), times=np.array([1, np.nan]))
    with pytest.raises(DataError, match=r"1 pairs have no time \(the first: 'v', 'j'\)"):
        split(data, how)


@pytest.mark.parametrize("n", [-1, 1.5, "all"])
def test_the_number_held_out_is_whole(n, sample):
    with pytest.raises(SettingError, match="n of the split 'leave-last' must be a whole number"):
        split(sample, "leave-last", n=n)
