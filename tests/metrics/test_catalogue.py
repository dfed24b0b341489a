"""Rarity and catalogue metrics against the plainest possible loops."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corml.errors import UsageError
from corml.evaluation.metrics import Lists

seeds = given(seed=st.integers(0, 2**32), k=st.integers(1, 25))


@seeds
def test_novelty_and_its_kin_equal_their_formulas(random_lists, value, seed, k):
    lists, _ = random_lists(seed, users=7, short=True)
    for user, row in enumerate(lists.items):
        there = [item for item in row[:k] if item >= 0]
        bits = [-math.log2(max(lists.degrees[item], 1) / 7) for item in there]
        shares = [lists.degrees[item] / 7 for item in there]
        size = max(len(there), 1)
        assert value(f"self_information@{k}", lists)[user] == pytest.approx(sum(bits) / size)
        assert value(f"novelty@{k}", lists)[user] == pytest.approx(sum(bits) / math.log2(7) / size)
        assert value(f"popularity@{k}", lists)[user] == pytest.approx(sum(shares) / size)


@seeds
def test_coverage_and_gini_equal_their_definitions(random_lists, value, seed, k):
    lists, _ = random_lists(seed, users=7, short=True)
    shown = [item for row in lists.items for item in row[:k] if item >= 0]
    counts = [shown.count(item) for item in range(lists.n_items)]
    gaps = sum(abs(a - b) for a in counts for b in counts)  # Gini: half the mean difference over the mean
    assert value(f"coverage@{k}", lists) == pytest.approx(len(set(shown)) / lists.n_items)
    expected = gaps / (2 * lists.n_items * max(sum(counts), 1))
    assert value(f"gini@{k}", lists) == pytest.approx(expected, abs=1e-12)


def test_gini_is_near_one_when_one_item_gets_all(value):
    lists = Lists(np.zeros((50, 1), int), np.zeros((50, 1), bool), np.ones(50, int), np.ones(1000, int), 50)
    assert value("gini@1", lists) == pytest.approx(1 - 1 / 1000)
    assert value("coverage@1", lists) == 1 / 1000


def test_rarer_items_are_more_novel_and_less_popular(value):
    lists = Lists(np.array([[0], [1]]), np.zeros((2, 1), bool), np.ones(2, int), np.array([90, 3]), 100)
    assert np.diff(value("novelty@1", lists)) > 0
    assert np.diff(value("self_information@1", lists)) > 0
    assert np.diff(value("popularity@1", lists)) < 0


def test_diversity_needs_the_training_users_of_items(by_hand, value):
    with pytest.raises(UsageError, match="without training interactions"):
        value("diversity@3", dataclasses.replace(by_hand, train=None))


@given(seed=st.integers(0, 2**32), k=st.integers(1, 12), short=st.booleans())
def test_diversity_is_the_mean_distance_of_pairs(random_lists, value, seed, k, short):
    lists, _ = random_lists(seed, users=6, short=short)
    X = lists.train.toarray().astype(int)
    expected = []
    for row in lists.items[:, :k]:
        items = row[row >= 0]
        cosines = [
            X[:, a] @ X[:, b] / max(np.sqrt(X[:, a].sum() * X[:, b].sum()), 1)
            for at, a in enumerate(items)
            for b in items[:at]
        ]
        expected.append(1 - np.mean(cosines) if cosines else 0)
    np.testing.assert_allclose(value(f"diversity@{k}", lists), expected, atol=1e-6)
