"""What every model promises; a new file in `baselines` is tested here without another line."""

import re

import numpy as np
import pytest

import corml
from corml import Interactions, models
from corml._runtime import memory
from corml._runtime.settings import declared
from corml.errors import NotFittedError, ResourceError, SettingError, UsageError
from corml.models import registry
from support import random_interactions

UNTUNED = {  # settings a search leaves alone, and why
    "seed": "chance",
    "device": "where, not what",
    **dict.fromkeys(("epochs", "patience", "every", "minutes"), "how long: the validation pairs tell"),
    **dict.fromkeys(("rho", "max_steps", "tol", "precision", "max_memory"), "how it is computed, not what"),
    **dict.fromkeys(("solver", "route", "candidates", "pair_tol", "partition_ratio"), "what fits: a plan chooses"),
    **dict.fromkeys(("filter", "nonnegative"), "which model it is"),
    "longest_history": "what a single account may cost",
    **dict.fromkeys(("adapt", "learn_rank"), "a choice of its own: one makes it, the other is at most the rank"),
    **dict.fromkeys(("budget", "item_norms", "of"), "for its user to decide"),
}


@pytest.fixture(scope="module", params=models.names())
def fitted(request):
    return models.make(request.param, brief(request.param)).fit(random_interactions(11, 70, 30))


def brief(name):
    """Settings for what every model must do however long it learned: a few epochs, if it has any."""
    return {"epochs": 3} if "epochs" in declared(models.get(name)) else {}


def fresh(model):
    return type(model)(**{name: getattr(model, name) for name in declared(type(model))})


def everyone(model):
    return model._represent(model.train_, np.arange(len(model.users_)))


def test_fit_returns_the_model_and_leaves_settings_and_data_alone(fitted):
    data, again = random_interactions(11, 70, 30), fresh(fitted)
    before, values = data.matrix.copy(), {name: getattr(again, name) for name in declared(type(again))}
    assert again.fit(data) is again
    assert (data.matrix != before).nnz == 0
    assert values == {name: getattr(again, name) for name in declared(type(again))}


def test_the_same_data_give_the_same_lists(fitted):
    again = fresh(fitted).fit(random_interactions(11, 70, 30))
    users = list(fitted.users_.labels)
    np.testing.assert_array_equal(again.recommend(users).items, fitted.recommend(users).items)


def test_scores_are_finite(fitted):
    assert np.isfinite(fitted.score_block(everyone(fitted), slice(0, len(fitted.items_)))).all()


def test_lists_hold_no_seen_item_no_item_twice_and_fall_in_score(fitted):
    users = list(fitted.users_.labels)
    for user, row, scores in zip(users, *(lambda r: (r.items, r.scores))(fitted.recommend(users, k=8)), strict=True):
        seen = set(fitted.items_.labels[fitted.train_[[fitted.users_.rows([user])[0]]].indices])
        items = [item for item in row if item is not None]
        assert not seen & set(items)
        assert len(set(items)) == len(items)
        assert (np.diff(scores[: len(items)]) <= 0).all()


def test_batches_are_what_one_by_one_gives(fitted):
    users = list(fitted.users_.labels[:6])
    together = fitted.recommend(users, k=5).items
    assert [fitted.recommend([user], k=5).items[0].tolist() for user in users] == together.tolist()


def test_bands_of_items_are_pieces_of_all_scores(fitted):
    users = everyone(fitted)
    whole = fitted.score_block(users, slice(0, len(fitted.items_)))
    band = fitted.score_block(users, slice(4, 9))
    np.testing.assert_allclose(band, whole[:, 4:9], rtol=1e-5, atol=1e-7)


def test_saving_and_loading_changes_nothing(fitted, tmp_path):
    path = str(tmp_path / "model.corml")
    fitted.save(path)
    loaded = corml.read_model(path)
    users = list(fitted.users_.labels)
    assert type(loaded) is type(fitted)
    np.testing.assert_array_equal(loaded.recommend(users).items, fitted.recommend(users).items)
    np.testing.assert_array_equal(loaded.recommend(users).scores, fitted.recommend(users).scores)


def test_unfitted_models_raise(fitted):
    with pytest.raises(NotFittedError):
        fresh(fitted).recommend(["u1"])


def test_an_empty_history_gets_popular_items(fitted):
    lists = fitted.recommend(history=[[]], k=3)
    order = np.argsort(-fitted._popularity, kind="stable")[:3]
    assert lists.items[0].tolist() == fitted.items_.labels[order].tolist()
    assert lists.sources == ("fallback",)
    assert lists.reasons == ("most popular items: no history",)


