"""The sparse solver against the dense one, and against the conditions of an optimum."""

from dataclasses import replace

import numpy as np
import pytest

import corml
from corml import memory
from corml.errors import NumericalError
from corml.linalg.normal import Normal
from corml.linalg.scaling import column_degrees
from corml.linalg.support import Support
from corml.method.dense import admm
from corml.method.plan import plan
from corml.method.plan.pair_count import count_pairs
from corml.method.problem import Problem, Weights, dense_problem, loss_weights, user_weights
from corml.method.sparse.candidates import co_occurring
from corml.method.sparse.cross_term import cross_term
from corml.method.sparse.solver import candidates, solver
from corml.method.spectral import filter_block, singular_vectors
from support import random_interactions

WEIGHTS = {
    "usual": Weights(mix=0.8, item_norm=0.1, scale=1.0, user_norm=0.0, l2=1.0, ridge=5.0),
    "novel": Weights(mix=0.6, item_norm=-0.2, scale=0.1, user_norm=0.5, l2=0.0, ridge=1.0),
    "balanced": Weights(
        mix=0.7, item_norm=0.1, scale=0.5, user_norm=0.5, l2=0.1, ridge=3.0, user_balance=0.6, filter_norm=0.3
    ),
    "no filter": Weights(mix=1.0, item_norm=0.0, scale=1.0, user_norm=1.0, l2=0.1, ridge=0.0),
}


@pytest.fixture(scope="module")
def R():
    return random_interactions(0, 300, 80, 8).matrix


def ingredients(R, weights, most=None):
    d, loss, ranking = column_degrees(R), loss_weights(R, weights.user_balance), user_weights(R, weights.user_norm)
    return d, loss * ranking, singular_vectors(R, 8), co_occurring(R, loss, ranking, most=most)


def pair_problem(R, weights, *, clip=True, most=None):
    d, by_user, V, pairs = ingredients(R, weights, most)
    cross = cross_term(R, d, V, by_user, weights.filter_norm, pairs, clip=clip)
    return solver.PairProblem.of(R, d, pairs, cross, weights), pairs.complete


def solved(R, weights, *, clip=True, most=None, **options):
    problem, complete = pair_problem(R, weights, clip=clip, most=most)
    return solver.solve(problem, complete=complete, **{"tol": 1e-7, "max_steps": 2000, **options})


@pytest.mark.parametrize("clip", [True, False], ids=["elementwise", "factored"])
@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS.keys())
def test_both_solvers_find_the_same_answer(R, weights, clip):
    dense = dense_problem(R, column_degrees(R), singular_vectors(R, 8), weights, clip=clip, dtype=np.float64)
    M, B = dense.M.copy(), dense.B.copy()
    exact = admm.solve(Problem(dense.M, dense.B), tol=1e-10, max_steps=50_000).H
    found = solved(R, weights, clip=clip)
    H = found.H.toarray().astype(float)

    def objective(H):
        return 0.5 * np.sum(H * (M @ H)) - np.sum(B * H)

    assert found.converged
    assert objective(H) == pytest.approx(objective(exact), rel=1e-6)
    assert found.certificate.objective == pytest.approx(objective(exact), rel=1e-5)
    assert np.abs(H - exact).max() <= 1e-4 * exact.max()


def test_the_answer_is_symmetric_hollow_not_negative_and_optimal(R):
    weights = WEIGHTS["usual"]
    H = solved(R, weights).H.toarray().astype(float)
    dense = dense_problem(R, column_degrees(R), singular_vectors(R, 8), weights, dtype=np.float64)
    slope = dense.M @ H - dense.B
    slope = (slope + slope.T) / 2
    pairs, size = ~np.eye(len(H), dtype=bool), np.abs(dense.B).max()
    assert np.array_equal(H, H.T)
    assert (H >= 0).all()
    assert not np.diag(H).any()
    assert np.abs(slope[pairs & (H > 0)]).max() < 1e-5 * size
    assert slope[pairs & (H == 0)].min() > -1e-5 * size


