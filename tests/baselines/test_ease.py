"""EASE: the closed form is the minimum, and the two routes say the same where they must."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import issparse

import corml
from corml.linalg import regressions, spd
from corml.models.linear import ease
from corml.models.linear._item_item import largest_of_columns, ridge
from corml.models.linear.ease import EASE
from support import random_interactions


def slope(X, W, l2):
    """Half the gradient of ‖X − XW‖² + l2·‖W‖²."""
    G = (X.T @ X).toarray().astype(np.float64)
    return G @ W - G + l2 * W


@pytest.mark.parametrize("l2", [1.0, 30.0, 1000.0])
def test_no_weight_off_the_diagonal_could_be_better(l2):
    X = random_interactions(0, 80, 30).matrix
    W = EASE(l2=l2).fit(random_interactions(0, 80, 30)).weights_.astype(np.float64)
    off = ~np.eye(len(W), dtype=bool)
    assert not np.diag(W).any()
    assert np.abs(slope(X, W, l2)[off]).max() < 1e-4 * l2 + 1e-3


def test_each_item_is_regressed_on_all_others_alone():
    data = random_interactions(4, 60, 20)
    X, W = data.matrix.toarray(), EASE(l2=7.0).fit(data).weights_
    for item in range(X.shape[1]):
        others = np.delete(X, item, axis=1)
        w = np.linalg.solve(others.T @ others + 7 * np.eye(others.shape[1]), others.T @ X[:, item])
        np.testing.assert_allclose(np.delete(W[:, item], item), w, atol=1e-5)


@given(seed=st.integers(0, 40), l2=st.floats(0.5, 500))
def test_with_all_items_as_candidates_the_routes_agree(seed, l2):
    data = random_interactions(seed, 60, 12, mean=8)
    assume(((data.matrix.T @ data.matrix).toarray() > 0).all())  # every pair co-occurs: none is excluded
    dense, local_ = (EASE(l2=l2, route=route).fit(data).weights_ for route in ("dense", "local"))
    np.testing.assert_allclose(local_.toarray(), dense, atol=1e-4)


def test_the_local_route_solves_the_regression_on_the_candidates():
    data, l2 = random_interactions(2, 80, 40), 5.0
    W = EASE(l2=l2, route="local", candidates=6).fit(data).weights_.toarray().astype(np.float64)
    G = (data.matrix.T @ data.matrix).toarray().astype(np.float64)
    gain = G**2 / (np.diag(G)[:, None] + l2)
    np.fill_diagonal(gain, 0)
    here = slope(data.matrix, W, l2)
    for item in range(len(W)):
        used = np.flatnonzero(W[:, item])
        assert len(used) <= 6
        assert np.abs(here[used, item]).max(initial=0) < 1e-3
        assert gain[used, item].min(initial=np.inf) >= np.sort(gain[:, item])[-6] - 1e-9


@pytest.mark.parametrize("band", [1, 3, 100])
def test_bands_of_items_do_not_change_the_local_answer(band, monkeypatch):
    data = random_interactions(2, 80, 40)
    whole = EASE(route="local", candidates=9).fit(data).weights_.toarray()
    monkeypatch.setattr(regressions, "BAND", band)
    np.testing.assert_allclose(EASE(route="local", candidates=9).fit(data).weights_.toarray(), whole, atol=1e-6)


def test_panels_do_not_change_the_dense_answer(monkeypatch):
    data = random_interactions(5, 90, 50)
    whole = EASE().fit(data).weights_
    monkeypatch.setattr(spd, "LARGEST_LAPACK", 16)
    np.testing.assert_allclose(EASE().fit(data).weights_, whole, atol=1e-6)


@pytest.mark.parametrize("route", ["dense", "local"])
def test_neighbours_keep_the_largest_weights_of_each_item(route):
    data = random_interactions(1, 80, 40)
    every = EASE(route=route, candidates=20).fit(data).weights_
    few = EASE(route=route, candidates=20, neighbours=4).fit(data).weights_
    whole = every.toarray() if issparse(every) else every
    assert issparse(few)
    for full, kept in zip(whole.T, few.toarray().T, strict=True):
        largest = np.sort(np.abs(full))[::-1][:4]
        np.testing.assert_array_equal(np.sort(np.abs(kept))[::-1][:4], largest)
        np.testing.assert_array_equal(kept[kept != 0], full[kept != 0])
        assert np.count_nonzero(kept) <= 4


def test_the_largest_weights_of_a_column_may_be_negative():
    W = np.array([[0, -5, 1], [-4, 0, -2], [3, 1, 0], [1, 2, -9]], dtype=np.float32)
    largest = largest_of_columns(W, 2)
    assert largest.toarray().tolist() == [[0, -5, 0], [-4, 0, -2], [3, 0, 0], [0, 2, -9]]
    assert largest_of_columns(W, 9).toarray().tolist() == W.tolist()


def test_a_file_whose_items_recommend_themselves_is_refused(tmp_path, data):
    model = EASE().fit(data)
    model.weights_[3, 3] = 1
    with pytest.raises(corml.CormlError, match="not zero on the diagonal"):
        model.save(tmp_path / "model.corml")


def test_the_automatic_ridge_is_reported_and_used(data):
    model = EASE().fit(data)
    assert model.l2 is None
    assert model.settings_.l2 == model.fitted_.plan.l2 == ridge(None, data.matrix, ease.TIMES_CHANCE)
    np.testing.assert_array_equal(EASE(l2=model.settings_.l2).fit(data).weights_, model.weights_)


def test_where_the_dense_route_does_not_fit_or_takes_long_the_local_one_is_taken(data, monkeypatch):
    assert EASE().plan(data).route == "dense"
    with monkeypatch.context() as patch:
        patch.setattr(ease, "MAX_DENSE_ITEMS", 24)
        assert EASE().plan(data).route == "local"
    monkeypatch.setattr(ease, "dense_bytes", lambda X, neighbours: 1 << 60)
    assert EASE().plan(data).route == "local"
    assert issparse(EASE().fit(data).weights_)
