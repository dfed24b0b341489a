import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from corml.linalg.bounded import HEAD, Bounded


def pattern(mask):
    pattern = csr_array(mask.astype(np.float32))
    pattern.sort_indices()
    return pattern


def sorted_lists(scores, k, seen, allowed):
    """Every row by score, then by column, without what may not be listed."""
    fine = [[c for c in range(scores.shape[1]) if not s[c] and a[c]] for s, a in zip(seen, allowed, strict=True)]
    return [sorted(row, key=lambda c: (-y[c], c))[:k] for row, y in zip(fine, scores, strict=True)]


@given(
    seed=st.integers(0, 10_000),
    users=st.integers(1, 6),
    items=st.integers(1, 40),
    rank=st.sampled_from([0, 1, HEAD - 1, HEAD, HEAD + 9]),
    k=st.integers(1, 50),
    limited=st.booleans(),
    far=st.booleans(),
    low=st.sampled_from([1, -2]),  # histories may have negative entries
)
def test_bounds_give_what_sorting_every_score_gives(seed, users, items, rank, k, limited, far, low):
    rng = np.random.default_rng(seed)  # whole numbers: sums are exact, and many are equal
    H = rng.integers(0, 3, (items, items)) * (rng.random((items, items)) < 0.3)
    left, right = rng.integers(-2, 3, (2, items, rank))
    if far:  # norms that differ much, so that the search ends early
        right = right * rng.integers(0, 2, (items, 1)) ** 3 * 50
    own, X = (left * right).sum(axis=1), (rng.random((users, items)) < 0.2) * rng.integers(low, 3, (users, items))
    seen, allowed = (X != 0) | (rng.random(X.shape) < 0.2), rng.random(X.shape) < (0.6 if limited else 2)
    bounded = Bounded.of(csr_array(H.astype(np.float32)), left, right, own, noise=0)
    columns, scores, _ = bounded.top_k(pattern(X), k, pattern(seen), pattern(allowed) if limited else None)
    every = X @ (H + left @ right.T) - X * own
    expected = sorted_lists(every, k, seen, allowed)
    assert [[c for c in row if c >= 0] for row in columns.tolist()] == expected
    assert [row[: len(e)] for row, e in zip(scores.tolist(), expected, strict=True)] == [
        every[row, e].tolist() for row, e in enumerate(expected)
    ]


def test_items_of_the_history_have_no_part_of_their_own_in_their_score():
    left = right = np.array([[1.0], [2.0], [3.0]])
    bounded = Bounded.of(csr_array((3, 3), dtype=np.float32), left, right, np.array([1.0, 4.0, 9.0]), noise=0)
    columns, scores, _ = bounded.top_k(csr_array(np.array([[1.0, 1.0, 0.0]], dtype=np.float32)), 3, None, None)
    assert columns.tolist() == [[2, 0, 1]]
    assert scores.tolist() == [[9.0, 2.0, 2.0]]


def test_noise_counts_as_zero_and_ties_are_in_item_order():
    right = np.array([[0.0], [-1e-9], [1e-9], [1.0]])
    bounded = Bounded.of(csr_array((4, 4), dtype=np.float32), np.ones((4, 1)), right, np.zeros(4), noise=1e-7)
    columns, scores, _ = bounded.top_k(csr_array(np.array([[0, 0, 0, 1.0]], dtype=np.float32)), 4, None, None)
    assert columns.tolist() == [[3, 0, 1, 2]]
    assert scores.tolist() == [[1.0, 0.0, 0.0, 0.0]]


@pytest.mark.parametrize("k", [1, 10])
def test_few_items_are_multiplied_in_full_where_norms_differ(k):
    rng = np.random.default_rng(0)
    right = rng.standard_normal((5000, 64)) * np.exp(-np.arange(5000) / 200)[:, None]
    left = rng.standard_normal((5000, 64))
    bounded = Bounded.of(csr_array((5000, 5000), dtype=np.float32), left, right, np.zeros(5000), noise=0)
    X = csr_array((rng.random((20, 5000)) < 0.002).astype(np.float32))
    _, _, work = bounded.top_k(X, k, None, None)
    assert work.max() < 1000


def test_identical_items_are_listed_in_item_order():
    rng, n = np.random.default_rng(0), 1000
    H, left, right = (rng.random(shape).astype(np.float32) for shape in ((n, n), (n, 40), (n, 40)))
    H[rng.random(H.shape) < 0.95] = 0
    H, right = np.hstack([H[:, : n // 2]] * 2), np.vstack([right[: n // 2]] * 2)  # item j + 500 is alike item j
    bounded = Bounded.of(csr_array(H), left, right, np.zeros(n), noise=1e-7)
    columns, scores, _ = bounded.top_k(csr_array((rng.random((50, n)) < 0.01).astype(np.float32)), 16, None, None)
    assert (columns[:, 1::2] == columns[:, ::2] + n // 2).all()
    assert (scores[:, 1::2] == scores[:, ::2]).all()


def test_one_list_leaves_nothing_behind_for_the_next():
    rng, n = np.random.default_rng(0), 700
    H = csr_array((rng.random((n, n)) * (rng.random((n, n)) < 0.02)).astype(np.float32))
    bounded = Bounded.of(H, *rng.standard_normal((2, n, 20)), np.zeros(n), noise=0)
    X, excluded = pattern(rng.random((15, n)) < 0.02), pattern(rng.random((15, n)) < 0.3)
    for allowed in (None, pattern(rng.random((15, n)) < 0.3)):
        together, _, _ = bounded.top_k(X, 10, excluded, allowed)
        for row in range(15):
            part = slice(row, row + 1)
            alone, _, _ = bounded.top_k(X[part], 10, excluded[part], None if allowed is None else allowed[part])
            assert alone.tolist() == together[part].tolist()
