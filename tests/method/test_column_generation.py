"""Column generation: what pricing may skip, where each solve begins, and what its certificate rests on."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

import corml
from corml.linalg.normal import Normal, ThroughGram
from corml.linalg.pairs import Conjugate, Support
from corml.models.corml.problem import Weights, singular_vectors
from corml.models.corml.sparse import column_generation, pricing, solver
from corml.models.corml.sparse.column_generation import InMemory
from support import random_interactions

WEIGHTS = Weights(
    mix=0.7, item_norm=0.1, scale=0.5, user_norm=0.5, l2=0.1, ridge=3.0, user_balance=0.6, filter_norm=0.3
)


@pytest.fixture(scope="module")
def R():
    return random_interactions(0, 300, 80, 8).matrix


def work_on(R, rank=8):
    return InMemory(R, singular_vectors(R, 8)[:, :rank], WEIGHTS)


def pair_problem(R, max_per_item=None):
    work = work_on(R)
    pairs = work.co_occurring(max_per_item)
    return work.problem(pairs, work.cross_term(pairs))


def certificate(**settings):
    model = corml.CoRML(solver="sparse", rank=8, **settings).fit(random_interactions(0, 300, 80, 8))
    return model.fitted_.certificates[0]


@pytest.mark.parametrize("rank", [0, 8], ids=["without factors", "with factors"])
def test_pricing_with_bounds_selects_the_same_pairs_as_full_pricing(R, rank, monkeypatch):
    """A bound on the violation skips most pairs of fifteen items in sixteen: never one that would have been kept."""
    problem = pair_problem(R, max_per_item=4)
    solution = solver.solve(problem, complete=False, tol=1e-6)
    kernel, violating = pricing._price, []

    def counting(*given):
        kernel(*given)
        violating.append(given[5][0][:, 1].copy())  # pairs of each item that were found to violate

    def priced(threshold):
        limits = pricing.Limits(threshold=threshold, per_item=80, total=10_000)
        return work_on(R, rank).price(solution.H, problem.item_curvature(), limits)

    monkeypatch.setenv("CORML_THREADS", "1")
    monkeypatch.setattr(pricing, "_price", counting)
    monkeypatch.setattr(pricing, "IN_FULL", R.shape[1] // 16)
    worst = priced(0.0).excluded.worst
    for share in (0.9, 0.5, 0.1):
        sampled = priced(share * worst)
        with monkeypatch.context() as full:
            full.setattr(pricing, "IN_FULL", R.shape[1])
            whole = priced(share * worst)
        skipped = violating[-1] - violating[-2]  # one thread: both are of all items
        assert len(whole.first)
        assert whole.first.tolist() == sampled.first.tolist()
        assert whole.second.tolist() == sampled.second.tolist()
        assert whole.excluded.worst == sampled.excluded.worst == worst
        assert whole.excluded.pairs == sampled.excluded.pairs
        assert not skipped[::16].any()
        assert skipped.sum() > 0


def test_column_generation_has_a_largest_number_of_iterations(monkeypatch):
    assert certificate(candidates=3, pair_tol=0.0).column_generation > 2
    monkeypatch.setattr(column_generation, "MAX_ITERATIONS", 2)
    stopped = certificate(candidates=3, pair_tol=0.0)
    assert stopped.column_generation == 2
    assert stopped.excluded.worst > 0


@pytest.mark.parametrize("settings", [{"candidates": 3, "pair_tol": 0.0}, {"budget": 3}], ids=["added", "pruned"])
def test_later_solves_start_from_the_last_solution_and_steps_add_up(settings, monkeypatch):
    solves, plain = [], solver.solve

    def recorded(problem, *, start, **options):
        begin = None if start is None else problem.support.matrix(start.copy())
        solution = plain(problem, start=start, **options)
        solves.append((begin, solution.H.copy(), solution.certificate.steps))
        return solution

    monkeypatch.setattr(solver, "solve", recorded)
    total = certificate(ridge=3.0, adapt=False, **settings)
    assert total.column_generation == len(solves) > 1
    assert total.steps == sum(steps for _, _, steps in solves)
    assert solves[0][0] is None
    for (_, before, _), (begin, _, _) in pairwise(solves):
        stays = begin.toarray() > 0 if "budget" in settings else True  # what was pruned cannot be begun from
        assert begin.nnz > 0
        np.testing.assert_array_equal(begin.toarray(), before.toarray() * stays)


def test_the_authors_filter_is_clipped_by_entry_while_h_is_learned():
    data, settings = random_interactions(0, 300, 80, 8), {"solver": "sparse", "rank": 8, "ridge": 3.0, "mix": 0.5}
    authors, clipped, unclipped = (
        corml.CoRML(filter=name, **settings).fit(data).H_ for name in ("authors", "elementwise", "factored")
    )
    assert (authors != clipped).nnz == 0
    assert np.abs((authors - unclipped).toarray()).max() > 0.01 * clipped.data.max()


@pytest.mark.parametrize(("times", "converged"), [(1.5, True), (3.0, False)])
def test_converged_allows_twice_the_tolerance_after_rounding(R, times, converged):
    """The last gradient is made afresh, so its residual may be a little above that of the gradient that was updated."""
    problem = pair_problem(R)
    reached = solver.solve(problem, complete=True, tol=0, max_steps=6).certificate.residual
    again = solver.solve(problem, complete=True, tol=reached / times, max_steps=6).certificate
    assert again.residual == reached
    assert again.converged == converged


def test_the_certificate_uses_a_recomputed_gradient(R, monkeypatch):
    problem = pair_problem(R)

    def careless(problem, at):
        at.gradient[:] = 0
        return 0.0

    monkeypatch.setattr(solver, "advance", careless)
    deceived = solver.solve(problem, complete=True, tol=1e-6).certificate
    assert deceived.steps == 1 + solver.RENEWALS  # each time it was told to go on
    assert deceived.residual > 0.9  # H is still zero
    assert not deceived.converged


def test_conjugate_directions_need_fewer_steps_than_gradients_alone(R, monkeypatch):
    problem, plain = pair_problem(R), Conjugate._turn
    conjugate = solver.solve(problem, complete=True, tol=1e-6).certificate.steps
    monkeypatch.setattr(Conjugate, "_turn", lambda self, _: plain(self, 0.0))
    assert conjugate < 0.8 * solver.solve(problem, complete=True, tol=1e-6).certificate.steps


def test_an_ascent_direction_is_replaced_by_the_gradient(R):
    problem = pair_problem(R)
    at = Conjugate(problem.support, problem.item_curvature(), np.zeros_like(problem.linear), -problem.linear)
    at.move(problem.linear, 0.0)
    down = at.turn()
    assert down > 0
    at.direction *= -1  # as if the last step had gone the other way, and much of it were to be kept
    at._share_of_last = 100.0
    assert at.turn() == pytest.approx(down)


def test_no_step_raises_the_objective_or_leaves_the_bounds(R):
    problem = pair_problem(R)
    x = np.zeros_like(problem.linear)
    at = Conjugate(problem.support, problem.item_curvature(), x, -problem.linear)
    at.move(problem.linear, 0.0)
    values = [0.0]
    for _ in range(20):
        solver.advance(problem, at)
        assert (x >= 0).all()
        values.append(float(x @ (problem.product(x) - 2 * problem.linear)))
    assert (np.diff(values) < 1e-5 * abs(values[-1])).all()
    assert values[-1] < 0.999 * values[3]


def test_the_work_row_is_cleared_after_short_histories(monkeypatch):
    monkeypatch.setenv("CORML_THREADS", "1")
    R = random_interactions(0, 300, 5000, 3).matrix
    users, support = work_on(R).users, work_on(R).co_occurring(1).support
    touched = R @ np.diff(support.indptr)  # entries of a row that a user fills
    assert (8 * touched < R.shape[1]).any()
    x = np.random.default_rng(0).random(len(support)).astype(np.float32)
    x = x + x[support.twin]
    X, P = support.matrix(x).toarray(), R.toarray()
    one_way = (P.T @ (users.both[:, None] * (P @ X)))[support.rows, support.indices]
    np.testing.assert_allclose(Normal(R, np.ones(R.shape[1]), users.both, support).one_way(x), one_way, rtol=1e-4)


@pytest.mark.parametrize("room", [0, 1, 3, 8, 20])
def test_only_the_worst_violations_of_an_item_are_kept(room):
    violations = np.random.default_rng(0).permutation(np.arange(1, 13)).astype(np.float32)
    kept, partners = np.zeros(room, np.float32), np.full(room, -1, np.int32)
    for item, violation in enumerate(violations):
        pricing._keep(partners, kept, item, violation)
    assert sorted(kept[kept > 0]) == sorted(violations)[max(12 - room, 0) :]
    np.testing.assert_array_equal(violations[partners[partners >= 0]], kept[partners >= 0])


@pytest.mark.parametrize("settings", [{}, {"candidates": 3}, {"budget": 3}], ids=["all pairs", "candidates", "pruned"])
def test_pairs_without_a_weight_are_not_stored(settings):
    H = corml.CoRML(solver="sparse", rank=8, ridge=3.0, **settings).fit(random_interactions(0, 300, 80, 8)).H_
    assert (H.data > 0).all()


@pytest.mark.parametrize(("share", "rows"), [(1, []), (3, [0]), (6, [0, 1, 2])])
def test_long_rows_are_multiplied_as_matrices(share, rows, monkeypatch):
    """Of six items the first has five pairs, the next two have two each and the others one."""
    monkeypatch.setattr("corml.linalg.normal.LONG", share)
    pattern = np.zeros((6, 6), dtype=np.float32)
    pattern[0, 1:] = pattern[1:, 0] = pattern[1, 2] = pattern[2, 1] = 1
    product = ThroughGram(np.eye(6, dtype=np.float32), Support.of(csr_array(pattern)))
    assert product.long.tolist() == rows
    assert sorted([*product.long, *product.short]) == list(range(6))
