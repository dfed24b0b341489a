import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import corml
from corml.models.corml.problem import to_budget
from support import random_interactions


def storage(H):
    """Numbers to store a symmetric H: two for each pair (where, how much), one for each row, and the end."""
    return H.nnz + H.shape[0] + 1


def symmetric(seed, n=20, density=0.5):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.integers(1, 9, size=(n, n)) * (rng.random((n, n)) < density), 1) / 8
    return csr_array((upper + upper.T).astype(np.float32))


@given(seed=st.integers(0, 500), size=st.integers(1, 12), users=st.integers(1, 30))
def test_the_budget_is_kept_and_only_the_smallest_pairs_go(seed, size, users):
    H = symmetric(seed)
    kept = to_budget(H, size, users)
    assert storage(kept) <= max(size * (users + 20), 21)
    assert (kept != kept.T).nnz == 0
    gone = H - kept
    if kept.nnz and gone.nnz:
        assert gone.data.max() <= kept.data.min()


def test_a_matrix_within_the_budget_is_returned_unchanged():
    H = symmetric(0)
    assert to_budget(H, 1000, 10) is H


def test_a_budget_of_nothing_leaves_nothing():
    assert to_budget(symmetric(0), 1, 1).nnz == 0


def test_the_largest_possible_number_of_pairs_is_kept_when_values_differ():
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random((20, 20)), 1)
    H = csr_array(upper + upper.T)
    kept = to_budget(H, 3, 40)
    assert kept.nnz == (3 * 60 - 21) // 2 * 2


def test_pruning_prefers_pairs_of_popular_items():
    H = csr_array((np.ones((20, 20)) - np.eye(20)).astype(np.float32))
    degrees = np.arange(1.0, 21.0)
    kept = to_budget(H, 3, 40, degrees).toarray()
    product = np.outer(degrees, degrees)
    assert (kept == kept.T).all()
    assert product[kept > 0].min() >= product[(kept == 0) & ~np.eye(20, dtype=bool)].max()


@pytest.mark.parametrize(("weight", "stays"), [(1 / 3, True), (1 / 5, False)])
def test_popularity_counts_as_the_fourth_root_of_both_degrees(weight, stays):
    """Between items of 16 users a weight counts (16 · 16)^¼ = 4 times one between items of a single user."""
    H = np.zeros((4, 4), dtype=np.float32)
    H[0, 1] = H[1, 0] = weight
    H[2, 3] = H[3, 2] = 1
    kept = to_budget(csr_array(H), 1, 3, np.array([16.0, 16.0, 1.0, 1.0])).toarray()
    assert np.count_nonzero(kept) == 2
    assert (kept[0, 1] > 0) == stays


def test_after_pruning_the_remaining_pairs_are_solved_again():
    data = random_interactions(0, 300, 80, 8)
    settings = {"solver": "sparse", "rank": 8, "ridge": 3.0, "tol": 1e-6}
    whole, small = corml.CoRML(**settings).fit(data), corml.CoRML(budget=3, **settings).fit(data)
    cut = to_budget(whole.H_, 3, 300, whole.degrees_)
    (before,), (after,) = whole.fitted_.certificates, small.fitted_.certificates
    assert storage(small.H_) <= 3 * sum(data.shape)
    assert after.pruned == before.pairs - cut.nnz // 2
    assert after.report()["pruned"] == after.pruned
    assert before.objective < after.objective < 0
    assert small.H_.sum() > cut.sum()
    small._check_state()


def test_the_budget_setting_limits_the_size_of_h(data):
    small = corml.CoRML(budget=1).fit(data)
    assert storage(small.H_) <= sum(data.shape)
    assert storage(corml.CoRML().fit(data).H_) > sum(data.shape)


def test_pruning_does_not_change_what_it_was_given():
    H = symmetric(1)
    before = H.copy()
    to_budget(H, 1, 30)
    assert (H != before).nnz == 0
