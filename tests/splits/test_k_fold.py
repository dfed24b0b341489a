import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corml.data.interactions import Interactions
from corml.errors import SettingError
from corml.splits import folds, split


@settings(max_examples=40, deadline=None)
@given(degrees=st.lists(st.integers(1, 12), min_size=1, max_size=6), k=st.integers(2, 6))
def test_every_pair_is_tested_once(degrees, k, pairs):
    users = np.repeat(np.arange(len(degrees)), degrees)
    items = np.concatenate([np.arange(degree) for degree in degrees])
    data = Interactions.from_pairs(users, items)
    tests = [parts.test for parts in folds(data, k)]
    assert len(tests) == k
    assert sum(map(len, tests)) == len(data)
    assert set().union(*map(pairs, tests)) == pairs(data)
    per_user = np.array([test.user_degrees for test in tests])
    assert (per_user.max(axis=0) - per_user.min(axis=0) <= 1).all()


def test_folds_are_even_though_most_users_have_one_item():
    data = Interactions.from_pairs(np.arange(5000), np.arange(5000) % 7)
    sizes = [len(parts.test) for parts in folds(data, 5)]
    assert max(sizes) - min(sizes) < 200


def test_a_fold_can_be_for_validation(sample, pairs):
    parts = split(sample, "k-fold", folds=4, fold=1, valid_fold=2)
    assert pairs(parts.valid) == pairs(split(sample, "k-fold", folds=4, fold=2).test)
    assert pairs(parts.test) == pairs(split(sample, "k-fold", folds=4, fold=1).test)


def test_users_whose_only_pair_is_tested_are_counted():
    data = Interactions.from_pairs(["a", "b", "c"], ["i", "i", "i"])
    counted = [parts.counts()["users without train rows"] for parts in folds(data, 2)]
    assert sum(counted) == 3


def test_no_valid_fold_can_be_said_in_text(sample):
    assert len(split(sample, "k-fold", valid_fold="none").valid) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": 1}, "folds of the split 'k-fold' must be a whole number from 2 to 1,000; got '1'"),
        ({"fold": 5}, "fold of the split 'k-fold' must be a whole number from 0 to 4; got '5'"),
        ({"fold": "x"}, "fold of the split 'k-fold' must be"),
        ({"valid_fold": 9}, "valid_fold of the split 'k-fold' must be"),
        ({"fold": 2, "valid_fold": 2}, "valid_fold of the split 'k-fold' must differ from fold; both are 2"),
    ],
)
def test_folds_out_of_range_are_refused(sample, options, message):
    with pytest.raises(SettingError, match=message):
        split(sample, "k-fold", **options)


def test_a_bad_number_of_folds_is_refused_before_the_first(sample):
    with pytest.raises(SettingError):
        folds(sample, 0)
