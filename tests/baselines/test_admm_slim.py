"""ADMM-SLIM: conditions of an optimum, and the models it contains."""

import numpy as np
import pytest
from scipy.sparse import issparse

import corml
from corml.errors import ConvergenceWarning
from corml.models.linear.admm_slim import ADMMSLIM
from corml.models.linear.ease import EASE
from support import random_interactions

PATIENT = {"tol": 1e-6, "max_steps": 5000}


def matrix(model):
    W = model.weights_.toarray() if issparse(model.weights_) else model.weights_
    return W.astype(np.float64)


@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize(("l1", "l2"), [(0.0, 5.0), (1.0, 5.0), (2.5, 50.0)])
def test_the_answer_is_feasible_and_optimal(l1, l2, nonnegative):
    data = random_interactions(0, 80, 25)
    B = matrix(ADMMSLIM(l1=l1, l2=l2, nonnegative=nonnegative, **PATIENT).fit(data))
    G = (data.matrix.T @ data.matrix).toarray().astype(np.float64)
    slope = G - G @ B - l2 * B
    off = ~np.eye(len(B), dtype=bool)

    assert not np.diag(B).any()
    assert np.abs((slope - l1 * np.sign(B))[off & (B != 0)]).max() < 0.02  # no gain from moving a weight
    assert slope[off & (B == 0)].max(initial=0) < l1 + 0.02  # nor from one that is not there
    if nonnegative:
        assert (B >= 0).all()
    else:
        assert (B < 0).any() == (l1 < 2)
        assert slope[off & (B == 0)].min(initial=0) > -l1 - 0.02


def test_without_l1_and_signs_it_is_ease():
    data = random_interactions(3, 80, 25)
    found = ADMMSLIM(l1=0, l2=20.0, nonnegative=False, **PATIENT).fit(data)
    np.testing.assert_allclose(matrix(found), EASE(l2=20.0).fit(data).weights_, atol=1e-4)


@pytest.mark.parametrize("rho", [5.0, 50.0, 500.0])
def test_the_step_length_changes_the_speed_not_the_answer(rho):
    data = random_interactions(3, 80, 25)
    found, other = (ADMMSLIM(l1=1.0, l2=20.0, rho=one, **PATIENT).fit(data) for one in (rho, None))
    np.testing.assert_allclose(matrix(found), matrix(other), atol=5e-4)


def test_item_norm_is_the_problem_of_scaled_items():
    data, t, l2 = random_interactions(3, 80, 25), 0.4, 3.0
    B = matrix(ADMMSLIM(l1=0, l2=l2, item_norm=t, nonnegative=False, **PATIENT).fit(data))
    d = np.bincount(data.matrix.indices) / np.bincount(data.matrix.indices).mean()
    N = data.matrix.toarray() / d**t
    P = np.linalg.inv(N.T @ N + l2 * np.eye(len(d)))
    expected = (np.eye(len(d)) - P / np.diag(P)) * d[None, :] ** t / d[:, None] ** t
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(B, expected, atol=1e-3)


def test_a_matrix_of_mostly_zeros_is_kept_sparse_and_survives_a_file(tmp_path):
    data = random_interactions(3, 80, 25)
    sparse, dense = ADMMSLIM(l1=3.0).fit(data), ADMMSLIM(l1=0, nonnegative=False).fit(data)
    assert issparse(sparse.weights_)
    assert not issparse(dense.weights_)
    for model in (sparse, dense):
        model.save(tmp_path / "model.corml")
        np.testing.assert_array_equal(matrix(corml.read_model(tmp_path / "model.corml")), matrix(model))


def test_stopping_early_warns(data):
    with pytest.warns(ConvergenceWarning, match="stopped after 2 steps"):
        ADMMSLIM(max_steps=2, tol=1e-9).fit(data)
    ADMMSLIM(max_steps=2, tol=0).fit(data)  # asked for