def test_the_certificate_covers_every_pair_that_met(R):
    certificate = solved(R, WEIGHTS["usual"]).certificate
    met = (R.T @ R).toarray() > 0
    assert certificate.pairs == (met.sum() - met.trace()) // 2
    assert certificate.complete
    assert certificate.residual <= 2e-7


def test_fewer_candidates_are_said_to_be_fewer_and_cost_little(R):
    weights = WEIGHTS["usual"]
    all_pairs, some = solved(R, weights), solved(R, weights, most=15)
    assert not some.certificate.complete
    assert some.certificate.pairs < all_pairs.certificate.pairs
    assert all_pairs.certificate.objective <= some.certificate.objective <= 0.8 * all_pairs.certificate.objective


@pytest.mark.parametrize("filter", ["factored", "elementwise"])
@pytest.mark.parametrize("balance", [0.0, 0.6])
def test_pairs_left_out_are_all_looked_at(R, filter, balance, monkeypatch):
    """What the report says of pairs outside the candidates, against dense matrices."""
    monkeypatch.setattr(pricing, "EVERY", 1)
    data = random_interactions(0, 300, 80, 8)
    settings = {"filter": filter, "rank": 8, "ridge": 3.0, "user_balance": balance, "user_norm": 0.5, "scale": 0.5}
    model = corml.CoRML(solver="sparse", candidates=6, pair_tol=1, tol=1e-7, max_steps=2000, **settings).fit(data)
    R, d, weights = data.matrix, model.degrees_, model.weights
    dense = dense_problem(R, d, singular_vectors(R, 8), weights, clip=filter != "factored", dtype=np.float64)
    slope = dense.M @ model.H_.toarray() - dense.B
    slope = slope + slope.T
    kept = co_occurring(R, loss_weights(R, balance), user_weights(R, 0.5), most=6).support
    outside = np.triu((R.T @ R).toarray() > 0, 1)
    outside[kept.rows, kept.indices] = False
    curvature = np.diag(dense.M)
    gains = np.maximum(-slope / np.sqrt(curvature[:, None] + curvature), 0)[outside]
    report = model.solutions_[0].left_out
    assert report.pairs == outside.sum()
    if filter == "factored":
        assert report.gaining == (gains > 0).sum()
        assert report.worst == pytest.approx(gains.max(), rel=1e-3)
        assert report.norm == pytest.approx(np.linalg.norm(gains), rel=1e-3)
    else:
        assert report.gaining >= (gains > 0).sum()
        assert report.worst >= gains.max() * (1 - 1e-4)
    assert model.notes_["solver"][0]["left out"] == report.pairs


def test_what_gains_most_is_exact_and_how_many_gain_is_told_from_a_sample(monkeypatch):
    data = random_interactions(0, 600, 400, 12)
    settings = {"solver": "sparse", "candidates": 6, "pair_tol": 1.0, "rank": 8, "ridge": 3.0}
    sampled = corml.CoRML(**settings).fit(data).solutions_[0].left_out
    monkeypatch.setattr(pricing, "EVERY", 1)
    whole = corml.CoRML(**settings).fit(data).solutions_[0].left_out
    assert sampled.pairs == whole.pairs
    assert sampled.worst == pytest.approx(whole.worst, rel=1e-5)
    assert sampled.gaining == pytest.approx(whole.gaining, rel=0.15)


@pytest.mark.parametrize("filter", ["factored", "elementwise"])
@pytest.mark.parametrize("user_norm", [0.0, 0.5])
def test_pairs_that_gain_are_brought_in_until_none_does(filter, user_norm):
    """From three candidates an item to the optimum over all pairs, without ever looking at that problem as a whole."""
    data = random_interactions(0, 300, 80, 8)
    settings = {"solver": "sparse", "filter": filter, "rank": 8, "ridge": 3.0, "user_norm": user_norm, "tol": 1e-6}
    whole = corml.CoRML(**settings).fit(data)
    grown = corml.CoRML(candidates=3, pair_tol=0.0, **settings).fit(data)
    (exact,), (found,) = whole.solutions_, grown.solutions_
    assert exact.certificate.complete
    assert found.rounds > 1
    assert found.certificate.objective == pytest.approx(exact.certificate.objective, rel=1e-5)
    assert np.abs((grown.H_ - whole.H_).toarray()).max() <= 1e-3 * whole.H_.data.max()
    if filter == "factored":  # else every pair is brought in, for what the filter explains of it is not looked at
        assert found.certificate.pairs < exact.certificate.pairs
        assert found.left_out.worst <= 1e-3 * found.certificate.largest


