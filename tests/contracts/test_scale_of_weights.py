"""The unit of weights says nothing, an outlier is not all that a fit sees, and a list without an order is told apart.

Every model that is listed is tested here without another line.
"""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import corml
from corml import Interactions, models
from corml._runtime.settings import declared
from corml.data.strength import Cap, scored
from corml.errors import DataWarning, WeightsWarning
from corml.recommend.result import FALLBACK, PERSONAL
from support import random_interactions

LEARN = [name for name in models.names() if models.get(name).LEARNS_WEIGHTS]
FITS = {name: (name, {}) for name in LEARN} | {
    "corml, dense": ("corml", {"solver": "admm", "adapt": False}),
    "corml, pairs": ("corml", {"solver": "sparse", "candidates": 12, "adapt": False}),
    "corml, clipped": ("corml", {"filter": "elementwise", "adapt": False}),
    "ease, local": ("ease", {"route": "local"}),
    "gf-cf, pairs": ("gf-cf", {"route": "pairs"}),
    "gf-cf, users": ("gf-cf", {"route": "users"}),
}
UNITS = [2.0**-40, 7e8, 1e-30]


def made(fit):
    name, settings = FITS[fit]
    small = {"of": {"rank": 8}, "item_norms": (-0.1, 0.1)} if name == "corml-dial" else {}
    return models.make(name, {**small, **({"rank": 8} if name == "corml" else {}), **settings})


def weighted(seed=3):
    """Interactions of all strengths, of which a tenth were taken back."""
    data = random_interactions(seed, 160, 40, mean=9)
    rng = np.random.default_rng(seed)
    data = replace(data, weights=rng.lognormal(size=len(data)).astype(np.float32))
    return data.with_negative(data.where(rng.random(len(data)) < 0.1))


def in_unit(data, unit):
    """The same data with all weights, also of what was refused, in another unit."""
    factor = np.float32(unit)
    negative = None if data.negative is None else replace(data.negative, weights=data.negative.weights * factor)
    return replace(data, weights=data.weights * factor, negative=negative)


def same_lists(one, other, *, exactly):
    if exactly:
        np.testing.assert_array_equal(one.items, other.items)
        np.testing.assert_array_equal(one.scores, other.scores)
        return
    # another unit rounds weights otherwise, and items whose scores are equal up to that may change places
    np.testing.assert_allclose(one.scores, other.scores, rtol=2e-3, atol=2e-4)
    assert (one.items == other.items).mean() > 0.995


@pytest.fixture(scope="module", params=FITS)
def fitted(request):
    return request.param, made(request.param).fit(weighted())


@pytest.mark.parametrize("unit", UNITS)
def test_the_unit_of_weights_changes_no_list(fitted, unit):
    fit, model = fitted
    users = model.users_.labels.tolist()
    other = made(fit).fit(in_unit(weighted(), unit))
    same_lists(model.recommend(users, k=6), other.recommend(users, k=6), exactly=np.log2(unit).is_integer())


@pytest.mark.parametrize("unit", UNITS)
def test_the_unit_of_a_history_changes_no_list(fitted, unit):
    _, model = fitted
    one, other = (model.recommend(history=data, k=6) for data in (weighted(), in_unit(weighted(), unit)))
    same_lists(one, other, exactly=np.log2(unit).is_integer())


def test_age_does_not_change_the_order_of_a_list(fitted):
    """A half-life has multiplied all its weights by the same number."""
    _, model = fitted
    data = weighted()
    age = np.float32(2) ** -np.random.default_rng(0).integers(0, 60, len(data.users)).astype(np.float32)
    negative = replace(data.negative, weights=data.negative.weights * age[data.negative.user])
    old = replace(data, weights=data.weights * age[data.user], negative=negative)
    same_lists(model.recommend(history=data, k=6), model.recommend(history=old, k=6), exactly=True)


def test_explanations_add_up_in_any_unit():
    model = corml.models.make("ease").fit(in_unit(weighted(), 1e-9))
    lists = model.recommend(["u3"], k=3)
    for item, score in zip(lists.items[0], lists.scores[0], strict=True):
        assert model.explain("u3", item).score == pytest.approx(score, rel=1e-4)


