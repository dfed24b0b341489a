"""Of a very long history a part is learned from: which, by whom, and that it costs no more than that."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import corml
from corml import models
from corml.data.interactions import Interactions
from corml.data.long_histories import LONGEST, are_degrees, shortened
from corml.errors import ModelFileError
from support import random_interactions, with_arrays, with_weights

COUNTS_PAIRS = ("corml", "ease", "slim", "admm-slim", "item-knn", "ultragcn")
MATRICES = ("corml", "ease", "slim", "admm-slim", "item-knn")


def heavy(n, others=199, beside=30):
    """One user with n items, so many others with one of them, and some who know each other's items."""
    rng = np.random.default_rng(0)
    users = ["crawler"] * n + [f"u{k}" for k in range(others)] + [f"v{k // 3}" for k in range(3 * beside)]
    items = [*range(n), *rng.integers(0, n, others), *rng.integers(0, 20, 3 * beside)]
    return Interactions.from_pairs(users, [f"i{item}" for item in items])


def crowd():
    """An ordinary crowd, and one account with 150 of its 200 items."""
    rest = random_interactions(0, 300, 200, 8)
    users = [*(f"u{u}" for u in rest.user), *["crawler"] * 150]
    return Interactions.from_pairs(users, [f"i{i}" for i in [*rest.item, *range(150)]])


def pairs_of(data):
    return set(zip(data.users.labels[data.user].tolist(), data.items.labels[data.item].tolist(), strict=True))


def learned(model):
    return {
        name: array.toarray() if hasattr(array, "toarray") else array for name, array in model.fitted_.arrays.items()
    }


def assert_same(one, other):
    for name, array in learned(one).items():
        np.testing.assert_array_equal(array, learned(other)[name], err_msg=name)


# --- the rule --------------------------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 30)), min_size=1, max_size=90, unique=True),
    st.integers(2, 12),
    st.randoms(use_true_random=False),
)
def test_shortened_histories_do_not_depend_on_row_order(pairs, longest, random):
    data = Interactions.from_pairs(*zip(*pairs, strict=True))
    kept = shortened(data, longest)
    assert kept.user_degrees.tolist() == np.minimum(data.user_degrees, longest).tolist()
    assert pairs_of(kept) <= pairs_of(data)
    assert (kept.users, kept.items) == (data.users, data.items)
    shuffled = Interactions.from_pairs(*zip(*random.sample(pairs, len(pairs)), strict=True))
    assert pairs_of(shortened(shuffled, longest)) == pairs_of(kept)


def test_longer_samples_contain_shorter_ones_and_users_differ():
    items = [f"i{k}" for k in range(400)]
    data = Interactions.from_pairs(["a"] * 400 + ["b"] * 400, items * 2)
    few, more = pairs_of(shortened(data, 100)), pairs_of(shortened(data, 150))
    assert few < more
    a, b = ({item for user, item in few if user == one} for one in "ab")
    assert 5 < len(a & b) < 60  # 25 of 100 are expected of two draws that know nothing of each other


def test_the_sample_is_stable_between_versions():
    """It decides what a model learns from: another one would change models that are fitted again."""
    data = Interactions.from_pairs(["a"] * 12, [f"i{k}" for k in range(12)])
    assert sorted(item for _, item in pairs_of(shortened(data, 4))) == ["i0", "i1", "i4", "i8"]


def test_weights_follow_their_pairs():
    data = with_weights(crowd())
    kept = shortened(data, 100)
    weight = dict(zip(zip(data.user.tolist(), data.item.tolist(), strict=True), data.weights.tolist(), strict=True))
    assert [weight[pair] for pair in zip(kept.user.tolist(), kept.item.tolist(), strict=True)] == kept.weights.tolist()


@pytest.mark.parametrize("longest", [None, 150, LONGEST])
def test_the_same_object_is_learned_from_where_no_history_is_longer(longest):
    data = crowd()
    assert shortened(data, longest) is data


# --- models ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COUNTS_PAIRS)
def test_pair_counting_models_have_longest_history(name):
    assert models.get(name)().longest_history == LONGEST
    assert corml.CoRML.paper().longest_history is None


