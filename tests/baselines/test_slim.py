"""SLIM: conditions of an optimum, another program's answer, and starts that save time only."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_matrix

import corml
from corml.errors import ConvergenceWarning, UsageError
from corml.linalg import regressions
from corml.models.linear import slim
from corml.models.linear._item_item import chance, ridge
from corml.models.linear.admm_slim import ADMMSLIM
from corml.models.linear.slim import SLIM
from support import random_interactions


def slopes(X, W, l1, l2):
    """Minus the gradient of ½‖X − XW‖² + l2/2·‖W‖² + l1·ΣW: where it is positive, more weight would gain."""
    G = (X.T @ X).toarray().astype(np.float64)
    return G - G @ W - l2 * W - l1


def weights(model):
    return model.weights_.toarray().astype(np.float64)


@given(seed=st.integers(0, 60), l1=st.floats(0, 5), l2=st.floats(0.5, 100))
def test_the_answer_is_feasible_and_optimal(seed, l1, l2):
    data = random_interactions(seed, 60, 25)
    W = weights(SLIM(l1=l1, l2=l2, tol=1e-7, max_steps=100_000).fit(data))
    here = slopes(data.matrix, W, l1, l2)
    off = ~np.eye(len(W), dtype=bool)

    assert not np.diag(W).any()
    assert (W >= 0).all()
    assert np.abs(here[off & (W > 0)]).max(initial=0) < 1e-3  # no gain from moving a positive weight
    assert here[off & (W == 0)].max(initial=-1) < 1e-3  # no gain from raising a zero one


@pytest.mark.parametrize("tol", [0.1, 1e-3, 1e-5])
def test_slopes_are_right_within_the_tolerance_asked_for(tol):
    data = random_interactions(7, 300, 40, mean=10)
    W = weights(SLIM(l1=1, l2=5, tol=tol, max_steps=10_000).fit(data))
    here = slopes(data.matrix, W, 1, 5)
    np.fill_diagonal(here, -1)
    allowed = tol * (slopes(data.matrix, 0 * W, 1, 5) - np.diag(np.full(len(W), np.inf))).max(axis=0) + 1e-4
    assert (here <= allowed).all()
    assert (np.minimum(np.abs(here), W * 5) <= allowed)[W > 0].all()


@pytest.mark.parametrize(("l1", "l2"), [(0.5, 3.0), (2.0, 20.0), (0.1, 50.0)])
def test_it_agrees_with_the_elastic_net_of_scikit_learn(l1, l2):
    linear_model = pytest.importorskip("sklearn.linear_model")
    data = random_interactions(1, 120, 30, mean=8)
    X, users = csc_matrix(data.matrix.astype(np.float64)), data.matrix.shape[0]
    net = linear_model.ElasticNet(
        alpha=(l1 + l2) / users, l1_ratio=l1 / (l1 + l2), positive=True, fit_intercept=False, tol=1e-10, max_iter=10**6
    )  # of our sum over users it takes the mean
    W = weights(SLIM(l1=l1, l2=l2, tol=1e-8, max_steps=100_000).fit(data))
    for item in range(X.shape[1]):
        others = X.toarray()
        others[:, item] = 0
        np.testing.assert_allclose(W[:, item], net.fit(others, X[:, [item]].toarray()[:, 0]).coef_, atol=2e-5)


@pytest.mark.parametrize("l1", [0.0, 1.0, 2.0])
def test_pairs_sharing_at_most_l1_users_have_no_weight(l1):
    data = random_interactions(3, 60, 30)
    other = ADMMSLIM(l1=l1, l2=5.0, tol=1e-7, max_steps=5000).fit(data).weights_  # which looks at all pairs
    G = (data.matrix.T @ data.matrix).toarray()
    assert np.abs((other if isinstance(other, np.ndarray) else other.toarray())[G <= l1]).max() < 1e-4
    assert not SLIM(l1=l1, l2=5.0).fit(data).weights_.toarray()[G <= l1].any()


@pytest.mark.parametrize("other", [{"l1": 3.0}, {"l2": 1.0}, {"l1": 0.0, "l2": 300.0}])
def test_a_warm_start_does_not_change_the_answer(other):
    data = random_interactions(9, 100, 30)
    settings = {"l1": 1.0, "l2": 20.0, "tol": 1e-8, "max_steps": 10_000}
    cold = SLIM(**settings).fit(data)
    warm = SLIM(**settings).fit(data, warm_start=SLIM(**(settings | other)).fit(data))
    np.testing.assert_allclose(warm.weights_.toarray(), cold.weights_.toarray(), atol=1e-5)


def test_a_warm_start_at_the_answer_needs_one_pass():
    data = random_interactions(9, 100, 30)
    settings = {"l1": 1.0, "l2": 20.0, "tol": 1e-3}
    done = SLIM(**settings).fit(data)
    again = SLIM(**settings, max_steps=2).fit(data, warm_start=done)  # one pass to see that all is well would do
    np.testing.assert_allclose(again.weights_.toarray(), done.weights_.toarray(), atol=1e-5)


def test_a_warm_start_is_matched_by_item_ids():
    data = random_interactions(9, 100, 30)
    known = data.items.labels[data.item]
    few = corml.Interactions.from_pairs(data.users.labels[data.user][known != "i0"], known[known != "i0"])
    settings = {"l1": 1.0, "l2": 20.0, "tol": 1e-8, "max_steps": 10_000}
    warm, cold = SLIM(**settings).fit(data, warm_start=SLIM(**settings).fit(few)), SLIM(**settings).fit(data)
    np.testing.assert_allclose(warm.weights_.toarray(), cold.weights_.toarray(), atol=1e-5)


def test_candidates_limit_an_item_to_those_that_gain_most():
    data, l1, l2 = random_interactions(2, 80, 40), 0.5, 5.0
    W = weights(SLIM(l1=l1, l2=l2, candidates=5, tol=1e-7).fit(data))
    G = (data.matrix.T @ data.matrix).toarray()
    gain = np.maximum(G - l1, 0) ** 2 / (np.diag(G)[:, None] + l2)
    np.fill_diagonal(gain, 0)
    for item in range(len(W)):
        used = np.flatnonzero(W[:, item])
        assert len(used) <= 5
        assert gain[used, item].min(initial=np.inf) >= np.sort(gain[:, item])[-5] - 1e-9


@pytest.mark.parametrize("room", [0, 60, 200])
def test_without_room_for_rows_the_answer_is_the_same(room, monkeypatch):
    data = random_interactions(5, 100, 30)
    whole = SLIM(l1=0.5, l2=5.0, tol=1e-7).fit(data).weights_.toarray()
    monkeypatch.setattr(regressions, "CACHE", room)
    np.testing.assert_allclose(SLIM(l1=0.5, l2=5.0, tol=1e-7).fit(data).weights_.toarray(), whole, atol=1e-6)


@pytest.mark.parametrize("full", [0.0, 2.0])
def test_reading_rows_from_a_dense_or_a_sparse_matrix_is_the_same(full, monkeypatch):
    data = random_interactions(5, 100, 60)
    whole = SLIM(l1=0.5, l2=5.0, tol=1e-7).fit(data).weights_
    monkeypatch.setattr(regressions, "FULL", full)
    assert (SLIM(l1=0.5, l2=5.0, tol=1e-7).fit(data).weights_ != whole).nnz == 0


@pytest.mark.parametrize(
    ("full", "room"), [(0.0, 1 << 24), (2.0, 1 << 24), (2.0, 0)], ids=["dense", "sparse", "no room"]
)
def test_items_solved_one_after_another_are_those_solved_apart(full, room, monkeypatch):
    data = random_interactions(5, 100, 60)
    monkeypatch.setattr(regressions, "FULL", full)
    monkeypatch.setattr(regressions, "CACHE", room)
    monkeypatch.setenv("CORML_THREADS", "2")  # 64 parts for 60 items: each is alone
    apart = SLIM(l1=0.5, l2=5.0, tol=1e-7).fit(data).weights_
    monkeypatch.setenv("CORML_THREADS", "1")
    monkeypatch.setattr(regressions, "PARTS", 1)
    assert (SLIM(l1=0.5, l2=5.0, tol=1e-7).fit(data).weights_ != apart).nnz == 0


def test_an_item_that_shares_no_more_than_l1_users_takes_no_candidates_place():
    """With one candidate the answer is (c - l1) / (d + l2) where that gains most, of those that gain at all."""
    data, l1, l2 = random_interactions(2, 80, 40), 4.5, 5.0
    W = weights(SLIM(l1=l1, l2=l2, candidates=1, tol=1e-7).fit(data))
    G = (data.matrix.T @ data.matrix).toarray().astype(np.float64)
    d = np.diag(G).copy()
    np.fill_diagonal(G, 0)
    best = np.maximum(G - l1, 0) / np.sqrt(d[:, None] + l2)
    np.testing.assert_allclose((W * np.sqrt(d[:, None] + l2)).max(axis=0), best.max(axis=0), rtol=1e-5)
    assert (np.count_nonzero(W, axis=0) == (best.max(axis=0) > 0)).all()
    assert 0 < np.count_nonzero(W) < len(W)


def test_stopping_early_warns_once(data):
    with pytest.warns(ConvergenceWarning, match="of 25 items stopped after 1 passes") as told:
        model = SLIM(l1=0.1, l2=0.5, tol=1e-9, max_steps=1).fit(data)
    assert len(told) == 1
    assert model.fitted_.certificates[0].unfinished_items > 0


def test_the_automatic_ridge_is_reported_and_used(data):
    model = SLIM().fit(data)
    assert model.settings_.l2 == ridge(None, data.matrix, slim.TIMES_CHANCE)
    assert (SLIM(l2=model.settings_.l2).fit(data).weights_ != model.weights_).nnz == 0


def test_an_unfitted_warm_start_is_refused(data):
    for wrong in (SLIM(), corml.Popularity().fit(data), 3):
        with pytest.raises(UsageError, match="warm_start must be a fitted SLIM"):
            SLIM().fit(data, warm_start=wrong)


def test_predicted_memory_covers_three_copies_of_the_pairs(data):
    pairs = (data.matrix.T @ data.matrix).nnz
    assert SLIM().plan(data).predicted_bytes >= 3 * 8 * pairs


def test_the_ridge_of_the_data_is_in_proportion_to_what_items_share_by_chance():
    """Of 16 users each has one of two items of 8: the mean degree is 8, so they share 8/√16 give or take."""
    data = corml.Interactions.from_pairs(range(16), [n % 2 for n in range(16)])
    assert chance(data.matrix) == pytest.approx(2)
    assert ridge(None, data.matrix, slim.TIMES_CHANCE) == pytest.approx(2 * slim.TIMES_CHANCE)
