import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corml.data.interactions import Interactions
from corml.errors import SettingError
from corml.splits import split


def of(part):
    return set() if part is None else set(part.user.tolist())


@settings(max_examples=60, deadline=None)
@given(
    degrees=st.lists(st.integers(1, 9), min_size=1, max_size=15),
    weights=st.tuples(st.integers(1, 5), st.integers(0, 5), st.integers(0, 5)),
    given=st.floats(0.01, 0.99),
)
def test_a_new_user_is_in_no_other_part_and_has_a_history_and_targets(degrees, weights, given):
    users = np.repeat(np.arange(len(degrees)), degrees)
    data = Interactions.from_pairs(users, np.concatenate([np.arange(degree) for degree in degrees]))
    shares = tuple(weight / sum(weights) for weight in weights)
    parts = split(data, "new-users", shares=shares, given=given)
    assert of(parts.history) == of(parts.test)
    assert of(parts.valid_history) == of(parts.valid)
    groups = [of(parts.train), of(parts.valid), of(parts.test)]
    assert sum(map(len, groups)) == len(set().union(*groups)) == len(data.users)


def test_shares_are_of_users(sample):
    able = int((sample.user_degrees >= 2).sum())
    parts = split(sample, "new-users", shares=(0.5, 0.25, 0.25))
    held_out = len(of(parts.valid)), len(of(parts.test))
    assert sum(held_out) == pytest.approx(able / 2, abs=1)


def test_the_given_share_is_told():
    data = Interactions.from_pairs(np.repeat(np.arange(10), 10), np.tile(np.arange(10), 10))
    parts = split(data, "new-users", shares=(0.5, 0.5), given=0.3)
    assert set(parts.history.user_degrees[sorted(of(parts.test))]) == {3}
    assert set(parts.test.user_degrees[sorted(of(parts.test))]) == {7}


def test_users_of_one_item_are_learnt_from():
    data = Interactions.from_pairs(["a", "b", "c", "c"], ["i", "j", "i", "j"])
    parts = split(data, "new-users", shares=(0.01, 0, 0.99))
    assert (len(parts.train), parts.history) == (4, None)  # c is the only one able, and train keeps at least one


@pytest.mark.parametrize("given", [0, 1, -0.5, float("nan"), "some", None])
def test_given_is_a_proper_share(given, sample):
    with pytest.raises(SettingError, match="given of the split 'new-users' must be a number between 0 and 1"):
        split(sample, "new-users", given=given)