@pytest.mark.parametrize("name", MATRICES)
def test_a_fit_equals_a_fit_on_shortened_data(name):
    data = crowd()
    make = models.get(name)
    model = make(longest_history=60).fit(data)
    assert_same(model, make(longest_history=None).fit(shortened(data, 60)))
    assert_same(make().fit(data), make(longest_history=None).fit(data))
    whole = learned(make(longest_history=None).fit(data))
    assert any(not np.array_equal(array, whole[array_name]) for array_name, array in learned(model).items())


@pytest.mark.parametrize("name", MATRICES)
def test_the_whole_history_is_scored_and_excluded_from_lists(name, tmp_path):
    data = crowd()
    model = models.get(name)(longest_history=60).fit(data)
    assert model.fitted_.train.nnz == len(data)
    assert model.fitted_.fingerprint == data.fingerprint
    np.testing.assert_array_equal(model.counts_, data.item_degrees)
    known = {f"i{k}" for k in range(150)}
    assert not known & set(model.recommend(["crawler"], k=40).items[0])
    whole = model.scores([[f"i{k}" for k in range(150)]])
    np.testing.assert_allclose(model.scores(data)[data.users.find(["crawler"])[0]], whole[0], rtol=1e-4, atol=1e-6)
    assert not np.allclose(whole, model.scores([[f"i{k}" for k in range(60)]]))
    model.save(tmp_path / "a.corml")
    again = corml.read_model(tmp_path / "a.corml")
    assert again.settings_.longest_history == 60
    assert again.fitted_.plan == model.fitted_.plan
    assert_same(again, model)


@pytest.mark.parametrize("name", COUNTS_PAIRS)
def test_a_plan_reports_what_is_left_out(name):
    data = crowd()
    settings = {"longest_history": 60} | ({"epochs": 0} if name == "ultragcn" else {})
    model = models.make(name, settings)
    for plan in (model.plan(data), model.fit(data).fitted_.plan):
        assert (plan.long_histories, plan.left_out) == (1, 90)
        assert plan.report() | {"long histories": 1, "left out of them": 90} == plan.report()
    ordinary = models.make(name, settings | {"longest_history": 150}).plan(data)
    assert (ordinary.long_histories, ordinary.left_out) == (0, 0)
    assert "long histories" not in ordinary.report()


def test_a_plan_uses_shortened_histories():
    """SLIM counts all pairs: of 100,000 items of one history they would not fit anywhere."""
    assert corml.models.make("slim", {}).plan(heavy(100_000)).predicted_bytes < 2 << 30
    short, whole = (corml.CoRML(longest_history=n, solver="sparse").plan(crowd()).pairs for n in (60, None))
    assert short < 0.9 * whole


def test_a_dial_uses_shortened_histories(tmp_path):
    data, norms = crowd(), (0.0, 0.1)
    dial = corml.CoRML.dial(data, norms, longest_history=60)
    alike = corml.CoRML.dial(shortened(data, 60), norms, longest_history=None)
    assert_same(dial, alike)
    dial.save(tmp_path / "dial.corml")
    assert_same(corml.read_model(tmp_path / "dial.corml"), dial)


def test_a_workspace_supports_changing_lengths():
    data = crowd()
    workspace = corml.Workspace(data)
    for longest in (60, None, 100, 60):
        model = corml.CoRML(longest_history=longest, adapt=False)
        assert_same(model.fit(data, workspace=workspace), corml.CoRML(**model.get_params()).fit(data))


def test_a_warm_start_from_another_length_takes_no_singular_vectors():
    data = crowd()
    cold = corml.CoRML(longest_history=60, adapt=False, rank=16).fit(data)
    warm = corml.CoRML(longest_history=60, adapt=False, rank=16).fit(
        data, warm_start=corml.CoRML(longest_history=None, adapt=False, rank=16).fit(data)
    )
    np.testing.assert_array_equal(warm.V_, cold.V_)
    np.testing.assert_allclose(warm.H_.toarray(), cold.H_.toarray(), atol=2e-3)


