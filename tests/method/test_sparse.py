"""The sparse solver against the dense one, and against the conditions of an optimum."""

from dataclasses import replace

import numpy as np
import pytest

import corml
from corml._runtime import memory
from corml.data.strength import of_mean_square_one
from corml.errors import NumericalError
from corml.linalg.normal import DenseRows, Normal
from corml.linalg.pairs import Support
from corml.linalg.sparse import Sides, column_degrees, row_degrees
from corml.models.corml import cost, plan
from corml.models.corml.cost import Rows, count_pairs
from corml.models.corml.dense import DenseProblem, dense_problem, solve
from corml.models.corml.problem import UserWeights, Weights, filter_block, singular_vectors
from corml.models.corml.sparse import pairs as candidates
from corml.models.corml.sparse import pricing, solver
from corml.models.corml.sparse.column_generation import InMemory
from corml.models.corml.sparse.pairs import co_occurring, cross_term
from support import random_interactions, with_weights

WEIGHTS = {
    "usual": Weights(mix=0.8, item_norm=0.1, scale=1.0, user_norm=0.0, l2=1.0, ridge=5.0),
    "novel": Weights(mix=0.6, item_norm=-0.2, scale=0.1, user_norm=0.5, l2=0.0, ridge=1.0),
    "balanced": Weights(
        mix=0.7, item_norm=0.1, scale=0.5, user_norm=0.5, l2=0.1, ridge=3.0, user_balance=0.6, filter_norm=0.3
    ),
    "no filter": Weights(mix=1.0, item_norm=0.0, scale=1.0, user_norm=1.0, l2=0.1, ridge=0.0),
}


@pytest.fixture(scope="module")
def data():
    return {"alike": random_interactions(0, 300, 80, 8), "weighted": with_weights(random_interactions(0, 300, 80, 8))}


@pytest.fixture(scope="module", params=["alike", "weighted"])
def R(request, data):
    return of_mean_square_one(data[request.param].weighted)


def users_of(R, weights):
    return weights.of_users(row_degrees(R))


def ingredients(R, weights, max_per_item=None):
    d, users = column_degrees(R), users_of(R, weights)
    return d, users.both, singular_vectors(R, 8), co_occurring(R, users, max_per_item=max_per_item)


def pair_problem(R, weights, *, clip=True, max_per_item=None):
    work = InMemory(R, singular_vectors(R, 8), weights, clip)
    pairs = work.co_occurring(max_per_item)
    return work.problem(pairs, work.cross_term(pairs)), pairs.complete


def solved(R, weights, *, clip=True, max_per_item=None, **options):
    problem, complete = pair_problem(R, weights, clip=clip, max_per_item=max_per_item)
    return solver.solve(problem, complete=complete, **{"tol": 2e-7, "max_steps": 2000, **options})


def certificate(data, **settings):
    (only,) = corml.CoRML(**settings).fit(data).fitted_.certificates
    return only


@pytest.mark.parametrize("clip", [True, False], ids=["elementwise", "factored"])
@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS.keys())
def test_both_solvers_find_the_same_answer(R, weights, clip):
    dense = dense_problem(R, column_degrees(R), singular_vectors(R, 8), weights, clip=clip, dtype=np.float64)
    M, B = dense.M.copy(), dense.B.copy()
    exact = solve(DenseProblem(dense.M, dense.B), tol=1e-10, max_steps=50_000).H
    solution = solved(R, weights, clip=clip)
    H = solution.H.toarray().astype(float)

    def objective(H):
        return 0.5 * np.sum(H * (M @ H)) - np.sum(B * H)

    assert solution.certificate.converged
    assert objective(H) == pytest.approx(objective(exact), rel=1e-6)
    assert solution.certificate.objective == pytest.approx(objective(exact), rel=1e-5)
    assert np.abs(H - exact).max() <= 1e-4 * exact.max()


def test_the_certificate_covers_every_co_occurring_pair(R):
    certificate = solved(R, WEIGHTS["usual"]).certificate
    together = (R.T @ R).toarray() > 0
    assert certificate.pairs == (together.sum() - together.trace()) // 2
    assert certificate.complete
    assert certificate.residual <= 4e-7


