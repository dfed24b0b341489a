"""Claims about the answer of problem H: no stored numbers, no reference solver."""

import tracemalloc

import numpy as np
import pytest

from corml.errors import NumericalError
from corml.linalg.sparse import column_degrees
from corml.models.corml import dense
from corml.models.corml.dense import DenseProblem, _project, dense_problem, solve
from corml.models.corml.problem import Weights, singular_vectors
from support import random_interactions


def problem_of(weights, seed=0, dtype=np.float64, users=60, items=30, clip=True):
    R = random_interactions(seed, users, items).matrix
    return dense_problem(R, column_degrees(R), singular_vectors(R, 4), weights, clip=clip, dtype=dtype)


def solved(problem, **options):
    return solve(DenseProblem(problem.M.copy(), problem.B), **{"tol": 1e-10, "max_steps": 20_000, **options})


WEIGHTS = [
    Weights(mix=0.8, item_norm=0.1, scale=1.0, user_norm=0.0, l2=1.0, ridge=5.0),
    Weights(mix=0.6, item_norm=-0.2, scale=0.1, user_norm=0.5, l2=0.0, ridge=1.0),
    Weights(mix=1.0, item_norm=0.0, scale=1.0, user_norm=1.0, l2=0.1, ridge=0.0),
]


@pytest.fixture(scope="module", params=WEIGHTS, ids=["usual", "novel", "no filter"])
def problem(request):
    return problem_of(request.param)


def test_the_solution_is_feasible_and_optimal(problem):
    H = solved(problem).H
    gradient = problem.M @ H - problem.B
    gradient = (gradient + gradient.T) / 2
    pairs = ~np.eye(len(H), dtype=bool)
    size = np.abs(problem.B).max()

    assert np.array_equal(H, H.T)
    assert (H >= 0).all()
    assert not np.diag(H).any()
    assert (H > 0).sum() > 20
    assert np.abs(gradient[pairs & (H > 0)]).max() < 1e-6 * size  # no gain from moving a positive weight
    assert gradient[pairs & (H == 0)].min() > -1e-6 * size  # no gain from raising a zero one


@pytest.mark.parametrize("rho", [1.0, 30.0, 1000.0])
def test_the_step_length_changes_the_speed_not_the_answer(problem, rho):
    np.testing.assert_allclose(solved(problem, rho=rho).H, solved(problem).H, atol=1e-7)


def test_the_suggested_step_length_is_nearly_the_fastest(problem):
    steps = {rho: solved(problem, rho=rho, tol=1e-6).steps for rho in (None, 0.1, 1.0, 10.0, 100.0, 1000.0)}
    assert steps[None] <= 3 * min(steps.values())


def test_items_that_never_meet_have_no_weight(problem):
    H = solved(problem).H
    R = random_interactions(0, 60, 30).matrix
    never = (R.T @ R).toarray() == 0
    assert never.any()
    assert not H[never].any()


def test_single_precision_agrees_with_double():
    weights = WEIGHTS[0]
    double = solved(problem_of(weights)).H
    single = solved(problem_of(weights, dtype=np.float32), tol=1e-6, max_steps=5000).H
    np.testing.assert_allclose(single, double, atol=1e-4 * double.max())


def test_a_fixed_number_of_steps_is_exactly_that():
    solution = solved(problem_of(WEIGHTS[0]), tol=0, max_steps=7)
    assert solution.steps == len(solution.trace) == 7
    assert not solution.converged


def test_expected_steps_converge_to_the_steps_taken():
    told = []
    solution = solved(problem_of(WEIGHTS[0]), tol=1e-6, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (solution.steps, solution.steps)
    assert all(done <= total <= 20_000 for done, total in told)
    halfway = told[len(told) // 2][1]
    assert 0.5 * solution.steps <= halfway <= 2 * solution.steps


def test_without_a_positive_linear_term_h_is_zero():
    solution = solved(DenseProblem(np.eye(4), -np.ones((4, 4))))
    assert not solution.H.any()
    assert solution.converged


def test_an_infinite_entry_raises_an_error_with_the_step():
    B = np.ones((3, 3))
    B[0, 1] = np.inf
    with pytest.raises(NumericalError, match="step 1"), np.errstate(invalid="ignore"):
        solve(DenseProblem(np.eye(3), B))


def test_at_most_seven_square_arrays_are_alive():
    n = 1500
    R = random_interactions(1, users=400, items=n, mean=20).matrix
    d, V = column_degrees(R), singular_vectors(R, 8)
    tracemalloc.start()
    problem = dense_problem(R, d, V, WEIGHTS[0], dtype=np.float32)
    solve(problem, max_steps=2, tol=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak <= 7 * n * n * 4


@pytest.mark.parametrize("tile", [3, 5, 1024])
def test_how_far_the_projection_moved_does_not_depend_on_tiles(tile, monkeypatch):
    monkeypatch.setattr(dense, "TILE", tile)
    S, before = np.random.default_rng(0).normal(size=(2, 8, 8))
    before = np.maximum(before + before.T, 0)
    Z = before.copy()
    moved = _project(S, Z, 1.0)
    np.testing.assert_allclose(Z, np.maximum((S + S.T) / 2, 0))
    assert moved == pytest.approx(np.linalg.norm(Z - before))