@pytest.mark.parametrize("unit", [1e-30, 2.0**-40, 1e30])
def test_the_unit_of_weights_changes_no_list_of_a_store(unit, tmp_path):
    data = replace(weighted(), negative=None, seen=None)
    lists = []
    for name, one in {"plain": data, "other": in_unit(data, unit)}.items():
        corml.data.write(one, tmp_path / f"{name}.parquet")
        store = corml.build_store(tmp_path / f"{name}.parquet", tmp_path / f"{name}.store", weight="weight")
        model = corml.fit_store(corml.CoRML(solver="sparse", rank=8, adapt=False), store)
        lists.append(model.recommend(data.users.labels.tolist(), k=6))
    same_lists(*lists, exactly=np.log2(unit).is_integer())


# --- outliers --------------------------------------------------------------------------------------------------------


def with_outliers(count=1, seed=3):
    """Ratings from 1 to 5, and the same where the first few are 10,000."""
    data = random_interactions(seed, 160, 40, mean=9)
    weights = np.random.default_rng(seed).integers(1, 6, len(data)).astype(np.float32)
    odd = np.where(np.arange(len(data)) < count, np.float32(1e4), weights)
    return replace(data, weights=weights), replace(data, weights=odd)


@pytest.mark.parametrize("fit", FITS)
def test_an_outlier_does_not_change_lists_of_other_users(fit):
    plain, odd = with_outliers()
    model = made(fit).fit(plain)
    with pytest.warns(DataWarning, match="^1 pair weighs more than 10 times the strongest of the others .up to 10000."):
        other = made(fit).fit(odd)
    users = plain.users.labels.tolist()
    users.remove(users[plain.user[0]])
    one, two = model.recommend(users, k=6), other.recommend(users, k=6)
    assert set(two.sources) == {PERSONAL}
    shared = [len(set(a) & set(b)) / 6 for a, b in zip(one.items, two.items, strict=True)]
    assert np.mean(shared) > 0.8
    report = other.fitted_.plan.report()
    assert (report["weight cap"], report["pairs above it"]) == (50, 1)
    assert "weight cap" not in model.fitted_.plan.report()
    np.testing.assert_array_equal(other.fitted_.weights, odd.weights_by_row)  # histories are scored as they are


def test_a_capped_fit_is_that_of_capped_weights(tmp_path):
    _, odd = with_outliers(4)
    capped = replace(odd, weights=np.minimum(odd.weights, np.float32(50)))
    with pytest.warns(DataWarning, match="^4 pairs weigh more than 10 times"):
        one = made("corml").fit(odd)
    two = made("corml").fit(capped)
    np.testing.assert_array_equal(one.H_.toarray(), two.H_.toarray())
    assert made("corml").plan(odd).capped == 4
    one.save(tmp_path / "m.corml")
    assert corml.read_model(tmp_path / "m.corml").fitted_.plan.weight_cap == 50


def test_a_store_has_the_cap_of_its_interactions(tmp_path):
    _, odd = with_outliers(4)
    corml.data.write(odd, tmp_path / "a.parquet")
    store = corml.build_store(tmp_path / "a.parquet", tmp_path / "a.store", weight="weight")
    how = {"solver": "sparse", "rank": 8, "adapt": False}
    assert corml.plan_store(corml.CoRML(**how), store).weight_cap == 50
    with pytest.warns(DataWarning, match="^4 pairs weigh more"):
        of_store = corml.fit_store(corml.CoRML(**how), store)
    with pytest.warns(DataWarning, match="^4 pairs weigh more"):
        in_memory = corml.CoRML(**how).fit(corml.load(tmp_path / "a.parquet", weight="weight"))
    assert of_store.fitted_.plan.capped == in_memory.fitted_.plan.capped == 4
    users = odd.users.labels.tolist()
    np.testing.assert_array_equal(of_store.recommend(users, k=5).items, in_memory.recommend(users, k=5).items)


@pytest.mark.parametrize("size", [1, 99, 1_000, 50_000])
def test_ordinary_weights_have_no_cap(size):
    rng = np.random.default_rng(size)
    ordinary = {
        "ratings": rng.integers(1, 6, size),
        "events": rng.choice([1, 3, 10], size, p=[0.9, 0.07, 0.03]) * (1 + rng.poisson(rng.exponential(2, size))),
        "ages": 0.5 ** rng.uniform(0, 40, size),
        "play counts": np.ceil(rng.lognormal(1, 1.5, size)),
    }
    for name, weights in ordinary.items():
        assert Cap.of(weights.astype(np.float32)) is None, name