def test_fewer_candidates_are_reported_and_cost_little_accuracy(R):
    weights = WEIGHTS["usual"]
    all_pairs, some = solved(R, weights), solved(R, weights, max_per_item=15)
    assert not some.certificate.complete
    assert some.certificate.pairs < all_pairs.certificate.pairs
    assert all_pairs.certificate.objective <= some.certificate.objective <= 0.8 * all_pairs.certificate.objective


@pytest.mark.parametrize("filter", ["factored", "elementwise"])
@pytest.mark.parametrize("balance", [0.0, 0.6])
@pytest.mark.parametrize("strength", ["alike", "weighted"])
def test_every_excluded_pair_is_priced(data, strength, filter, balance):
    """What the certificate says of excluded pairs, against dense matrices."""
    data = data[strength]
    settings = {"filter": filter, "rank": 8, "ridge": 3.0, "user_balance": balance, "user_norm": 0.5, "scale": 0.5}
    settings |= {"graph_user_norm": 0.5, "graph_item_norm": 0.5}
    model = corml.CoRML(solver="sparse", candidates=6, pair_tol=1, tol=1e-7, max_steps=2000, **settings).fit(data)
    R, d, weights = of_mean_square_one(data.weighted), model.degrees_, Weights.of(model.settings_)
    dense = dense_problem(R, d, singular_vectors(R, 8), weights, clip=filter != "factored", dtype=np.float64)
    gradient = dense.M @ model.H_.toarray() - dense.B
    gradient = gradient + gradient.T
    kept = co_occurring(R, users_of(R, weights), max_per_item=6).support
    outside = np.triu((R.T @ R).toarray() > 0, 1)
    outside[kept.rows, kept.indices] = False
    curvature = np.diag(dense.M)
    violations = np.maximum(-gradient / np.sqrt(curvature[:, None] + curvature), 0)[outside]
    report = model.fitted_.certificates[0].excluded
    assert report.pairs == outside.sum()
    if filter == "factored":
        assert report.violating == (violations > 0).sum()
        assert report.worst == pytest.approx(violations.max(), rel=1e-3)
    else:
        assert report.violating >= (violations > 0).sum()
        assert report.worst >= violations.max() * (1 - 1e-4)


def test_the_worst_violation_is_exact_and_their_number_is_estimated_from_a_sample(monkeypatch):
    data = random_interactions(0, 600, 400, 12)
    settings = {"solver": "sparse", "candidates": 6, "pair_tol": 1.0, "rank": 8, "ridge": 3.0}
    whole = certificate(data, **settings).excluded
    monkeypatch.setattr(pricing, "IN_FULL", 100)
    sampled = certificate(data, **settings).excluded
    assert sampled.pairs == whole.pairs
    assert sampled.worst == pytest.approx(whole.worst, rel=1e-5)
    assert sampled.violating == pytest.approx(whole.violating, rel=0.15)


@pytest.mark.parametrize("filter", ["factored", "elementwise"])
@pytest.mark.parametrize("user_norm", [0.0, 0.5])
@pytest.mark.parametrize("strength", ["alike", "weighted"])
def test_column_generation_ends_where_no_pair_violates(data, strength, filter, user_norm):
    """From three candidates an item to the optimum over all pairs, without ever solving that problem as a whole."""
    data = data[strength]
    settings = {"solver": "sparse", "filter": filter, "rank": 8, "ridge": 3.0, "user_norm": user_norm, "tol": 1e-6}
    whole = corml.CoRML(**settings).fit(data)
    grown = corml.CoRML(candidates=3, pair_tol=0.0, **settings).fit(data)
    (exact,), (found,) = whole.fitted_.certificates, grown.fitted_.certificates
    assert exact.complete
    assert found.column_generation > 1
    assert found.objective == pytest.approx(exact.objective, rel=1e-5)
    assert np.abs((grown.H_ - whole.H_).toarray()).max() <= 1e-3 * whole.H_.data.max()
    if filter == "factored":  # else every pair is added, for pricing omits what the filter explains of it
        assert found.pairs < exact.pairs
        assert found.excluded.worst <= 1e-3 * found.linear_max


