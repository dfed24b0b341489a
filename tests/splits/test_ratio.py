import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corml.data.interactions import Interactions
from corml.splits import split
from corml.splits._draw import whole_counts


@pytest.mark.parametrize(
    ("total", "counts"),
    [(0, [0, 0, 0]), (1, [1, 0, 0]), (2, [1, 0, 1]), (3, [2, 0, 1]), (4, [2, 1, 1]), (5, [3, 1, 1]), (10, [6, 2, 2])],
)
def test_small_totals_are_shared_as_documented(total, counts):
    assert whole_counts(np.array([total]), (0.6, 0.2, 0.2)).tolist() == [counts]


@given(
    totals=st.lists(st.integers(0, 500), min_size=1, max_size=5),
    weights=st.tuples(st.integers(1, 40), st.integers(0, 20), st.integers(0, 20)),
)
def test_counts_sum_to_the_total_stay_near_the_shares_and_leave_train_something(totals, weights):
    shares = tuple(weight / sum(weights) for weight in weights)
    counts = whole_counts(np.array(totals), shares)
    assert (counts >= 0).all()
    assert counts.sum(axis=1).tolist() == totals
    assert (np.abs(counts - np.outer(totals, shares)) < 1 + 1e-6).all()
    assert all(train >= 1 or total == 0 for train, total in zip(counts[:, 0], totals, strict=True))
    assert all(not counts[:, part].any() for part in (1, 2) if weights[part] == 0)


def test_train_gets_one_even_of_a_tiny_share():
    assert whole_counts(np.array([1, 2]), (0.01, 0.5, 0.49)).tolist() == [[1, 0, 0], [1, 1, 0]]


def test_every_user_keeps_a_train_pair(sample):
    assert split(sample, shares=(0.05, 0.05, 0.9)).train.user_degrees.min() == 1


def test_a_users_parts_do_not_depend_on_other_users_or_items(sample, pairs):
    alone = sample.where(sample.users.labels[sample.user] == "u19").compact()
    everyone, single = split(sample), split(alone)
    for name in ("train", "valid", "test"):
        mine = {pair for pair in pairs(getattr(everyone, name)) if pair[0] == "u19"}
        assert mine == pairs(getattr(single, name))


def test_no_place_and_no_item_is_preferred():
    n_users, n_items = 2000, 10
    data = Interactions.from_pairs(np.repeat(np.arange(n_users), n_items), np.tile(np.arange(n_items), n_users))
    tested = split(data, shares=(0.8, 0.2)).test.item_degrees
    expected, spread = 0.2 * n_users, np.sqrt(n_users * 0.2 * 0.8)
    assert np.abs(tested - expected).max() < 5 * spread


def test_labels_of_any_script_are_split():
    odd = ["007", "7", "7.0", "NA", "\ud800", "😀", "a\0b", "ñ", "n\u0303"]
    data = Interactions.from_pairs(["u"] * len(odd), odd)
    assert len(split(data, shares=(0.5, 0.5)).test) in (4, 5)
