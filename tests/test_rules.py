"""Rules of lists: boost, diversity, limits by category and shares, alone and together, against the plainest way."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import corml
from corml import Interactions
from corml.data.attributes import Attributes, indicators
from corml.data.ids import Ids
from corml.errors import DataWarning, UsageError
from corml.evaluation import evaluate_lists
from corml.linalg.closeness import Closeness
from corml.models.fitted import Outcome, learned
from corml.models.recommender import Recommender
from corml.recommend import rerank
from corml.recommend.options import ListRules
from corml.recommend.rerank import quota_of
from corml.recommend.score import boosted, unboosted
from slow_lists import all_lists, one_list, ranking
from slow_lists import boosted as plainly_boosted
from support import random_interactions

GENRES = ("comedy", "crime", "drama")


def attributes(genres):
    """A table with the genres of each item, given by number."""
    items = Ids([f"i{item}" for item in range(len(genres))])
    return Attributes(items, {"genre": indicators([GENRES[genre] for genre in own] for own in genres)})


@dataclass(kw_only=True, eq=False)
class Table(Recommender):
    """Scores as they stand in a table."""

    NAME: ClassVar[str] = "table"
    table_ = learned(np.ndarray, "users", "items")
    near_ = learned(np.ndarray, "items", "items")
    attributes_: ClassVar[Attributes]

    def _fit(self, call):
        return Outcome(arrays={"table": type(self).scores, "near": type(self).near})

    def _represent(self, X, users):
        return self.table_[users]

    def score_block(self, users, columns):
        return users[:, columns].copy()

    def _closeness(self):
        return Closeness(np.ones(len(self.items_), np.float32), csr_array(self.near_))


def table(seed, users=9, items=16):
    """A model with whole numbers as scores and closeness, so that nothing depends on rounding."""
    rng = np.random.default_rng(seed)
    data = random_interactions(seed, users=users, items=items, mean=2)
    data = data.on(data.users, Ids([f"i{item}" for item in range(items)]))
    near = np.triu(rng.integers(0, 4, (items, items)) * (rng.random((items, items)) < 0.4), 1)
    kind = type("Drawn", (Table,), {})
    kind.scores = rng.integers(-3, 12, (len(data.users), items)).astype(np.float32)
    kind.near = (near + near.T).astype(np.float64)
    kind.genres = [sorted(rng.choice(3, rng.integers(0, 3), replace=False)) for _ in range(items - 3)] + [[0], [1], [2]]
    kind.attributes_ = attributes(kind.genres)
    return kind().fit(data)


def numbers(model, lists):
    return [model.items_.rows(items).tolist() for items in lists.values()]


RULES = st.fixed_dictionaries(
    {},
    optional={
        "diversity": st.sampled_from([0.25, 0.5, 1.0]),
        "max_per": st.sampled_from([{"genre": 1}, {"genre": 2}]),
        "boost": st.sampled_from([{"i3": 4.0}, {"i3": 0.5, "genre": {"comedy": 2.0, "crime": 4}}]),
        "max_share": st.sampled_from([0.12, 0.3, 0.5, 1.0]),
    },
)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), k=st.integers(1, 5), rules=RULES, wide=st.booleans(), limited=st.booleans())
def test_any_rules_together_give_the_lists_of_the_plainest_way(seed, k, rules, wide, limited):
    model = table(seed)
    names = list(model.users_)
    only = [f"i{item}" for item in range(0, 16, 2)] if limited else None
    before = rerank.AT_ONCE, rerank.POOL
    rerank.AT_ONCE, rerank.POOL = (1 << 23 if wide else 1), 2
    try:
        lists = model.recommend(names, k=k, only=only, **rules)
    finally:
        rerank.AT_ONCE, rerank.POOL = before

    expected, factors = slowly(model, k, rules, set(range(0, 16, 2)) if limited else None)
    assert numbers(model, lists) == expected
    for row, items in enumerate(expected):
        assert lists.scores[row, : len(items)].tolist() == model.table_[row, items].tolist()  # the model's own
        if factors is not None:
            assert lists.boosts[row, : len(items)].tolist() == [factors[item] for item in items]
        assert len(items) == k or "exhausted" in lists.reasons[row]


def slowly(model, k, rules, allowed=None):
    genres, factors = model.genres, None
    scores = model.table_.astype(np.float64)
    if "boost" in rules:
        factors = [1.0] * 16
        for name, factor in rules["boost"].items():
            for item in range(16):
                if name == f"i{item}":
                    factors[item] *= factor
                elif name == "genre":
                    for genre in genres[item]:
                        factors[item] *= factor.get(GENRES[genre], 1)
        scores = np.array([[plainly_boosted(s, f) for s, f in zip(row, factors, strict=True)] for row in scores])
    banned = [set(model.train_[[row]].indices.tolist()) for row in range(len(model.users_))]
    how = {"diversity": rules.get("diversity", 0), "pool": 2 * k, "close": model.near_}
    if "max_per" in rules:
        how |= {"categories": genres, "caps": [rules["max_per"]["genre"]] * 3}
    quota = quota_of(rules.get("max_share"), len(banned))
    return all_lists(scores, banned, k, quota=quota, names=list(model.users_), allowed=allowed, **how), factors


# --- nothing asked for, nothing changed ------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [corml.CoRML(rank=4), corml.Popularity()], ids=lambda model: model.NAME)
def test_rules_that_ask_for_nothing_change_no_bit(model, data):
    model.fit(data)
    plain = model.recommend(list(data.users), k=6)
    same = model.recommend(list(data.users), k=6, diversity=0, boost={}, max_per={}, max_share=None)
    assert (same.items == plain.items).all()
    assert (model.recommend(list(data.users), k=6, max_share=1.0).items == plain.items).all()
    assert same.scores.tobytes() == plain.scores.tobytes()
    assert same.rules == plain.rules == ""
    assert same.boosts is None
    assert same.to_frame().columns == ["user", "rank", "item", "score", "source", "reason"]


# --- diversity -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def movies():
    data = corml.load("movielens-small", at_least=4, k_core=20)
    split = corml.split(data, "ratio", seed=2026)
    return corml.CoRML().fit(split.train), split


def test_more_diversity_is_more_diverse_by_a_distance_that_is_not_the_models_and_costs_accuracy(movies):
    model, split = movies
    plain, some, most = (
        corml.evaluate(model, split, "diversity@10,ndcg@10", rules=ListRules(diversity=d), intervals=False)
        for d in (0.0, 0.3, 1.0)
    )
    assert plain["diversity@10"] < some["diversity@10"] < most["diversity@10"]
    assert plain["ndcg@10"] > some["ndcg@10"] > most["ndcg@10"] > plain["ndcg@10"] / 3
    assert "lists with diversity 0.3" in some.table()
    assert some.record()["rules"] == "diversity 0.3"
    assert "rules" not in plain.record()


def test_lists_stay_within_the_pool_and_keep_the_best_item(movies):
    model, split = movies
    users = list(split.train.users)[:40]
    pools = model.recommend(users, k=10 * rerank.POOL)
    for items, pool in zip(model.recommend(users, k=10, diversity=1).values(), pools.values(), strict=True):
        assert items[0] == pool[0]
        assert set(items) <= set(pool)


@pytest.mark.parametrize("name", ["ease", "item-knn", "gf-cf"])
def test_models_without_a_metric_go_by_the_users_of_items(name, data):
    model = corml.models.make(name).fit(data)
    lists = model.recommend(list(data.users)[:5], k=4, diversity=0.5)
    close = Closeness.by_users(model.train_)
    n = len(model.items_)
    left, right = (side.ravel() for side in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    near = close.between(left, right).reshape(n, n)
    histories = [data.items.labels[data.item[data.user == row]].tolist() for row in range(5)]
    for items, history, scores in zip(lists.values(), histories, model.scores(histories), strict=True):
        order = ranking(scores, set(model.items_.rows(history)))
        expected = one_list(order, scores.astype(np.float64), 4, diversity=0.5, pool=4 * rerank.POOL, close=near)
        assert model.items_.rows(items).tolist() == expected


def test_a_file_without_users_has_diverse_lists_if_its_model_has_a_metric(tmp_path, data):
    for model in (corml.CoRML(rank=4), corml.models.make("ease")):
        model.fit(data).save(tmp_path / f"{model.NAME}.corml", history=False)
    history = [["i0", "i1"]]
    read = corml.read_model(tmp_path / "corml.corml")
    fresh = corml.CoRML(rank=4).fit(data).recommend(history=history, k=5, diversity=0.5)
    assert (read.recommend(history=history, k=5, diversity=0.5).items == fresh.items).all()
    with pytest.raises(UsageError, match="A model without a metric makes lists diverse by the users of items"):
        corml.read_model(tmp_path / "ease.corml").recommend(history=history, diversity=0.5)


# --- boost -----------------------------------------------------------------------------------------------------------


@given(score=st.floats(-1e3, 1e3, width=32), more=st.floats(0, 1e3, width=32), factor=st.floats(0.0625, 64, width=32))
def test_a_boost_keeps_the_order_of_scores_and_never_lowers_one(score, more, factor):
    low, high = (boosted(np.float32(value), np.float32(factor)) for value in (score, score + more))
    assert low <= high
    assert (boosted(np.float32(score), np.float32(max(factor, 1))) >= np.float32(score)).all()
    assert (boosted(np.float32(score), np.float32(min(factor, 1))) <= np.float32(score)).all()


@given(score=st.floats(-1e3, 1e3, width=32).filter(lambda s: abs(s) > 1e-6), factor=st.floats(0.0625, 64, width=32))
def test_the_models_own_score_comes_back(score, factor):
    there = boosted(np.float32([score]), np.float32([factor]))
    np.testing.assert_allclose(unboosted(there, np.float32([factor])), [np.float32(score)], rtol=1e-6)


def test_scores_stay_those_that_explain_adds_up_and_the_boost_stands_beside_them(data):
    model = corml.CoRML(rank=4).fit(data)
    history = ["i0", "i4"]
    plain = model.recommend(history=[history], k=20)
    last = plain.values()[0][5]
    lists = model.recommend(history=[history], k=3, boost={last: 1000})
    assert lists.values()[0][0] == last
    assert lists.boosts[0].tolist() == [1000, 1, 1]
    assert lists.scores[0, 0] == pytest.approx(model.explain(history, last).score, rel=1e-5)
    assert "×1000" in str(lists)
    assert lists.rules == "boosted items"
    assert lists.to_frame()["boost"].to_list() == [1000, 1, 1]
    assert lists.rows()[0]["boost"] == 1000
    assert "boost" in lists._repr_html_()


def test_rows_without_a_history_obey_too(data):
    model = corml.CoRML(rank=4).fit(data)
    plain = model.recommend(history=[[]], k=3)
    last = model.recommend(history=[[]], k=9).values()[0][8]
    lists = model.recommend(history=[[], ["i1"], []], k=3, boost={last: 1000}, max_share=0.5)
    assert lists.sources == ("fallback", "personal", "fallback")
    assert [items[0] for items in lists.values()].count(last) == 1
    assert (model.recommend(history=[[]], k=3, diversity=0.1).items[0, 0]) == plain.items[0, 0]
    assert "most popular items" in lists.reasons[0]


def test_items_that_are_not_known_are_boosted_in_vain(data):
    model = corml.CoRML(rank=4).fit(data)
    with pytest.warns(DataWarning, match="boost= .* does not know 'nothing', and ignores it"):
        same = model.recommend(["u1"], k=5, boost={"nothing": 3})
    assert (model.recommend(["u1"], k=5).items == same.items).all()


# --- limits by category ----------------------------------------------------------------------------------------------


def test_a_list_that_a_limit_leaves_short_says_so():
    model = table(4)
    type(model).attributes_ = attributes([[0]] * 16)
    lists = model.recommend(["u0"], k=5, max_per={"genre": 2})
    assert len(lists.values()[0]) == 2
    assert lists.reasons[0].startswith("exhausted: 2 of 5")
    assert lists.reasons[0].endswith("no other item fits max_per")


def test_limits_look_as_deep_as_they_must(monkeypatch):
    """The 300 best items are all of one genre."""
    items = 400
    kind = type(
        "Deep", (Table,), {"scores": -np.arange(items, dtype=np.float32)[None], "near": np.zeros((items, items))}
    )
    kind.attributes_ = attributes([[0] if item < 300 else [1, 2] if item < 350 else [] for item in range(items)])
    data = Interactions.from_pairs(["u"] * items, [f"i{item}" for item in range(items)])
    model = kind().fit(data)
    for sizes in ((1 << 23, 8), (1, 2), (1, 100)):
        monkeypatch.setattr(rerank, "AT_ONCE", sizes[0])
        monkeypatch.setattr(rerank, "DEEPER", sizes[1])
        lists = model.recommend(["u"], k=5, seen="allow", max_per={"genre": 1}, diversity=0.5)
        assert numbers(model, lists) == [[0, 300, 350, 351, 352]]
    only = [f"i{item}" for item in (3, 299, 340, 341, 399)]
    assert numbers(model, model.recommend(["u"], k=5, seen="allow", only=only, max_per={"genre": 1})) == [[3, 340, 399]]


# --- shares ----------------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 2**32), k=st.integers(1, 4), share=st.sampled_from([0.12, 0.25, 0.5]))
def test_shares_do_not_depend_on_the_order_of_the_users(seed, k, share):
    model = table(seed)
    names = [str(name) for name in np.random.default_rng(seed).permutation(list(model.users_))]
    shuffled, ordered = (model.recommend(some, k=k, seen="allow", max_share=share) for some in (names, sorted(names)))
    assert dict(shuffled.items()) == dict(ordered.items())


@pytest.mark.parametrize(("share", "rules"), [(0.02, {"diversity": 0.4}), (0.1, {}), (0.3, {"diversity": 0.4})])
def test_no_item_is_in_more_lists_than_its_share_and_every_list_is_full_or_says_why(movies, share, rules, monkeypatch):
    model, split = movies
    users = list(split.train.users)
    monkeypatch.setattr(rerank, "AT_ONCE", 1 << 12)
    lists = model.recommend(users, k=10, max_share=share, **rules)
    named, counts = np.unique([item for items in lists.values() for item in items], return_counts=True)
    assert counts.max() <= share * len(users)
    assert len(named) > 10 / share / 2
    for items, reason in zip(lists.values(), lists.reasons, strict=True):
        assert len(items) == len(set(items))
        assert (len(items) == 10) == (reason is None)


def test_lists_run_out_where_shares_are_too_small(data):
    model = corml.CoRML(rank=4).fit(data)
    lists = model.recommend(list(data.users), k=10, max_share=0.05)
    short = [reason for reason in lists.reasons if reason]
    assert short
    assert all("left to other lists by max_share" in reason for reason in short)
    counts = np.unique([item for items in lists.values() for item in items], return_counts=True)[1]
    assert counts.max() <= 2  # 5 % of 40


def test_sharing_out_keeps_more_relevance_than_first_come_first_served(movies):
    model, split = movies
    users, quota = list(split.train.users), 21
    shared = model.recommend(users, k=10, max_share=0.05)
    ranked = model.recommend(users, k=400)
    left, naive = dict.fromkeys(model.items_, quota), {}
    for user, items in ranked.items():
        naive[user] = [item for item in items if left[item]][:10]
        for item in naive[user]:
            left[item] -= 1
    score = {
        user: dict(zip(items, row, strict=False))
        for (user, items), row in zip(ranked.items(), ranked.scores, strict=True)
    }
    kept, first_come = (
        np.mean(
            [
                sum(score[user][item] for item in lists[user]) / ranked.scores[row, :10].sum()
                for row, user in enumerate(users)
            ]
        )
        for lists in (shared, naive)
    )
    assert kept > first_come + 0.02
    ours, theirs = (
        evaluate_lists(lists, split, "ndcg@10", intervals=False)["ndcg@10"] for lists in (dict(shared.items()), naive)
    )
    assert ours > theirs


# --- the dial, and what is refused -----------------------------------------------------------------------------------


def test_a_dial_obeys_at_every_position(data):
    dial = corml.CoRML.dial(data, (-0.2, 0.2), rank=4, adapt=False)
    rules = {"diversity": 0.5, "boost": {"i3": 2.0}, "max_share": 0.5}
    for novelty in (0, 1):
        turned = dial.at(novelty).recommend(list(data.users), k=4, **rules)
        assert (dial.recommend(list(data.users), k=4, novelty=novelty, **rules).items == turned.items).all()
    assert dial._at(None) is dial.at(0.5)


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ({"diversity": 1.5}, "diversity must be a number from 0"),
        ({"diversity": True}, "diversity must be a number from 0"),
        ({"diversity": "much"}, "diversity must be a number from 0"),
        ({"diversity": float("nan")}, "diversity must be a number from 0"),
        ({"max_share": 0}, "max_share must be a share of the lists above 0"),
        ({"max_share": 5}, "max_share must be a share of the lists above 0, up to 1, such as 0.05; got '5'"),
        ({"max_share": 0.4}, "max_share 0.4 of 2 lists is less than one list: ask for more users at a time"),
        ({"max_per": {"genre": 0}}, "max_per must be a whole number of at least 1 for 'genre'; got '0'"),
        ({"max_per": {"genre": 1.5}}, "max_per must be a whole number"),
        ({"max_per": ["genre"]}, "max_per takes a mapping of attributes to numbers"),
        ({"max_per": {"genre": 2}}, "There is no attribute 'genre': no table of items was given"),
        ({"boost": {"i1": 0}}, "boost must be a factor above 0 for 'i1'.*To leave an item out, use exclude"),
        ({"boost": {"i1": -1}}, "boost must be a factor above 0"),
        ({"boost": {"i1": "2"}}, "boost must be a factor above 0"),
        ({"boost": {"genre": {"x": float("inf")}}}, "boost must be a factor above 0 for 'x'"),
        ({"boost": {"genre": {"x": 2}}}, "There is no attribute 'genre': no table of items was given"),
        ({"boost": ["i1"]}, "boost takes a mapping"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused(data, rules, sentence):
    with pytest.raises(UsageError, match=sentence):
        corml.CoRML(rank=4).fit(data).recommend(["u1", "u2"], **rules)


def test_a_value_that_no_item_has_is_refused():
    with pytest.raises(UsageError, match="'genre' has no value 'comedi'; did you mean 'comedy'"):
        table(1).recommend(["u0"], boost={"genre": {"comedi": 2}})


def test_an_empty_request_is_an_empty_answer(data):
    model = corml.CoRML(rank=4).fit(data)
    for rules in ({"diversity": 0.5}, {"max_share": 0.1}):
        assert len(model.recommend([], k=3, **rules)) == 0


def test_new_items_obey_too(data):
    """Three items that nobody has yet, all of one kind, and like the first item: a list has one of them at most."""
    old = [{"item": item, "kind": f"k{at % 4}"} for at, item in enumerate(data.items)]
    new = [{"item": f"new{at}", "kind": "k0"} for at in range(3)]
    model = corml.CoRML(rank=4).fit(data).with_new_items(pl.DataFrame([*old, *new]))
    pushed = {f"new{at}": 1000.0 for at in range(3)}
    users = list(data.users)
    for rules in ({}, {"diversity": 0.5}, {"max_share": 0.5}):
        lists = model.recommend(users, k=3, boost=pushed, max_per={"kind": 1}, **rules)
        assert any(set(items) & set(pushed) for items in lists.values())
        for items in lists.values():
            assert len(set(items) & set(pushed)) <= 1
            assert (
                len({model.attributes_.categories("kind")[[row]].indices[0] for row in model.items_.rows(items)}) == 3
            )