def test_pairs_are_added_only_above_the_tolerance():
    data = random_interactions(0, 300, 80, 8)
    settings = {"solver": "sparse", "rank": 8, "ridge": 3.0, "candidates": 3}
    few, some, many = (certificate(data, pair_tol=tol, **settings) for tol in (1.0, 0.09, 0.01))
    assert few.column_generation == 1
    assert few.pairs < some.pairs < many.pairs
    assert many.objective < some.objective < few.objective
    assert some.excluded.worst <= 0.09 * some.linear_max < few.excluded.worst


@pytest.mark.parametrize("most", [700, 0])
def test_under_a_pair_limit_the_worst_violations_are_added_or_only_reported(most, monkeypatch):
    plain, data = plan.make_plan, random_interactions(0, 300, 80, 8)
    monkeypatch.setattr("corml.models.corml.estimator.make_plan", lambda *given: replace(plain(*given), max_pairs=most))
    before, after = (certificate(data, solver="sparse", rank=8, candidates=3, pair_tol=tol) for tol in (1.0, 0.0))
    assert after.pairs == (350 if most else before.pairs)
    assert (after.column_generation > 1) == (after.excluded.worst < before.excluded.worst) == bool(most)
    assert after.excluded.worst > 0


def test_a_warm_start_at_the_solution_takes_no_step(R):
    weights = WEIGHTS["usual"]
    problem, complete = pair_problem(R, weights)
    first = solver.solve(problem, complete=complete, tol=1e-6)
    start = problem.support.values(first.H)
    again = solver.solve(problem, complete=complete, tol=1e-5, start=start)
    assert again.certificate.steps == 0
    np.testing.assert_allclose(again.H.toarray(), first.H.toarray(), rtol=1e-5, atol=1e-8)


def test_a_fixed_number_of_steps_is_exactly_that(R):
    five = solved(R, WEIGHTS["usual"], tol=0, max_steps=5).certificate
    assert five.steps == len(five.trace) == 5
    assert not five.converged
    assert five.report()["steps"] == 5


def test_progress_ends_where_the_solver_does(R):
    reports = []
    solution = solved(R, WEIGHTS["usual"], progress=lambda done, total: reports.append((done, total)))
    steps = solution.certificate.steps
    assert reports[-1] == (steps, steps)


def test_divergence_raises_an_error_with_the_step(R):
    problem, _ = pair_problem(R, WEIGHTS["usual"])
    problem.linear[3] = np.inf
    with pytest.raises(NumericalError, match="diverged at step 0"), np.errstate(invalid="ignore"):
        solver.solve(problem, complete=True)


# --- pieces ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS.keys())
def test_candidates_carry_the_gram_matrices(R, weights, monkeypatch):
    monkeypatch.setattr("corml.linalg.products.CHUNK", 500)
    d, by_user, _, pairs = ingredients(R, weights)
    dense = R.toarray().astype(float)
    off = ~np.eye(len(d), dtype=bool)
    rows, columns = pairs.support.rows, pairs.support.indices
    loss = np.diag(users_of(R, weights).loss)
    np.testing.assert_allclose(pairs.gram, (dense.T @ loss @ dense)[rows, columns], rtol=1e-5)
    np.testing.assert_allclose(pairs.weighted, (dense.T @ np.diag(by_user) @ dense)[rows, columns], rtol=1e-5)
    assert len(pairs.support) == ((dense.T @ dense > 0) & off).sum()
    assert pairs.complete


def test_candidates_are_those_that_co_occur_most(R):
    d, _, _, pairs = ingredients(R, WEIGHTS["usual"], max_per_item=5)
    dense = R.toarray().astype(float)
    gram = dense.T @ dense * d**-candidates.POPULARITY_EXPONENT
    np.fill_diagonal(gram, 0)
    kept = pairs.support.matrix(pairs.gram).toarray() > 0
    assert (kept == kept.T).all()
    for item, row in enumerate(gram):
        fifth = np.sort(row)[::-1][4]
        assert kept[item][row > fifth + 1e-6].all()