def test_a_cap_of_capped_weights_is_none():
    for unit in UNITS:
        weights = np.r_[np.random.default_rng(0).random(500), [1e5, 1e6]].astype(np.float32) * np.float32(unit)
        cap = Cap.of(weights)
        assert cap.pairs == 2
        assert Cap.of(np.minimum(weights, cap.weight)) is None


# --- no preference ---------------------------------------------------------------------------------------------------


def islands():
    """Two groups of users that share no item, and one user whose only item nobody else has."""
    rng = np.random.default_rng(0)
    sides = [(side, user, item) for side in "ab" for user in range(40) for item in range(12)]
    pairs = [(f"{side}{user}", f"{side}i{item}") for side, user, item in sides if rng.random() < 0.4]
    users, items = zip(*pairs, ("alone", "only-theirs"), strict=True)
    return Interactions.from_pairs(users, items)


@pytest.fixture(scope="module", params=models.names())
def on_islands(request):
    brief = {"epochs": 1} if "epochs" in declared(models.get(request.param)) else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightsWarning)
        return models.make(request.param, brief).fit(islands())


def without_order(model, user, options):
    """Whether the model scores all that the user may get alike, or none above zero: by all scores."""
    state, number = model.fitted_, model.users_.find([user])
    X = state.histories.pairs.pattern[number]
    scores = model.score_block(model._represent(X, number), slice(0, len(model.items_)))[0]
    if options.get("boost"):
        assert options["boost"] == {"bi1": 2}  # which keeps a zero and equal scores of all others as they are
    may = np.delete(scores, X.indices)
    return bool(may.max() == 0 or may.max() == may.min())


@pytest.mark.parametrize("options", [{}, {"k": 1}, {"diversity": 0.5}, {"max_share": 0.9}, {"exclude": ["ai1"]}])
def test_equal_scores_give_the_fallback_list(on_islands, options):
    lists = on_islands.recommend(["alone", "a1", "b2"], **options)
    for user, source, reason in zip(lists.users, lists.sources, lists.reasons, strict=True):
        alike = without_order(on_islands, user, options)
        assert source == (FALLBACK if alike else PERSONAL)
        assert ("the model scores all of them alike" in (reason or "")) == alike


ITEM_MODELS = [name for name in LEARN if name not in ("corml", "corml-dial", "gf-cf")]


@pytest.mark.parametrize("name", ITEM_MODELS)
@pytest.mark.parametrize("options", [{}, {"diversity": 0.3}, {"max_share": 0.9}, {"boost": {"bi1": 2.0}}])
def test_a_user_without_shared_items_gets_popular_items(name, options):
    model = models.make(name).fit(islands())
    lists = model.recommend(["a1", "alone"], k=3, **options)
    assert lists.sources == (PERSONAL, FALLBACK)
    assert lists.reasons[1] == "most popular items: the model scores all of them alike"
    if not options:
        stranger = model.recommend(["nobody"], k=3, exclude=["only-theirs"], unknown="fallback")
        assert lists.items[1].tolist() == stranger.items[0].tolist()
        assert lists.scores[1].tolist() == stranger.scores[0].tolist()


def test_a_single_allowed_item_is_not_a_fallback():
    model = models.make("item-knn").fit(islands())
    assert model.recommend(["alone"], only=["ai1"]).sources == (PERSONAL,)
    assert model.recommend(["alone"], only=["ai1", "bi1"]).sources == (FALLBACK,)


def test_equal_scores_ahead_of_others_are_a_preference():
    """All of the list is equally near, and nearer than what is not on it."""
    users, items = zip(*[(u, i) for u in "pqr" for i in "wxyz"], ("s", "w"), ("t", "v"), ("u", "v"), strict=True)
    lists = models.make("item-knn", shrink=0).fit(Interactions.from_pairs(users, items)).recommend(["s"], k=2)
    assert lists.scores[0][0] == lists.scores[0][1] > 0
    assert lists.sources == (PERSONAL,)


def test_lists_in_files_name_the_fallback(tmp_path):
    model = models.make("item-knn").fit(islands())
    corml.recommend_to(model, tmp_path / "lists", k=3)
    import polars

    rows = polars.read_parquet(tmp_path / "lists" / "*.parquet").filter(user="alone")
    assert set(rows["source"]) == {"fallback"}


def test_histories_without_weights_are_scored_as_they_are():
    data = islands()
    assert scored(data.matrix, None) is data.matrix