def test_pairs_join_only_above_the_tolerance():
    data = random_interactions(0, 300, 80, 8)
    settings = {"solver": "sparse", "rank": 8, "ridge": 3.0, "candidates": 3}
    few, some, many = (corml.CoRML(pair_tol=tol, **settings).fit(data).solutions_[0] for tol in (1.0, 0.09, 0.01))
    assert few.rounds == 1
    assert few.certificate.pairs < some.certificate.pairs < many.certificate.pairs
    assert many.certificate.objective < some.certificate.objective < few.certificate.objective
    assert some.left_out.worst <= 0.09 * some.certificate.largest < few.left_out.worst


def test_with_little_room_those_that_gain_most_join(monkeypatch):
    data = random_interactions(0, 300, 80, 8)
    plain = plan.plan
    monkeypatch.setattr(plan, "plan", lambda *given: replace(plain(*given), room=700))
    (found,) = corml.CoRML(solver="sparse", rank=8, candidates=3, pair_tol=0.0).fit(data).solutions_
    (before,) = corml.CoRML(solver="sparse", rank=8, candidates=3, pair_tol=1.0).fit(data).solutions_
    assert found.certificate.pairs == 350
    assert found.left_out.worst < before.left_out.worst


def test_where_there_is_no_room_pairs_stay_out_and_are_reported(monkeypatch):
    data = random_interactions(0, 300, 80, 8)
    plain = plan.plan
    monkeypatch.setattr(plan, "plan", lambda *given: replace(plain(*given), room=0))
    (found,) = corml.CoRML(solver="sparse", rank=8, candidates=3, pair_tol=0.0).fit(data).solutions_
    assert found.rounds == 1
    assert found.left_out.worst > 0


def test_a_warm_start_arrives_at_once(R):
    weights = WEIGHTS["usual"]
    problem, complete = pair_problem(R, weights)
    first = solver.solve(problem, complete=complete, tol=1e-6)
    start = problem.support.values(first.H)
    again = solver.solve(problem, complete=complete, tol=1e-5, start=start)
    assert again.steps == 0
    np.testing.assert_allclose(again.H.toarray(), first.H.toarray(), rtol=1e-5, atol=1e-8)


def test_a_fixed_number_of_steps_is_exactly_that(R):
    found = solved(R, WEIGHTS["usual"], tol=0, max_steps=5)
    assert found.steps == len(found.trace) == 5
    assert not found.converged
    assert found.report()["steps"] == 5