@pytest.mark.parametrize("clip", [True, False])
@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS.keys())
def test_the_cross_term_is_a_times_g(R, weights, clip, monkeypatch):
    monkeypatch.setattr("corml.models.corml.sparse.pairs.BAND_BYTES", 4 * 13 * 300)
    d, by_user, V, pairs = ingredients(R, weights)
    t, s, items = weights.item_norm, weights.filter_norm, np.arange(len(d))
    P = R.toarray().astype(float) * d**-t
    G = filter_block(V, items, items, clip=clip) * d[:, None] ** (t - s) * d ** (s - t)
    AG = P.T @ np.diag(by_user) @ P @ G
    cross = cross_term(R, V, by_user, weights.filter_norm, pairs, clip=clip) * pairs.support.product_of(d**-t)
    np.testing.assert_allclose(cross, (AG + AG.T)[pairs.support.rows, pairs.support.indices], rtol=2e-4, atol=1e-4)


def test_without_directions_there_is_no_cross_term(R):
    _, by_user, V, pairs = ingredients(R, WEIGHTS["usual"])
    assert not cross_term(R, V[:, :0], by_user, 0.5, pairs, clip=True).any()


def test_the_normal_product_is_the_dense_product(R):
    d, by_user, _, pairs = ingredients(R, WEIGHTS["novel"])
    P = R.toarray().astype(float) * d**0.2
    A = P.T @ np.diag(by_user) @ P
    x = np.random.default_rng(0).random(len(pairs.support)).astype(np.float32)
    x = x + x[pairs.support.twin]
    X = pairs.support.matrix(x).toarray()
    normal = Normal(R, d**0.2, by_user, pairs.support)
    at, ridge = (pairs.support.rows, pairs.support.indices), np.arange(len(d))
    np.testing.assert_allclose(normal.one_way(x), (A @ X)[at], rtol=1e-4)
    M = 0.5 * A + np.diag(ridge)
    np.testing.assert_allclose(
        pairs.support.both_ways(normal.one_way(x), 0.5, ridge, x), (M @ X + X @ M)[at], rtol=1e-4
    )
    np.testing.assert_allclose(normal.diagonal(), np.diag(A), rtol=1e-5)


@pytest.mark.parametrize("worth", [0, 10**6], ids=["pairs", "dense rows"])
def test_dense_rows_and_pairs_give_the_same_product(R, worth, monkeypatch):
    monkeypatch.setattr("corml.linalg.normal.WORTH", worth)
    weights = WEIGHTS["balanced"]
    d, by_user, _, pairs = ingredients(R, weights, max_per_item=10)
    problem = InMemory(R, singular_vectors(R, 8), weights).problem(pairs, None)
    assert isinstance(problem.normal, DenseRows if worth else Normal)
    P = R.toarray().astype(float) * d**-weights.item_norm
    A = P.T @ np.diag(by_user) @ P
    x = np.random.default_rng(0).random(len(pairs.support)).astype(np.float32)
    for values in (x, np.flip(x)):  # nothing stays behind
        X = pairs.support.matrix(values).toarray()
        one_way = (A @ X)[pairs.support.rows, pairs.support.indices]
        np.testing.assert_allclose(problem.normal.one_way(values), one_way, rtol=1e-4)
    np.testing.assert_allclose(problem.normal.diagonal(), np.diag(A), rtol=1e-5)


@pytest.mark.parametrize("long", [1, 3, 10], ids=["gathered", "both", "long rows"])
def test_the_product_through_the_gram_matrix_agrees_with_that_through_users(R, long, monkeypatch):
    monkeypatch.setattr("corml.linalg.normal.LONG", long)
    monkeypatch.setattr("corml.linalg.normal.BAND", 3)
    weights = WEIGHTS["balanced"]
    work = InMemory(R, singular_vectors(R, 8), weights)
    pairs = work.co_occurring(10)
    users, whole = (work.problem(pairs, None, keep_gram=how) for how in (False, True))
    x = np.random.default_rng(0).random(len(pairs.support)).astype(np.float32)
    x = np.maximum(x + x[pairs.support.twin] - 1, 0)
    np.testing.assert_allclose(whole.product(x), users.product(x), rtol=1e-4)
    np.testing.assert_allclose(whole.curvature(), users.curvature(), rtol=1e-5)