def test_the_catalogue_may_be_a_single_item(fitted):
    lists = fresh(fitted).fit(Interactions.from_pairs("ab", "xx")).recommend(["a"], k=2)
    assert lists.items.tolist() == [[None]]  # no wider than the catalogue
    assert lists.reasons == ("exhausted: 0 of 2, 1 seen or excluded",)


def test_every_setting_has_help_a_valid_default_and_a_search_range(fitted):
    for spec in declared(type(fitted)).values():
        assert spec.help
        assert spec.rule.holds(spec.default)
        assert (spec.search is None) == (spec.name in UNTUNED)
        if spec.search:
            assert all(spec.rule.holds(value) for value in spec.search.values)


def test_every_model_names_its_paper(fitted):
    own = fitted.NAME in ("popularity", "corml-dial")
    assert bool(fitted.CITATION) != own
    assert own or re.search(r": .+ (19|20)\d\d$", fitted.CITATION)  # who: what. where and when


def test_without_users_a_model_answers_histories_or_raises(fitted, tmp_path):
    path, history = tmp_path / "model.corml", [list(fitted.items_.labels[[1, 4]])]
    fitted.save(path, history=False)
    loaded = corml.read_model(path)
    if getattr(fitted, "_folds_in", True):
        lists = loaded.recommend(history=history, k=5)
        np.testing.assert_array_equal(lists.items, fitted.recommend(history=history, k=5).items)
    else:
        for model in (fitted, loaded):
            with pytest.raises(UsageError, match="ask for known users, or take a model that scores histories"):
                model.recommend(history=history)
    with pytest.raises(UsageError, match="saved without its users"):
        loaded.recommend(list(fitted.users_.labels[:1]))


def test_new_interactions_count_at_once_and_survive_a_file(fitted, tmp_path):
    user, had = fitted.users_[3], set(fitted.items_.labels[fitted.train_[[3]].indices])
    new = [item for item in fitted.items_.labels if item not in had][:4]
    after = fitted.update(Interactions.from_pairs([user, user, "somebody new", "somebody new"], new))
    lists = after.recommend([user, "somebody new"], k=len(fitted.items_))
    assert not {*had, *new[:2]} & set(lists[user])
    assert not set(new[2:]) & set(lists["somebody new"])
    assert lists.sources == ("personal", "personal" if fitted._folds_in else "fallback")
    assert "somebody new" not in fitted.users_
    after.save(tmp_path / "model.corml")
    read = corml.read_model(tmp_path / "model.corml").recommend([user, "somebody new"], k=len(fitted.items_))
    np.testing.assert_array_equal(read.items, lists.items)


def test_similar_users_are_sorted_and_exclude_the_user(fitted):
    found = fitted.similar_users(list(fitted.users_)[:5], k=6)
    assert found.users.shape == (5, 6)
    for name, users, values in zip(found.names, found.users, found.similarities, strict=True):
        there = [user for user in users if user is not None]
        assert name not in there
        assert len(set(there)) == len(there) > 0
        assert (np.diff(values[: len(there)]) <= 0).all()
        assert values[0] <= 1


def test_the_order_of_the_pairs_does_not_matter(fitted):
    if hasattr(fitted, "seed"):
        pytest.skip("its first parameters are drawn in the order of the ids, so another order is another model")
    data = random_interactions(11, 70, 30)
    users, items = data.users.labels[data.user], data.items.labels[data.item]
    order = np.random.default_rng(0).permutation(len(users))
    other = fresh(fitted).fit(Interactions.from_pairs(users[order], items[order]))
    rows, columns = other.users_.rows(data.users.labels), other.items_.rows(data.items.labels)
    scores, expected = (model.score_block(everyone(model), slice(0, len(model.items_))) for model in (other, fitted))
    np.testing.assert_allclose(scores[rows][:, columns], expected, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("name", [name for name in models.names() if name != "popularity"])
def test_a_checkerboard_is_recovered(name):
    """Users of one colour have all items of that colour but one each: that one must come first."""
    n = 50
    pairs = [(u, i) for u in range(n) for i in range(n) if (u + i) % 2 == 0 and u != i]
    data = Interactions.from_pairs(*zip(*pairs, strict=True))
    lists = models.make(name, for_small_data(name)).fit(data).recommend(list(range(n)), k=1)
    assert [int(item) for item in lists.items[:, 0]] == list(range(n))


def slow_to_learn(name):
    return name in ("corml-dial", "admm-slim") or ("epochs" in declared(models.get(name)) and name != "bpr-mf")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if slow_to_learn(name) else name
        for name in models.names()
        if name != "popularity"
    ],
)
def test_it_beats_popularity_on_the_bundled_sample(name):
    split = corml.split(corml.load("movielens-small", at_least=4, k_core=10), "ratio")
    floor = corml.evaluate(corml.Popularity().fit(split.train), split, ["ndcg@10"], intervals=False)
    model = models.make(name, for_small_data(name)).fit(split.train, valid=split.valid)
    result = corml.evaluate(model, split, ["ndcg@10"], intervals=False)
    assert result["ndcg@10"] > 1.2 * floor["ndcg@10"]


