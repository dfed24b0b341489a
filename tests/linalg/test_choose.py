"""Lists out of candidates: the fast way gives what comparing all with all gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from corml.linalg.choose import choose
from corml.linalg.closeness import Closeness
from slow_lists import one_list


def problem(seed, items=14, negative=True):
    """Whole numbers, so that nothing depends on rounding; many are equal."""
    rng = np.random.default_rng(seed)
    scores = np.sort(rng.integers(-4 if negative else 0, 9, items))[::-1].astype(np.float32)
    close = np.triu(rng.integers(-2, 5, (items, items)) * (rng.random((items, items)) < 0.5), 1)
    close = (close + close.T).astype(np.float64)
    categories = [sorted(rng.choice(4, rng.integers(0, 3), replace=False)) for _ in range(items)]
    pattern = np.zeros((items, 4))
    for item, own in enumerate(categories):
        pattern[item, own] = 1
    order = rng.permutation(items)  # which item stands at which place
    return rng, scores, close, categories, pattern, order


@given(
    seed=st.integers(0, 2**32),
    k=st.integers(1, 8),
    pool=st.integers(1, 14),
    diversity=st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]),
    limited=st.booleans(),
    blocked=st.sampled_from([0, 0.3, 0.9]),
)
def test_lists_are_those_of_comparing_all_with_all(seed, k, pool, diversity, limited, blocked):
    rng, scores, close, categories, pattern, order = problem(seed)
    gone = rng.random(len(order)) < blocked
    caps = rng.integers(1, 3, 4)
    length = rng.integers(1, len(order) + 1)
    columns = np.where(np.arange(len(order)) < length, order, -1)
    places = choose(
        columns[None],
        scores[None],
        gone[None],
        k,
        pool=pool,
        diversity=diversity,
        closeness=Closeness(np.ones(len(order), np.float32), csr_array(close)),
        categories=(csr_array(pattern), caps.astype(np.int64)) if limited else None,
    )[0]
    values = dict(zip(order.tolist(), scores.astype(np.float64), strict=True))
    expected = one_list(
        [int(item) for item, away in zip(columns[:length], gone[:length], strict=True) if not away],
        values,
        k,
        diversity=diversity,
        pool=pool,
        close=close,
        categories=categories if limited else None,
        caps=caps,
    )
    assert columns[places[places >= 0]].tolist() == expected
    assert (places[len(expected) :] == -1).all()


@pytest.mark.parametrize("diversity", [0.0, 0.4, 1.0])
def test_the_best_item_stays_the_first(diversity):
    rng = np.random.default_rng(1)
    columns = np.stack([rng.permutation(30) for _ in range(20)])
    scores = np.sort(rng.random((20, 30)).astype(np.float32))[:, ::-1]
    close = Closeness.by_users(csr_array(rng.random((50, 30)) < 0.3, dtype=np.float32))
    free = np.zeros(columns.shape, dtype=bool)
    places = choose(columns, scores, free, 5, pool=25, diversity=diversity, closeness=close)
    assert (places[:, 0] == 0).all()
    if diversity == 0:
        assert (places == np.arange(5)).all()


def test_rows_are_independent():
    rng = np.random.default_rng(2)
    columns = np.stack([rng.permutation(40) for _ in range(200)])
    scores = np.sort(rng.random((200, 40)).astype(np.float32))[:, ::-1]
    categories = csr_array(np.eye(5)[rng.integers(0, 5, 40)]), np.full(5, 2)
    close = Closeness.by_users(csr_array(rng.random((50, 40)) < 0.3, dtype=np.float32))
    how = {"pool": 20, "diversity": 0.5, "closeness": close, "categories": categories}
    free = np.zeros(columns.shape, dtype=bool)
    together = choose(columns, scores, free, 8, **how)
    alone = [choose(columns[[row]], scores[[row]], free[[row]], 8, **how)[0] for row in range(0, 200, 17)]
    assert (together[::17] == alone).all()


def test_greedy_is_optimal_for_one_category_per_item_only():
    """The first of three items has both categories: it is taken, although the two others together score more."""
    pattern = csr_array(np.array([[1, 1], [1, 0], [0, 1]]))
    scores = np.array([[5.0, 4.0, 4.0]], dtype=np.float32)
    places = choose(np.arange(3)[None], scores, np.zeros((1, 3), bool), 2, categories=(pattern, np.ones(2, np.int64)))
    assert places.tolist() == [[0, -1]]  # the best first item, not the best sum: that would be 1 and 2

    rng = np.random.default_rng(3)
    for _ in range(50):
        kinds, values = rng.integers(0, 3, 7), np.sort(rng.random(7).astype(np.float32))[::-1]
        single = csr_array(np.eye(3)[kinds]), np.full(3, 2, dtype=np.int64)
        (row,) = choose(np.arange(7)[None], values[None], np.zeros((1, 7), bool), 4, categories=single)
        sums = [
            values[list(subset)].sum()
            for subset in (np.flatnonzero([int(bit) for bit in f"{code:07b}"]) for code in range(128))
            if len(subset) <= 4 and np.bincount(kinds[list(subset)], minlength=3).max() <= 2
        ]
        assert values[row[row >= 0]].sum() == pytest.approx(max(sums))
