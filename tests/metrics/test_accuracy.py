"""What the accuracy metrics have in common."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corml.evaluation.metrics import Lists

ACCURACY = ["ndcg", "mrr", "recall", "capped_recall", "precision", "hit_rate", "map"]
each = pytest.mark.parametrize("name", ACCURACY)


@pytest.mark.parametrize("name", ["ndcg", "mrr", "capped_recall", "hit_rate", "map"])
@pytest.mark.parametrize("relevant", [1, 3, 10, 40])
def test_the_best_order_has_one_however_many_targets_there_are(value, name, relevant):
    ranks = np.arange(10)[None]
    lists = Lists(ranks, ranks < relevant, np.array([relevant]), np.ones(50, int), 9)
    assert value(f"{name}@10", lists) == pytest.approx(1)


@each
def test_no_hit_is_zero(value, name):
    lists = Lists(np.arange(10)[None], np.zeros((1, 10), bool), np.array([4]), np.ones(50, int), 9)
    assert value(f"{name}@10", lists) == 0


@each
@given(seed=st.integers(0, 2**32), rank=st.integers(1, 19))
def test_moving_a_hit_up_never_lowers_it(random_lists, value, name, seed, rank):
    lists, _ = random_lists(seed, users=10)
    order = np.arange(20)
    order[[rank - 1, rank]] = rank, rank - 1
    swapped = dataclasses.replace(lists, items=lists.items[:, order], hits=lists.hits[:, order])
    up = lists.hits[:, rank] & ~lists.hits[:, rank - 1]
    for k in (1, 5, 20):
        before, after = value(f"{name}@{k}", lists), value(f"{name}@{k}", swapped)
        assert (after[up] >= before[up] - 1e-12).all()


@pytest.mark.parametrize("name", ["recall", "hit_rate", "mrr"])
@given(seed=st.integers(0, 2**32), k=st.integers(1, 19))
def test_a_longer_list_never_finds_less(random_lists, value, name, seed, k):
    lists, _ = random_lists(seed, users=10, short=True)
    assert (value(f"{name}@{k + 1}", lists) >= value(f"{name}@{k}", lists)).all()


@each
@given(seed=st.integers(0, 2**32))
def test_what_stands_below_the_cut_does_not_count(random_lists, value, name, seed):
    lists, _ = random_lists(seed, users=10)
    cut = dataclasses.replace(lists, items=lists.items[:, :7], hits=lists.hits[:, :7])
    np.testing.assert_array_equal(value(f"{name}@7", lists), value(f"{name}@7", cut))