def test_progress_ends_where_the_solver_does(R):
    told = []
    found = solved(R, WEIGHTS["usual"], progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (found.steps, found.steps)


def test_the_number_of_threads_changes_rounding_only(monkeypatch):
    data = random_interactions(5, 400, 120, 9)
    monkeypatch.setenv("CORML_THREADS", "1")
    one = corml.CoRML(solver="sparse", tol=1e-7, max_steps=500, ridge=2.0).fit(data).H_
    for count in ("2", "3"):
        monkeypatch.setenv("CORML_THREADS", count)
        several = [corml.CoRML(solver="sparse", tol=1e-7, max_steps=500, ridge=2.0).fit(data).H_ for _ in range(2)]
        assert (several[0] != several[1]).nnz == 0
        assert np.abs((several[0] - one).data).max(initial=0) <= 1e-5 * one.data.max()


def test_numbers_that_leave_the_finite_are_named(R):
    problem, _ = pair_problem(R, WEIGHTS["usual"])
    problem.pull[3] = np.inf
    with pytest.raises(NumericalError, match="left the finite numbers"), np.errstate(invalid="ignore"):
        solver.solve(problem, complete=True)


# --- pieces ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS.keys())
def test_candidates_carry_the_gram_matrices(R, weights, monkeypatch):
    monkeypatch.setattr("corml.linalg.pairs.CHUNK", 500)
    d, by_user, _, pairs = ingredients(R, weights)
    dense = R.toarray().astype(float)
    off = ~np.eye(len(d), dtype=bool)
    rows, columns = pairs.support.rows, pairs.support.indices
    loss = np.diag(loss_weights(R, weights.user_balance))
    np.testing.assert_allclose(pairs.gram, (dense.T @ loss @ dense)[rows, columns], rtol=1e-5)
    np.testing.assert_allclose(pairs.weighted, (dense.T @ np.diag(by_user) @ dense)[rows, columns], rtol=1e-5)
    assert len(pairs.support) == ((dense.T @ dense > 0) & off).sum()
    assert pairs.complete


def test_the_strongest_candidates_are_the_strongest(R):
    d, _, _, pairs = ingredients(R, WEIGHTS["usual"], most=5)
    dense = R.toarray().astype(float)
    gram = dense.T @ dense * d**-candidates.TASTE
    np.fill_diagonal(gram, 0)
    kept = pairs.support.matrix(pairs.gram).toarray() > 0
    assert (kept == kept.T).all()
    for item, row in enumerate(gram):
        strongest = np.sort(row)[::-1][4]
        assert kept[item][row > strongest + 1e-6].all()


@pytest.mark.parametrize("clip", [True, False])
@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS.keys())
def test_the_cross_term_is_a_times_g(R, weights, clip, monkeypatch):
    monkeypatch.setattr("corml.method.sparse.cross_term.BAND_BYTES", 4 * 13 * 300)
    d, by_user, V, pairs = ingredients(R, weights)
    t, s, items = weights.item_norm, weights.filter_norm, np.arange(len(d))
    P = R.toarray().astype(float) * d**-t
    G = filter_block(V, items, items, clip=clip) * d[:, None] ** (t - s) * d ** (s - t)
    AG = P.T @ np.diag(by_user) @ P @ G
    found = cross_term(R, d, V, by_user, weights.filter_norm, pairs, clip=clip) * pairs.support.product_of(d**-t)
    np.testing.assert_allclose(found, (AG + AG.T)[pairs.support.rows, pairs.support.indices], rtol=2e-4, atol=1e-4)


def test_without_directions_there_is_no_cross_term(R):
    d, by_user, V, pairs = ingredients(R, WEIGHTS["usual"])
    assert not cross_term(R, d, V[:, :0], by_user, 0.5, pairs, clip=True).any()


def test_the_normal_product_is_the_dense_product(R):
    d, by_user, _, pairs = ingredients(R, WEIGHTS["novel"])
    P = R.toarray().astype(float) * d**0.2
    A = P.T @ np.diag(by_user) @ P
    x = np.random.default_rng(0).random(len(pairs.support)).astype(np.float32)
    x = x + x[pairs.support.twin]
    X = pairs.support.matrix(x).toarray()
    normal = Normal(R, d**0.2, by_user, pairs.support)
    np.testing.assert_allclose(normal(x), (A @ X + X @ A)[pairs.support.rows, pairs.support.indices], rtol=1e-4)
    np.testing.assert_allclose(normal.diagonal(), np.diag(A), rtol=1e-5)


@pytest.mark.parametrize("long", [1, 3, 10], ids=["gathered", "both", "long rows"])
def test_both_ways_to_multiply_agree(R, long, monkeypatch):
    monkeypatch.setattr("corml.linalg.through_gram.LONG", long)
    monkeypatch.setattr("corml.linalg.through_gram.BAND", 3)
    weights = WEIGHTS["balanced"]
    d, _, _, pairs = ingredients(R, weights, most=10)
    users, whole = (solver.PairProblem.of(R, d, pairs, None, weights, through_gram=how) for how in (False, True))
    x = np.random.default_rng(0).random(len(pairs.support)).astype(np.float32)
    x = np.maximum(x + x[pairs.support.twin] - 1, 0)
    np.testing.assert_allclose(whole.product(x), users.product(x), rtol=1e-4)
    np.testing.assert_allclose(whole.curvature(), users.curvature(), rtol=1e-5)