def test_a_refit_learns_with_the_same_setting():
    data = crowd()
    model = corml.CoRML(longest_history=60, adapt=False).fit(data)
    more = Interactions.from_pairs(["crawler"] * 5, [f"i{k}" for k in range(150, 155)])
    again = model.update(more, refit=True)
    assert again.settings_.longest_history == 60
    assert again.fitted_.plan.left_out == 95
    assert again.fitted_.train.nnz == len(data) + 5


def test_degrees_in_a_file_match_the_shortened_histories():
    data = crowd()
    degrees, counts = shortened(data, 60).item_degrees.clip(1), data.item_degrees
    assert are_degrees(degrees, counts, data.matrix, 60)
    assert not are_degrees(degrees, counts, data.matrix, None)
    assert not are_degrees(degrees, counts, data.matrix, 61)
    assert not are_degrees(degrees + 200, counts, data.matrix, 60)
    model = corml.CoRML(longest_history=60, adapt=False).fit(data)
    with pytest.raises(ModelFileError, match="degrees"):
        with_arrays(model, degrees=np.ones_like(model.degrees_))._check_state()


@pytest.mark.parametrize("kind", ["plain", "weighted"])
def test_a_fit_on_a_store_equals_a_fit_in_memory(kind, tmp_path):
    data = crowd() if kind == "plain" else with_weights(crowd())
    path = tmp_path / "pairs.parquet"
    data.to_frame().write_parquet(path)
    options = {"weight": "weight"} if kind == "weighted" else {}
    store = corml.build_store(path, tmp_path / "pairs.store", **options)
    model = corml.CoRML(longest_history=60, adapt=False, solver="sparse")
    of_store, in_memory = (
        corml.fit_store(model, store).fitted_,
        corml.CoRML(**model.get_params()).fit(store.interactions()).fitted_,
    )
    np.testing.assert_allclose(of_store.arrays["H"].toarray(), in_memory.arrays["H"].toarray(), atol=1e-5)
    np.testing.assert_array_equal(of_store.arrays["degrees"], in_memory.arrays["degrees"])
    assert of_store.train.nnz == len(data)
    for plan in (of_store.plan, corml.plan_store(model, store)):
        assert (plan.long_histories, plan.left_out) == (1, 90)
    assert corml.plan_store(model, store).pairs == pytest.approx(in_memory.plan.pairs, rel=0.1)


# --- what it costs ---------------------------------------------------------------------------------------------------


def seconds_of(work):
    begun = time.process_time()
    work()
    return time.process_time() - begun


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("corml", {"longest_history": 500}),
        pytest.param("item-knn", {"longest_history": 500}, marks=pytest.mark.slow),
        pytest.param("slim", {"longest_history": 500}, marks=pytest.mark.slow),
        pytest.param("ease", {"route": "local", "longest_history": 500}, marks=pytest.mark.slow),
    ],
)
def test_the_cost_is_not_the_square_of_the_longest_history(name, settings):
    """Four times the history takes less than six times as long, where the square would take sixteen times."""
    make = models.get(name)
    make(**settings).fit(heavy(600))  # compiled
    short, long = (
        min(seconds_of(lambda n=n: make(**settings).fit(heavy(n))) for _ in range(2)) for n in (10_000, 40_000)
    )
    assert long < 6 * short + 0.1


@pytest.mark.slow
@pytest.mark.parametrize("n", [10_000, 100_000])
@pytest.mark.parametrize("name", ["corml", "ease", "slim", "item-knn", "gf-cf", "popularity"])
def test_a_heavy_user_takes_less_than_half_a_minute(name, n):
    settings = {"route": "local"} if name == "ease" else {}
    make = models.get(name)
    make(**settings).fit(heavy(600))
    assert seconds_of(lambda: make(**settings).fit(heavy(n))) < 30


@pytest.mark.slow
@pytest.mark.parametrize(("n", "longest"), [(10_000, LONGEST), (100_000, LONGEST), (5_000, None)])
def test_the_predicted_time_is_that_of_a_heavy_user(n, longest):
    """0.15 s were predicted where 37 were taken."""
    data, model = heavy(n), corml.CoRML(longest_history=longest)
    model.fit(heavy(600))
    predicted = model.plan(data).predicted_seconds
    taken = seconds_of(lambda: model.fit(data)) / 2  # two threads
    assert taken / 4 < predicted < 4 * taken
