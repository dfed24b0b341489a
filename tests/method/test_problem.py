"""The numbers of problem H by hand: how much users count, and what stands on the diagonal."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from corml.errors import ConvergenceWarning, NumericalError
from corml.linalg.sparse import row_degrees
from corml.models.corml.fit import checked
from corml.models.corml.problem import UserWeights, Weights
from corml.models.corml.scoring import gershgorin
from corml.models.fitted import Certificate

R = csr_array(np.array([[1, 1, 1, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0]], dtype=np.float32))


def test_ranking_weights_are_relative_to_the_longest_history_and_losses_to_the_mean():
    """Histories of 4, 1, 1, 2 and 0 items, which counts as 1: the mean is 9/5."""
    users = UserWeights.of(row_degrees(R), user_balance=1.0, user_norm=0.5)
    np.testing.assert_allclose(users.ranking, [1, 2, 2, np.sqrt(2), 2])
    np.testing.assert_allclose(users.loss, np.array([1 / 4, 1, 1, 1 / 2, 1]) * 9 / 5)
    np.testing.assert_allclose(users.both, users.loss * users.ranking)
    assert not users.ranks_alike


def test_with_zero_exponents_all_users_have_weight_one():
    users = UserWeights.of(row_degrees(R), user_balance=0.0, user_norm=0.0)
    assert users.loss.tolist() == users.ranking.tolist() == [1] * 5
    assert users.ranks_alike


def test_factors_of_the_problem_follow_from_the_mix():
    weights = Weights(mix=0.8, item_norm=0.1, scale=2.0, user_norm=0.0, l2=0.5, ridge=3.0)
    assert weights.filter_factor == weights.score_factor == pytest.approx(0.25)
    assert replace(weights, filter_weight=0.4).score_factor == pytest.approx(0.1)
    assert weights.gram_factor == pytest.approx(0.625)
    assert weights.cross_factor == pytest.approx(0.5)
    assert weights.diagonal(np.array([1.0, 4.0])).tolist() == [3.5, 5.0]


def test_the_gershgorin_bound_is_scaled_by_degrees():
    """ω is the largest d^{2t} Σ|H|: here 4^{2·½}·3 = 12, not 1·9."""
    assert gershgorin(np.array([3.0, 9.0]), np.array([4.0, 1.0]), 0.5) == pytest.approx(12)
    assert gershgorin(np.zeros(0), np.zeros(0), 0.5) == 0


def test_the_warning_shows_the_worst_of_several_solves():
    solves = [(7, 0.01, False), (5, 0.2, False), (9, 0.5, True)]
    certificates = tuple(
        Certificate(steps=steps, residual=residual, converged=converged) for steps, residual, converged in solves
    )
    with pytest.warns(ConvergenceWarning, match=r"stopped after 5 steps at a residual of 2\.0e-01") as caught:
        checked(csr_array((2, 2)), certificates, 1e-4)
    assert len(caught) == 1


def test_a_matrix_with_nan_is_refused():
    with pytest.raises(NumericalError, match="not finite"):
        checked(csr_array(np.array([[0, np.nan], [np.nan, 0]])), (), 1e-4)
