"""CoRML as users see it: what its answers must satisfy whatever the data."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import corml
from corml._runtime import memory
from corml.data.ids import Ids
from corml.errors import ConvergenceWarning, NotFittedError, ResourceError, SettingError, UnknownIdError, UsageError
from corml.models.corml import plan
from corml.models.corml.sparse import column_generation
from corml.recommend.rank import top_k
from support import random_interactions

FILTERS = ["elementwise", "factored", "authors"]


@pytest.fixture(scope="module", params=[(name, 0.5) for name in FILTERS] + [("factored", 0.3)], ids=str)
def model(request):
    filter, norm = request.param
    return corml.CoRML(rank=5, ridge=2.0, filter=filter, filter_norm=norm).fit(random_interactions(3, 60, 24))


@pytest.fixture(scope="module")
def small():
    return random_interactions(4)


def from_pairs(pairs):
    return corml.Interactions.from_pairs(*zip(*pairs, strict=True))


def dense_scores(model):
    """Section 1 of the paper, written with dense matrices."""
    R, d, V = model.train_.toarray(), model.degrees_, model.V_.astype(float)
    t, s, weight = model.item_norm, model.filter_norm, 1 / model.mix - 1
    G = V @ V.T
    np.fill_diagonal(G, 0)
    H_part = R @ np.diag(d**-t) @ model.H_.toarray() @ np.diag(d**t)
    if model.filter == "elementwise":
        G = np.maximum(G, 0)
    G_part = R @ np.diag(d**-s) @ G @ np.diag(d**s)
    return H_part + weight * (np.maximum(G_part, 0) if model.filter == "authors" else G_part)


def test_scores_are_the_papers_formula_in_whole_and_in_blocks(model):
    whole = model.score_block(model.train_, slice(0, 24))
    np.testing.assert_allclose(whole, dense_scores(model), rtol=1e-4, atol=1e-6)
    for start, stop in ((0, 5), (5, 17), (17, 24)):
        piece = model.score_block(model.train_, slice(start, stop))
        np.testing.assert_allclose(piece, whole[:, start:stop], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("threads", "shape"), [("1", (13, 5)), ("1", (7, 24)), ("2", (7, 24)), ("5", (7, 24))])
def test_ranking_in_blocks_and_threads_is_ranking_at_once(model, threads, shape, monkeypatch):
    whole, told = top_k(model, model.train_, 7, seen=model.train_), []
    monkeypatch.setattr(type(model), "_block_shape", lambda self, X: shape)
    monkeypatch.setenv("CORML_THREADS", threads)
    found = top_k(model, model.train_, 7, seen=model.train_, progress=lambda *step: told.append(step))
    np.testing.assert_array_equal(found[0], whole[0])
    np.testing.assert_allclose(found[1], whole[1], rtol=1e-5, atol=1e-7)
    assert shape[1] < 24 or told == [("rank", done, 9) for done in range(1, 10)]


def test_contributions_sum_to_the_score(model):
    for user in model.users_.labels[:8]:
        row = model.scores([list(model.items_.labels[model.train_[[model.users_.rows([user])[0]]].indices])])[0]
        for item, score in zip(model.items_.labels, row, strict=True):
            why = model.explain(user, item)
            assert why.score == pytest.approx(why.contributions.sum(), abs=0)
            assert why.score == pytest.approx(float(score), rel=1e-4, abs=1e-6)
            assert set(why.parts) == {"h", "g"}


def test_a_training_user_folded_in_gets_the_same_list(model):
    users = list(model.users_.labels)
    histories = [list(model.items_.labels[model.train_[[row]].indices]) for row in range(len(users))]
    known, folded = model.recommend(users, k=5), model.recommend(history=histories, k=5)
    assert known.items.tolist() == folded.items.tolist()
    np.testing.assert_allclose(known.scores, folded.scores, rtol=1e-6)


@pytest.mark.parametrize("filter", FILTERS)
def test_permuting_items_and_users_permutes_the_results(filter):
    data = random_interactions(3, 60, 24)
    shuffle = np.random.default_rng(0).permutation(len(data))
    shuffled = corml.Interactions.from_pairs(
        data.users.labels[data.user[shuffle]], data.items.labels[data.item[shuffle]]
    )
    assert shuffled.items != data.items
    exact = {"rank": 5, "ridge": 2.0, "filter": filter, "tol": 1e-7, "max_steps": 5000, "precision": "double"}
    first, second = corml.CoRML(**exact).fit(data), corml.CoRML(**exact).fit(shuffled)
    order = second.items_.rows(first.items_.labels)
    np.testing.assert_allclose(second.H_.toarray()[np.ix_(order, order)], first.H_.toarray(), atol=1e-5)
    users = list(first.users_.labels)
    np.testing.assert_allclose(first.recommend(users, k=3).scores, second.recommend(users, k=3).scores, rtol=1e-4)


def test_a_mix_of_one_leaves_the_filter_out():
    model = corml.CoRML(mix=1.0, rank=5).fit(random_interactions(3))
    assert model.explain("u0", "i3").parts["g"].sum() == 0


def test_stopping_early_warns_once_unless_steps_are_fixed(small):
    with pytest.warns(ConvergenceWarning, match="stopped after 2 steps.*raise max_steps") as caught:
        model = corml.CoRML(max_steps=2, tol=1e-9).fit(small)
    assert len(caught) == 1
    assert model.fitted_.certificates[0].converged is False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert corml.CoRML(max_steps=2, tol=0).fit(small).fitted_.certificates[0].steps == 2


# --- memory ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "given", "items", "sentence"),
    [
        (1_500_000, {"solver": "admm"}, 100, r"needs .* the budget is 1\.4 MiB; the largest block .* partition_ratio="),
        (8, {"solver": "admm"}, 25, "free some memory"),
        (8, {"candidates": 5}, 25, "set candidates to fewer"),
        (8, {}, 25, "free some memory, lower rank, or set adapt=False"),
    ],
)
def test_a_fit_that_exceeds_memory_is_refused_with_advice(budget, given, items, sentence, monkeypatch):
    monkeypatch.setattr(memory, "budget", lambda: budget)
    with pytest.raises(ResourceError, match=sentence):
        corml.CoRML(**given).fit(random_interactions(4, items=items))


def test_the_advised_partition_ratio_fits(monkeypatch):
    data = random_interactions(4, users=600, items=450)
    allowed = plan.dense_bytes(data.matrix, 400, 16, 4)
    monkeypatch.setattr(memory, "budget", lambda: allowed)
    with pytest.raises(ResourceError, match="partition_ratio=") as refused:
        corml.CoRML(solver="admm", adapt=False).fit(data)
    advice = float(str(refused.value).split("partition_ratio=")[1].split()[0])
    assert advice == pytest.approx(400 / data.shape[1], abs=1e-3)
    assert corml.CoRML(partition_ratio=advice, adapt=False).fit(data).H_.nnz


# --- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {"solver": "sparse", "rho": 3.0},
        {"solver": "sparse", "partition_ratio": 0.5},
        {"candidates": 5, "precision": "double"},
        {"candidates": 5, "solver": "admm"},
    ],
)
def test_settings_of_two_solvers_do_not_mix(given, small):
    with pytest.raises(SettingError, match=r"is of the (sparse|dense) solver"):
        corml.CoRML(**given).fit(small)


def test_settings_accept_numpy_numbers_and_whole_floats(small):
    model = corml.CoRML(rank=8.0, mix=np.float32(0.5), max_steps=np.int64(50), candidates=3.0).fit(small)
    assert (type(model.rank), type(model.mix), type(model.max_steps)) == (int, float, int)


@pytest.mark.parametrize(
    ("users", "items", "pairs", "rank"),
    [
        (1, 1, 1, 16),
        (943, 1_682, 55_000, 16),
        (6_040, 3_700, 575_000, 32),
        (1_892, 17_600, 55_000, 64),
        (29_858, 40_981, 638_546, 256),
    ],
)
def test_the_rank_follows_the_size_of_the_data(users, items, pairs, rank):
    assert plan.suggested_rank((users, items), pairs) == rank


def test_the_ridge_follows_the_mean_degree_of_items_with_users(small):
    assert corml.CoRML().plan(small).ridge == pytest.approx(10 * np.sqrt(len(small) / small.shape[1]))
    larger = small.on(small.users, Ids([*small.items.labels, *(f"new {number}" for number in range(60))]))
    assert corml.CoRML().plan(larger).ridge == corml.CoRML().plan(small).ridge
    assert corml.CoRML(ridge=7).fit(small).fitted_.plan.ridge == 7


def test_a_setting_changed_after_a_fit_counts_for_the_next_fit_only(small, tmp_path):
    model = corml.CoRML().fit(small)
    before = model.scores([["i1"]])
    model.mix = 0.3
    np.testing.assert_array_equal(model.scores([["i1"]]), before)
    model.save(tmp_path / "m.corml")
    loaded = corml.read_model(tmp_path / "m.corml")
    assert loaded.mix == loaded.settings_.mix == model.settings_.mix == 0.75
    np.testing.assert_array_equal(loaded.scores([["i1"]]), before)
    refitted = model.fit(small).scores([["i1"]])
    np.testing.assert_array_equal(refitted, corml.CoRML(mix=0.3).fit(small).scores([["i1"]]))
    assert not np.allclose(refitted, before)


@pytest.mark.parametrize("given", [{}, {"solver": "admm"}, {"candidates": 4}, {"budget": 2}, {"rank": 500}])
def test_the_resolved_settings_give_the_same_model(given):
    data = random_interactions(3, 500, 200, 8)
    model = corml.CoRML(**given).fit(data)
    again = corml.CoRML(**model.settings_).fit(data)
    assert None not in (model.settings_.ridge, model.settings_.rank)
    assert model.settings_.solver in ("admm", "sparse")
    assert (again.H_ != model.H_).nnz == 0
    np.testing.assert_array_equal(again.V_, model.V_)


def test_paper_has_the_published_settings():
    paper = corml.CoRML.paper(mix=0.8, l2=1.0)
    assert (paper.ridge, paper.user_balance, paper.filter, paper.rank) == (0, 0, "elementwise", 256)
    assert (paper.graph_user_norm, paper.graph_item_norm, paper.filter_norm) == (0.5, 0.5, 0.5)
    assert (paper.mix, paper.l2, corml.CoRML.paper(rank=64).rank) == (0.8, 1.0, 64)


def test_no_setting_changes_the_default_of_another():
    plain = corml.CoRML().get_params()
    for name, value in {"ridge": 5.0, "filter": "elementwise", "solver": "admm", "rho": 3.0, "rank": 8}.items():
        assert corml.CoRML(**{name: value}).get_params() == plain | {name: value}


def test_the_weight_of_the_filter_counts_in_the_scores_alone(data):
    plain, double = corml.CoRML(rank=6).fit(data), corml.CoRML(rank=6, filter_weight=2.0).fit(data)
    history = data.items.labels[:3].tolist()
    for item in data.items.labels[5:9]:
        one, two = plain.explain(history, item), double.explain(history, item)
        assert two.parts["g"] == pytest.approx(2 * one.parts["g"], rel=1e-5)
        assert np.array_equal(two.parts["h"], one.parts["h"])


def test_h_depends_on_the_first_learn_rank_directions_only(data):
    few = corml.CoRML(rank=8, learn_rank=3).fit(data)
    assert few.V_.shape[1] == 8
    assert abs(few.H_ - corml.CoRML(rank=3).fit(data).H_).max() < 1e-5 * few.H_.max()


def test_the_shape_of_the_filter_does_not_change_h(data):
    flat, falling = corml.CoRML(rank=6).fit(data), corml.CoRML(rank=6, filter_power=1.0).fit(data)
    assert (flat.H_ != falling.H_).nnz == 0
    assert np.linalg.norm(falling.V_, axis=0)[0] > 1 > np.linalg.norm(falling.V_, axis=0)[-1]
    warm = corml.CoRML(rank=6).fit(data, warm_start=falling)  # takes its vectors, without the shape
    assert np.abs(warm.V_ - flat.V_).max() < 1e-6


def test_negligible_pairs_are_added_only_below_the_default_tolerance(monkeypatch):
    data = random_interactions(3, 300, 120, 10)

    def iterations(**given):
        model = corml.CoRML(solver="sparse", candidates=5, **given).fit(data)
        return model.fitted_.certificates[0].column_generation

    assert iterations() > 1
    monkeypatch.setattr(column_generation, "NEGLIGIBLE", 1.0)  # now any number is
    assert iterations() == 1
    assert iterations(pair_tol=0.05) > 1


# --- misuse ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "use",
    [
        lambda m: m.recommend(["u1"]),
        lambda m: m.similar("i1"),
        lambda m: m.explain(["i1"], "i2"),
        lambda m: m.distance(["i1"], "i2"),
        lambda m: m.save("x.corml"),
        lambda m: m.scores([["i1"]]),
        lambda m: m.metric_matrix(),
    ],
)
def test_methods_raise_before_fit(use):
    with pytest.raises(NotFittedError, match="call fit"):
        use(corml.CoRML())


def test_explaining_unknown_ids_is_an_error(model):
    with pytest.raises(UnknownIdError, match="'ghost'"):
        model.explain(["i1"], "ghost")
    with pytest.raises(UnknownIdError, match="1 user id"):
        model.explain("ghost", "i1")
    assert model.explain(["i1", "ghost"], "i2").unknown == ("ghost",)


@pytest.mark.parametrize("data", [[1, 2], None, "ratings.csv"])
def test_only_interactions_can_be_learned_from(data):
    with pytest.raises(UsageError, match="fit learns from Interactions"):
        corml.CoRML().fit(data)


# --- edges -----------------------------------------------------------------------------------------------------------

EDGES = {
    "one pair": [("a", "x")],
    "one user": [("a", "x"), ("a", "y"), ("a", "z")],
    "one item": [("a", "x"), ("b", "x"), ("c", "x")],
    "a user with everything": [("a", "x"), ("a", "y"), ("a", "z"), ("b", "x")],
    "identical items": [(u, i) for u in "abc" for i in "xy"] + [("a", "z")],
    "disconnected groups": [("a", "x"), ("a", "y"), ("b", "p"), ("b", "q")],
    "rank one": [(u, i) for u in "abcd" for i in "wxyz"],
}


@pytest.mark.parametrize("filter", FILTERS)
@pytest.mark.parametrize("pairs", EDGES.values(), ids=EDGES.keys())
def test_edges_are_finite_and_sensible(pairs, filter):
    users, items = zip(*pairs, strict=True)
    model = corml.CoRML(filter=filter, rank=256).fit(from_pairs(pairs))
    found = model.recommend(sorted(set(users)), k=2)
    assert np.isfinite(model.scores([list(set(items))])).all()
    assert model.V_.shape[1] <= min(model.train_.shape)
    for row, reason in zip(found.items, found.reasons, strict=True):
        assert (None in row) == (reason is not None and "exhausted" in reason)


def test_groups_that_never_co_occur_score_nothing_for_each_other():
    pairs = [(f"{a}{u}", f"{b}{i}") for a, b in ("ax", "by") for u in range(6) for i in range(4) if u != i]
    model = corml.CoRML().fit(from_pairs(pairs))
    unrelated = [label.startswith("y") for label in model.items_.labels]
    assert not model.scores([["x0", "x1"]])[0][unrelated].any()


@pytest.mark.parametrize("filter", FILTERS)
def test_rounding_noise_of_zero_scores_is_removed(filter, monkeypatch):
    """Three groups alike have singular values in threes, so V mixes the groups and only its products separate them."""
    rng = np.random.default_rng(0)
    group = np.argwhere(rng.random((24, 8)) < 0.6)
    pairs = rng.permutation([(f"{name}{user}", f"{name}{item}") for name in "xyz" for user, item in group])
    model = corml.CoRML(rank=15, filter=filter).fit(corml.Interactions.from_pairs(pairs[:, 0], pairs[:, 1]))
    unrelated = [not label.startswith("x") for label in model.items_.labels]
    assert not model.scores([["x0", "x1"]])[0, unrelated].any()
    monkeypatch.setattr("corml.models.corml.scoring.NOISE", 0)
    assert model.scores([["x0", "x1"]])[0, unrelated].any()


def test_an_item_without_users_stays_in_the_catalogue_with_a_finite_score(small):
    model = corml.CoRML().fit(small.where(small.item != small.items.rows(["i3"])[0]))
    assert "i3" in model.items_
    assert np.isfinite(model.scores([["i1", "i3"]])).all()
    assert not model.H_[[model.items_.rows(["i3"])[0]]].nnz


@settings(max_examples=150)
@given(
    seed=st.integers(0, 100_000),
    shape=st.tuples(st.integers(1, 12), st.integers(1, 12)),
    mix=st.floats(0.05, 1),
    item_norm=st.floats(-1, 1),
    scale=st.floats(1e-3, 10),
    user_norm=st.sampled_from([0.0, 0.5, 1.0]),
    ridge=st.sampled_from([0.0, 1e-3, 50.0]),
    filter=st.sampled_from(FILTERS),
)
def test_scores_are_finite_for_any_legal_settings(seed, shape, filter, **values):
    rng = np.random.default_rng(seed)
    pairs = np.argwhere(rng.random(shape) < 0.5)
    assume(len(pairs))
    data = corml.Interactions.from_pairs(pairs[:, 0], pairs[:, 1])
    model = corml.CoRML(filter=filter, max_steps=20, tol=0, l2=0.01, **values).fit(data)
    assert np.isfinite(model.score_block(data.matrix, slice(0, data.shape[1]))).all()
    assert np.isfinite(model.H_.data).all()
