"""Mini-batches: every pair once, and negatives that are drawn evenly from what a user has not seen."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import chisquare

from corml.models.neural.training import sampling
from corml.models.neural.training.sampling import Sampler, draw_negatives
from support import random_interactions


def batches(X, seed=0, **shape):
    return list(Sampler(X, **shape)(np.random.default_rng(seed)))


def drawn(X, users, count, seed):
    return draw_negatives(X.indptr, X.indices, X.shape[1], np.asarray(users), count, seed)


@given(seed=st.integers(0, 2**63 - 1), data=st.integers(0, 30), count=st.integers(1, 7))
def test_a_negative_was_never_seen(seed, data, count):
    X = random_interactions(data, 30, 9, mean=5).matrix
    users = np.flatnonzero(np.diff(X.indptr) < X.shape[1])
    negatives, seen = drawn(X, users, count, seed), X.toarray() > 0
    assert negatives.shape == (len(users), count)
    assert negatives.min() >= 0
    assert negatives.max() < X.shape[1]
    assert not seen[users[:, None], negatives].any()


def test_negatives_are_uniform_over_what_was_not_seen():
    seen = np.zeros((1, 50), dtype=np.float32)
    seen[0, [0, 7, 8, 31, 49]] = 1
    negatives = drawn(csr_array(seen), np.zeros(3000, dtype=np.int64), 15, seed=3)
    counts = np.bincount(negatives.ravel(), minlength=50)[seen[0] == 0]
    assert chisquare(counts).pvalue > 0.01
    for columns in (negatives[:, 0], negatives[:, -1], negatives[::7].ravel()):  # no position in a batch is special
        assert chisquare(np.bincount(columns, minlength=50)[seen[0] == 0]).pvalue > 0.01


def test_the_only_item_not_seen_is_always_drawn():
    seen = np.ones((1, 200), dtype=np.float32)
    seen[0, 123] = 0
    X = csr_array(seen)
    X.eliminate_zeros()
    assert (drawn(X, [0, 0, 0], 4, seed=9) == 123).all()


@given(data=st.integers(0, 20), size=st.integers(1, 300), count=st.integers(0, 3))
def test_an_epoch_has_every_pair_once(data, size, count):
    X = random_interactions(data, 25, 12).matrix
    epoch = batches(X, size=size, count=count)
    users, items = (np.concatenate([getattr(batch, name) for batch in epoch]) for name in ("users", "items"))
    assert len(epoch) == len(Sampler(X, size=size))
    assert all(len(batch.users) == size for batch in epoch[:-1])
    assert all(batch.negatives.shape == (len(batch.users), count) for batch in epoch)
    able = np.flatnonzero(np.diff(X.indptr) < X.shape[1])
    pairs = csr_array((np.ones(len(users)), (users, items)), shape=X.shape)
    assert pairs.nnz == len(users)
    np.testing.assert_array_equal(pairs.toarray()[able], X.toarray()[able])


def test_pairs_come_in_another_order_in_another_epoch():
    X, rng = random_interactions(1).matrix, np.random.default_rng(0)
    sampler = Sampler(X, size=1000)
    (first,), (second,) = sampler(rng), sampler(rng)
    assert not np.array_equal(first.items, second.items)
    assert not np.array_equal(first.negatives, second.negatives)


def test_a_user_of_every_item_has_no_pair():
    X = csr_array(np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], dtype=np.float32))
    (batch,) = batches(X, size=10, count=2)
    assert set(batch.users) == {1}
    assert (batch.negatives == 1).all()
    assert batches(X[[0, 2]], size=10) == []
    assert len(Sampler(X[[0, 2]], size=10)) == 0


@pytest.mark.parametrize("threads", ["2", "3", "8"])
def test_any_number_of_threads_draws_the_same(threads, monkeypatch):
    X = random_interactions(2, 300, 40).matrix
    users = np.repeat(np.arange(300), 3)
    monkeypatch.setenv("CORML_THREADS", "1")
    alone = drawn(X, users, 5, seed=17)
    monkeypatch.setenv("CORML_THREADS", threads)
    np.testing.assert_array_equal(drawn(X, users, 5, seed=17), alone)


def test_a_seed_decides_everything():
    X = random_interactions(3, 60, 30).matrix
    first, again, other = (batches(X, seed, size=64, count=2) for seed in (5, 5, 6))
    for batch, same in zip(first, again, strict=True):
        np.testing.assert_array_equal(batch.items, same.items)
        np.testing.assert_array_equal(batch.negatives, same.negatives)
    assert not np.array_equal(first[0].negatives, other[0].negatives)


def test_drawing_less_ahead_still_gives_full_batches(monkeypatch):
    X = random_interactions(4, 60, 30).matrix
    monkeypatch.setattr(sampling, "AHEAD", 100)
    sizes = [len(batch.users) for batch in batches(X, size=32, count=2)]
    assert sizes[:-1] == [32] * (len(sizes) - 1)
    assert sum(sizes) == X.nnz


def test_who_has_seen_nearly_everything_has_negatives_as_even_and_as_fast():
    """By trying, one of 20 unseen items among 40,000 would take 2,000 draws."""
    unseen = np.sort(np.random.default_rng(2).permutation(40_000)[:20])
    seen = np.setdiff1d(np.arange(40_000), unseen).astype(np.int32)
    X = csr_array((np.ones(len(seen), np.float32), seen, np.array([0, len(seen)])), shape=(1, 40_000))
    drawn(X, [0], 1, seed=0)  # compiled
    begun = time.process_time()
    negatives = drawn(X, np.zeros(20_000, dtype=np.int64), 10, seed=3)
    assert time.process_time() - begun < 1
    assert np.isin(negatives, unseen).all()
    assert chisquare(np.bincount(np.searchsorted(unseen, negatives.ravel()), minlength=20)).pvalue > 0.01