def test_for_few_items_with_many_users_the_gram_matrix_is_kept():
    crowded = random_interactions(3, 3000, 300, 60)
    assert corml.CoRML(solver="sparse", candidates=10).plan(crowded).keep_gram
    assert not corml.CoRML(solver="sparse").plan(random_interactions(3, 500, 400, 4)).keep_gram
    assert certificate(crowded, solver="sparse", candidates=10, tol=1e-6).converged


def test_a_support_reads_and_writes_matrices():
    pattern = np.array([[0, 1, 1, 0], [1, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]], dtype=np.float32)
    from scipy.sparse import csr_array

    support = Support.of(csr_array(pattern))
    values = np.arange(1.0, 7.0, dtype=np.float32)
    matrix = support.matrix(values)
    assert matrix.T.toarray()[support.rows, support.indices].tolist() == values[support.twin].tolist()
    assert support.values(matrix).tolist() == values.tolist()
    assert support.values(csr_array(np.eye(4, k=1))).tolist() == [1, 0, 0, 0, 0, 0]
    assert support.matrix(np.zeros(6)).nnz == 0


# --- the plan --------------------------------------------------------------------------------------------------------


def predicted(R, loss=None, max_per_item=None):
    return count_pairs(Rows.of(Sides.of(R), loss), max_per_item)


def test_pairs_are_predicted_from_a_sample(monkeypatch):
    R = random_interactions(3, 800, 600, 12).matrix
    real = (R.T @ R).nnz - (R.sum(axis=0) > 0).sum()
    assert predicted(R).pairs == pytest.approx(real, rel=0.05)
    monkeypatch.setattr(cost, "SAMPLE", 60)
    assert predicted(R).pairs == pytest.approx(real, rel=0.15)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("count", [3, 20, 100])
def test_candidates_are_predicted_from_a_sample(count, weighted):
    data = random_interactions(3, 3000, 2000, 12)
    R = with_weights(data).weighted if weighted else data.matrix
    users = UserWeights.of(row_degrees(R), user_balance=0.25)
    real = co_occurring(R, users, max_per_item=count).support
    found = predicted(R, users.loss, count)
    assert found.pairs == pytest.approx(len(real), rel=0.06)
    assert found.work == pytest.approx(2 * np.dot(np.diff(real.indptr), column_degrees(R)), rel=0.1)


def test_predicted_candidates_account_for_ties():
    rng = np.random.default_rng(0)
    users, items = np.repeat(np.arange(1000), 12), (rng.random(12_000) ** 2 * 3000).astype(np.int64)
    R = corml.Interactions.from_pairs(users, items).matrix  # hardly a pair shares two users
    real = co_occurring(R, UserWeights(np.ones(1000), np.ones(1000)), max_per_item=20).support
    assert predicted(R, None, 20).pairs == pytest.approx(len(real), rel=0.08)


def test_the_plan_chooses_by_predicted_time_and_memory(monkeypatch):
    scattered, crowded = random_interactions(3, 500, 400, 4), random_interactions(3, 3000, 40, 30)
    assert corml.CoRML().plan(scattered).solver == "sparse"
    dense = corml.CoRML().plan(crowded)
    assert dense.solver == "admm"
    monkeypatch.setattr(memory, "budget", lambda: dense.predicted_bytes - 1)
    monkeypatch.setattr(plan, "sparse_bytes", lambda *sizes, clip: 1)
    assert corml.CoRML().plan(crowded).solver == "sparse"


@pytest.mark.parametrize("given", [{"rho": 5.0}, {"partition_ratio": 0.5}, {"precision": "double"}, {"solver": "admm"}])
def test_a_setting_of_the_dense_solver_selects_it(given):
    assert corml.CoRML(**given).plan(random_interactions(3, 500, 400, 4)).solver == "admm"


def test_too_many_pairs_limit_the_candidates_of_each_item(monkeypatch):
    monkeypatch.setattr(plan, "MAX_PAIRS", 10)
    monkeypatch.setattr(plan, "MAX_PER_ITEM", 7)
    model = corml.CoRML(solver="sparse").fit(random_interactions(3, 500, 400, 4))
    assert model.fitted_.plan.candidates == model.settings_.candidates == 7
    assert model.fitted_.plan.report()["max pairs per item"] == 7
    assert model.fitted_.certificates[0].complete is False