def for_small_data(name):
    """Settings of gradient models for thousands of pairs and few epochs; the defaults are for millions and many."""
    common = {"batch": 256, "learning_rate": 0.005, "epochs": 12, "patience": 4}
    return common if "epochs" in declared(models.get(name)) else {}


def test_lists_respect_boosts_diversity_and_quotas(fitted):
    users = list(fitted.users_.labels)
    plain = fitted.recommend(users, k=4)
    pushed = fitted.items_.labels[0]
    lists = fitted.recommend(users, k=4, diversity=0.5, boost={pushed: 1.5}, max_share=0.4)
    listed = [item for items in lists.values() for item in items]
    assert max(map(listed.count, set(listed))) <= 0.4 * len(users)
    for user, items in lists.items():
        assert len(items) == len(set(items)) == 4
        assert not set(items) & {fitted.items_[at] for at in fitted.train_[[fitted.users_.rows([user])[0]]].indices}
    diverse = fitted.recommend(users, k=4, diversity=0.5)
    assert (diverse.items[:, 0] == plain.items[:, 0]).all()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("als", "There is no model 'als'; instead use ease or bpr-mf, or corml, the default. The models are: corml, "),
        ("TopPop", "instead use popularity, or corml, the default. The models are: corml, "),
        ("slm", "There is no model 'slm'; did you mean 'slim'? The models are: corml, "),
        ("quite-another", "There is no model 'quite-another'; there is: admm-slim, "),
    ],
)
def test_an_unknown_model_name_gets_an_alternative(name, sentence):
    with pytest.raises(UsageError, match=re.escape(sentence)):
        models.make(name)
    ours = {one for text in registry.INSTEAD.values() for one in text.split(" or ")}
    assert ours <= set(models.names())


WRONG = {
    "corml": {
        "mix": (0, 1.5, float("nan"), True), "rho": (0, -1.0), "l2": (-1,), "ridge": ("much",), "scale": (0,),
        "rank": (0, 10_001, 2.5), "filter": ("both",), "solver": ("gradient",), "partition_ratio": (0,),
        "max_steps": (0,), "tol": (-1e-3,), "budget": (0,), "precision": ("half",), "user_norm": (float("inf"),),
    },
    "ease": {"l2": (0, "much"), "route": ("sparse",), "candidates": (0,), "neighbours": (0,)},
    "slim": {"l1": (-1,), "l2": (0,), "candidates": (0,), "tol": (0,), "max_steps": (0,)},
    "admm-slim": {"l1": (-1,), "l2": (0,), "nonnegative": (1,), "item_norm": (2,), "rho": (0,), "tol": (2,)},
    "gf-cf": {"rank": (0,), "alpha": (-0.1,), "route": ("dense",)},
    "item-knn": {"neighbours": (0, 2.5), "shrink": (-1, float("nan"))},
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "setting", "value"),
    [(name, one, value) for name, of in WRONG.items() for one, values in of.items() for value in values],
)
def test_settings_out_of_range_are_refused_with_their_range(name, setting, value, data):
    kind = models.get(name)
    with pytest.raises(SettingError, match=rf"{setting} of {kind.__name__} must be .*; got"):
        kind(**{setting: value}).fit(data)


@pytest.mark.parametrize(
    ("name", "settings", "sentence"),
    [
        ("ease", {"route": "dense"}, r"EASE of 25 items on the dense route needs .*; set route=local"),
        ("ease", {"route": "local"}, "set fewer candidates"),
        ("slim", {}, "SLIM with all pairs of 25 items that share a user needs"),
        ("admm-slim", {}, r"ADMM-SLIM with 6 dense arrays .* use the model slim"),
    ],
)
def test_a_fit_that_exceeds_memory_is_refused_by_fit_and_plan(name, settings, sentence, data, monkeypatch):
    monkeypatch.setattr(memory, "budget", lambda: 100)
    for use in (models.make(name, settings).fit, models.make(name, settings).plan):
        with pytest.raises(ResourceError, match=sentence):
            use(data)