def test_few_items_met_by_many_go_through_the_gram_matrix():
    crowded = random_interactions(3, 3000, 300, 60)
    plan = plan.plan(crowded.matrix, corml.CoRML(solver="sparse", candidates=10))
    assert plan.through_gram
    assert not plan.plan(random_interactions(3, 500, 400, 4).matrix, corml.CoRML(solver="sparse")).through_gram
    model = corml.CoRML(solver="sparse", candidates=10, tol=1e-6).fit(crowded)
    assert model.solutions_[0].converged


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


def test_pairs_are_predicted_from_a_sample(monkeypatch):
    R = random_interactions(3, 800, 600, 12).matrix
    real = (R.T @ R).nnz - (R.sum(axis=0) > 0).sum()
    assert count_pairs(R).pairs == pytest.approx(real, rel=0.05)
    monkeypatch.setattr(pair_count, "SAMPLE", 60)
    assert count_pairs(R).pairs == pytest.approx(real, rel=0.15)


@pytest.mark.parametrize("most", [3, 20, 100])
def test_strongest_pairs_are_predicted_from_a_sample(most):
    R = random_interactions(3, 3000, 2000, 12).matrix
    loss = loss_weights(R, 0.25)
    real = co_occurring(R, loss, np.ones(3000), most=most).support
    found = count_pairs(R, loss=loss, most=most)
    assert found.pairs == pytest.approx(len(real), rel=0.06)
    assert found.work == pytest.approx(2 * np.dot(np.diff(real.indptr), column_degrees(R)), rel=0.1)


def test_equal_strengths_are_shared_out_in_the_prediction():
    rng = np.random.default_rng(0)
    users, items = np.repeat(np.arange(1000), 12), (rng.random(12_000) ** 2 * 3000).astype(np.int64)
    R = corml.Interactions.from_pairs(users, items).matrix  # hardly a pair is met twice
    real = co_occurring(R, np.ones(1000), np.ones(1000), most=20).support
    assert count_pairs(R, most=20).pairs == pytest.approx(len(real), rel=0.08)


def test_the_plan_goes_by_predicted_time_and_memory(monkeypatch):
    scattered = random_interactions(3, 500, 400, 4).matrix
    crowded = random_interactions(3, 3000, 40, 30).matrix
    assert plan.plan(scattered, corml.CoRML()).solver == "sparse"
    assert plan.plan(crowded, corml.CoRML()).solver == "admm"
    dense = plan.plan(crowded, corml.CoRML())
    monkeypatch.setattr(memory, "budget", lambda: dense.bytes - 1)
    monkeypatch.setattr(plan, "sparse_bytes", lambda *sizes, clip: 1)
    assert plan.plan(crowded, corml.CoRML()).solver == "sparse"


@pytest.mark.parametrize("asked", [{"rho": 5.0}, {"partition_ratio": 0.5}, {"precision": "double"}, {"solver": "admm"}])
def test_a_setting_of_the_dense_solver_asks_for_it(asked):
    assert plan.plan(random_interactions(3, 500, 400, 4).matrix, corml.CoRML(**asked)).solver == "admm"


def test_too_many_pairs_are_cut_to_the_strongest(monkeypatch):
    monkeypatch.setattr(plan, "MOST_PAIRS", 10)
    monkeypatch.setattr(plan, "STRONGEST", 7)
    data = random_interactions(3, 500, 400, 4)
    plan = plan.plan(data.matrix, corml.CoRML(solver="sparse"))
    assert plan.strongest == 7
    model = corml.CoRML(solver="sparse").fit(data)
    assert model.notes_["plan"]["strongest per item"] == 7
    assert model.notes_["solver"][0]["complete"] is False


def test_one_may_choose_how_many_candidates():
    model = corml.CoRML(solver="sparse", candidates=3).fit(random_interactions(3, 500, 100, 6))
    assert model.notes_["solver"][0]["complete"] is False
    assert corml.CoRML(solver="sparse").fit(random_interactions(3, 500, 100, 6)).notes_["solver"][0]["complete"] is True
