"""What the API answers is what the library computes, and "why not" is what sorting everything finds."""

import msgspec
import numpy as np
import pytest

import corml
from corml import Interactions
from corml.recommend.why_not.find import TRIED
from corml.service import handlers, schema
from corml.service.problems import Refusal
from corml.service.served import Shelf, load


def model_of(shelf, name="dial", novelty=0.5):
    return shelf[name].at(novelty)


def histories(count=30, seed=0):
    rng = np.random.default_rng(seed)
    return [[f"i{n}" for n in rng.choice(60, rng.integers(1, 12), replace=False)] for _ in range(count)]


@pytest.mark.parametrize("novelty", [0, 0.5, 1])
@pytest.mark.parametrize(
    "limits",
    [{}, {"exclude": ["i1", "i2"]}, {"only": [f"i{n}" for n in range(30)]}, {"seen": "allow"}],
    ids=["plain", "exclude", "only", "seen"],
)
def test_a_list_is_that_of_the_library_at_the_position_that_was_asked_for(shelf, novelty, limits):
    model = model_of(shelf, novelty=novelty)
    for history in histories():
        answer = handlers.recommend(shelf, schema.Recommend(history=history, k=7, novelty=novelty, **limits))
        expected = model.recommend(history=[history], k=7, **limits)
        np.testing.assert_allclose([item.score for item in answer.items], expected.scores[0], atol=1e-6)
        exact = dict(zip(model.items_.labels, model.scores([history])[0], strict=True))
        for rank, item in enumerate(answer.items, 1):
            assert item.rank == rank
            assert item.score == pytest.approx(exact[item.item], abs=1e-6)
            assert item.popularity == pytest.approx(model._popularity[model.items_.find([item.item])[0]])
        listed = {item.item for item in answer.items}
        assert len(listed) == 7
        assert not listed & set(limits.get("exclude", []))
        assert listed <= set(limits.get("only", listed))
        assert limits.get("seen") == "allow" or not listed & set(history)
        assert (answer.source, answer.model, answer.model_version) == ("personal", "dial", shelf["dial"].version)


@pytest.mark.parametrize(
    ("options", "limits"),
    [
        ({"only": {"genre": "odd"}}, {"only": {"genre": "odd"}}),
        ({"exclude": {"genre": ["odd"]}}, {"exclude": {"genre": ["odd"]}}),
        (
            {"only": {"price": schema.Range(high=30.0), "genre": "even"}},
            {"only": {"price": (None, 30.0), "genre": "even"}},
        ),
        ({"diversity": 0.7}, {"diversity": 0.7}),
        ({"boost": {"genre": {"odd": 3.0}, "i7": 5.0}}, {"boost": {"genre": {"odd": 3.0}, "i7": 5.0}}),
        ({"max_per": {"genre": 3}}, {"max_per": {"genre": 3}}),
        ({"max_per": {"genre": 3}, "exclude": ["i1"]}, {"max_per": {"genre": 3}, "exclude": ["i1"]}),
    ],
)
def test_rules_and_conditions_are_those_of_the_library(shelf, options, limits):
    model = model_of(shelf)
    queries = [schema.Query(history=history, k=6, **options) for history in histories(8)]
    batch = handlers.batch(shelf, schema.Batch(queries=[*queries, schema.Query(history=["i1"], k=6)])).lists
    plain = model.recommend(history=[["i1"]], k=6)
    assert [item.item for item in batch[-1].items] == list(plain.items[0])  # asked without rules beside the others
    changed = 0
    for query, one in zip(queries, batch, strict=False):
        expected = model.recommend(history=[query.history], k=6, **limits)
        wanted = [item for item in expected.items[0] if item is not None]
        answer = handlers.recommend(shelf, schema.Recommend(history=query.history, k=6, **options))
        assert [item.item for item in answer.items] == [item.item for item in one.items] == wanted
        changed += wanted != list(model.recommend(history=[query.history], k=6).items[0])
    assert changed


def test_conditions_count_in_why_not_too(shelf):
    history, target = ["i1", "i2"], "i21"
    answer = handlers.why_not(shelf, schema.WhyNot(history=history, item=target, only={"genre": "odd"}, k=3))
    model = model_of(shelf)
    barred = {label for label in model.items_ if int(label[1:]) % 2 == 0} | set(history)
    assert (answer.rank, answer.of) == brute_force(model, history, target, barred)[:2]
    even = handlers.why_not(shelf, schema.WhyNot(history=history, item="i20", only={"genre": "odd"}, k=3))
    assert even.verdict == "not in only"
    with pytest.raises(Refusal) as refused:
        handlers.why_not(shelf, schema.WhyNot(history=history, item=target, only={"colour": "red"}))
    assert refused.value.status == 404


@pytest.mark.parametrize(
    ("query", "count", "source", "reason"),
    [
        ({"history": ["i1"], "k": 5}, 5, "personal", None),
        ({"k": 5}, 5, "fallback", "no history"),
        ({"history": ["x", "y"], "k": 5}, 5, "fallback", "none of the 2 history items is known"),
        ({"history": ["i1"], "k": 200}, None, "personal", "exhausted"),
        ({"history": ["i1"], "only": ["i1", "i2"], "k": 5}, 1, "personal", "exhausted: 1 of 5"),
        ({"history": ["i1"], "only": [], "k": 5}, 0, "personal", "exhausted: 0 of 5"),
        ({"user": "u1", "k": 5}, 5, "personal", None),
    ],
)
def test_a_list_has_exactly_k_items_or_says_why_not(shelf, query, count, source, reason):
    answer = handlers.recommend(shelf, schema.Recommend(**query))
    assert answer.source == source
    if count is not None:
        assert len(answer.items) == count
    assert (answer.reason is msgspec.UNSET) if reason is None else (reason in answer.reason)


def test_unknown_ids_are_named_and_ignored(shelf):
    answer = handlers.recommend(shelf, schema.Recommend(history=["i1", "x", 7, "i2"]))
    assert answer.unknown == ["x", "7"]
    assert answer.items == handlers.recommend(shelf, schema.Recommend(history=["i2", "i1", "i1"])).items


@pytest.mark.parametrize("more", [{}, {"diversity": 0.5}], ids=["short", "library"])
def test_unknown_ids_of_every_option_are_named_and_ignored(shelf, more):
    limits = {"exclude": ["i3", "no"], "only": ["i4", "i5", "nor"], **more}
    boost = {"boost": {"i4": 2.0, "never": 3.0}} if more else {}
    answer = handlers.recommend(shelf, schema.Recommend(history=["i1", "x"], **limits, **boost))
    assert answer.unknown == ["x", "no", "nor", *(["never"] if more else [])]
    assert {item.item for item in answer.items} == {"i4", "i5"}


def test_a_batch_is_its_queries_one_by_one(shelf):
    queries = [
        schema.Query(history=["i1", "i5"], k=3),
        schema.Query(user="u3", k=4, novelty=1.0),
        schema.Query(k=2),
        schema.Query(history=["i1", "i5"], k=3, exclude=["i2"]),
        schema.Query(history=["i9"], k=3, only=["i4", "i5"]),
        schema.Query(history=["i9"], k=3, seen="allow", novelty=0.0),
    ]
    batch = handlers.batch(shelf, schema.Batch(queries=queries))
    for query, one in zip(queries, batch.lists, strict=True):
        fields = {name: getattr(query, name) for name in schema.Query.__struct_fields__}
        single = handlers.recommend(shelf, schema.Recommend(**fields))
        assert (single.source, single.reason, single.unknown) == (one.source, one.reason, one.unknown)
        assert [item.item for item in single.items] == [item.item for item in one.items]
        np.testing.assert_allclose([i.score for i in single.items], [i.score for i in one.items], atol=1e-6)


@pytest.mark.parametrize("whom", [{"history": ["i1", "i5", "x", "i9"]}, {"user": "u1"}], ids=["history", "user"])
def test_the_parts_of_an_explained_list_add_up_to_its_scores(shelf, whom):
    answer = handlers.recommend(shelf, schema.Recommend(**whom, k=5, explain=True))
    for item in answer.items:
        assert set(item.parts) == {"h", "g"}
        assert all(len(values) == len(answer.history) for values in item.parts.values())
        assert sum(map(sum, item.parts.values())) == pytest.approx(item.score, abs=1e-6)
        alone = handlers.explain(shelf, schema.Explain(**whom, item=item.item))
        assert alone.score == pytest.approx(item.score, abs=1e-6)
        assert sum(one.contribution for one in alone.contributions) == pytest.approx(alone.score)
        assert [one.item for one in alone.contributions] == sorted(
            answer.history, key=lambda label: -next(c.contribution for c in alone.contributions if c.item == label)
        )


def test_similar_items_and_distances_are_those_of_the_library(shelf):
    model = model_of(shelf)
    answer = handlers.similar(shelf, schema.Similar(item="i3", k=5))
    assert [item.item for item in answer.items] == model.similar("i3", k=5).values()[0]
    for part in ("h", "g"):
        found = handlers.distance(shelf, schema.Distance(history=["i1", "x"], item="i3", part=part))
        assert found.distance == pytest.approx(model.distance(["i1"], "i3", part=part))
        assert found.unknown == ["x"]


def test_models_tell_what_can_be_asked_of_them(shelf):
    about = {one.name: one for one in handlers.models(shelf, None).models}
    assert list(about) == ["dial", "no-users", "plain", "popularity"]
    assert [one.default for one in about.values()] == [True, False, False, False]
    assert (about["dial"].novelty, about["plain"].novelty) == (True, False)
    assert (about["plain"].knows_users, about["no-users"].knows_users) == (True, False)
    assert (about["plain"].explains, about["popularity"].explains) == (True, False)
    assert about["dial"].attributes == {"genre": "category", "price": "number"}
    assert about["dial"].digest.startswith(about["dial"].version)


@pytest.mark.parametrize(
    ("work", "request_", "status"),
    [
        (handlers.recommend, schema.Recommend(history=["i1"], model="nothing"), 404),
        (handlers.explain, schema.Explain(user="nobody", item="i2"), 404),
        (handlers.recommend, schema.Recommend(user="u1", history=["i1"]), 422),
        (handlers.recommend, schema.Recommend(user="u1", model="no-users"), 422),
        (handlers.recommend, schema.Recommend(user="u1", k=5, diversity=0.2, model="no-users"), 422),
        (handlers.recommend, schema.Recommend(history=["i1"], novelty=0.5, model="plain"), 422),
        (handlers.recommend, schema.Recommend(history=["i1"], explain=True, model="popularity"), 422),
        (handlers.recommend, schema.Recommend(history=["i1"], explain=True, k=51), 422),
        (handlers.explain, schema.Explain(history=["i1"], item="nothing"), 404),
        (handlers.explain, schema.Explain(history=["i1"], item="i2", model="popularity"), 422),
        (handlers.similar, schema.Similar(item="nothing"), 404),
        (handlers.distance, schema.Distance(history=["i1"], item="i2", model="popularity"), 422),
        (handlers.why_not, schema.WhyNot(history=["i1"], item="nothing"), 404),
        (handlers.why_not, schema.WhyNot(user="nobody", item="i2"), 404),
    ],
)
def test_what_a_model_cannot_answer_is_refused(shelf, work, request_, status):
    with pytest.raises(Refusal) as refused:
        work(shelf, request_)
    assert refused.value.status == status


# --- why not ---------------------------------------------------------------------------------------------------------


def brute_force(model, history, target, barred):
    """Rank, number of items in the race, and score, by sorting all scores."""
    scores = model.scores([history])[0]
    row = int(model.items_.find([target])[0])
    race = [n for n, label in enumerate(model.items_.labels) if label not in barred or n == row]
    order = sorted(race, key=lambda n: (-scores[n], n))
    return order.index(row) + 1, len(race), float(scores[row]), [scores[n] for n in order if n != row]


@pytest.mark.parametrize("novelty", [0.0, 1.0])
@pytest.mark.parametrize("name", ["dial", "plain"])
def test_why_not_is_what_sorting_everything_finds(shelf, name, novelty):
    position = {"novelty": novelty} if name == "dial" else {}
    model = shelf[name].at(position.get("novelty"))
    rng = np.random.default_rng(1)
    for history in histories(12, seed=3):
        target = str(rng.choice([label for label in model.items_.labels if label not in history]))
        answer = handlers.why_not(
            shelf, schema.WhyNot(history=history, item=target, k=5, lifts=20, model=name, **position)
        )
        rank, of, score, _ = brute_force(model, history, target, set(history))
        listed = handlers.recommend(shelf, schema.Recommend(history=history, k=5, model=name, **position)).items
        assert (answer.rank, answer.of) == (rank, of)
        assert answer.score == pytest.approx(score, abs=1e-6)
        assert answer.verdict == ("listed" if rank <= 5 else "below")
        assert answer.needed == pytest.approx(listed[-1].score, abs=1e-6)
        assert answer.support == model.counts_[model.items_.find([target])[0]]
        assert sum(one.contribution for one in answer.contributions) == pytest.approx(score, abs=1e-6)
        every = {}
        for added in set(model.items_.labels) - {*history, target}:
            longer = [*history, added]
            then, _, score_then, _ = brute_force(model, longer, target, set(longer))
            every[added] = then, score_then - score
        for lift in answer.lifts:
            assert lift.rank_then == every[lift.item][0]
            assert lift.gain == pytest.approx(every[lift.item][1], abs=1e-6)
        gaining = [rank for rank, gain in every.values() if gain > 1e-6]
        assert len(gaining) < TRIED or len(model.items_) < TRIED + 20
        if answer.lifts:  # of a small catalogue nothing is left out: the best there is stands first
            assert answer.lifts[0].rank_then == min(gaining)
            assert [one.rank_then for one in answer.lifts] == sorted(one.rank_then for one in answer.lifts)


@pytest.mark.parametrize(
    ("more", "verdict"),
    [
        ({"item": "i1"}, "seen"),
        ({"item": "i7", "exclude": ["i7"]}, "excluded"),
        ({"item": "i7", "only": ["i8", "i9"]}, "not in only"),
        ({"item": "i7", "seen": "only"}, "not seen"),
    ],
)
def test_an_item_that_may_not_be_listed_gets_the_reason_and_the_rank_it_would_have(shelf, more, verdict):
    history = ["i1", "i2", "i5"]
    answer = handlers.why_not(shelf, schema.WhyNot(history=history, **more))
    assert answer.verdict == verdict
    model = model_of(shelf)
    barred = {
        "seen": set(history),
        "excluded": {*history, "i7"},
        "not in only": set(model.items_.labels) - {"i8", "i9"} | set(history),
        "not seen": set(model.items_.labels) - set(history),
    }[verdict]
    rank, of, score, _ = brute_force(model, history, more["item"], barred)
    assert (answer.rank, answer.of) == (rank, of)
    assert answer.score == pytest.approx(score, abs=1e-6)
    assert answer.lifts == []


def test_why_not_for_a_known_user_keeps_out_what_the_user_has(shelf):
    model = model_of(shelf)
    answer = handlers.why_not(shelf, schema.WhyNot(user="u1", item="i50", k=3))
    row = model.users_.find(["u1"])[0]
    own = model.items_.labels[model.train_[[row]].indices].tolist()
    rank, of, score, _ = brute_force(model, own, "i50", set(own))
    assert (answer.rank, answer.of, answer.score) == (rank, of, pytest.approx(score, abs=1e-6))


def test_why_not_without_a_history_is_about_popularity(shelf):
    answer = handlers.why_not(shelf, schema.WhyNot(item="i30", k=3))
    model = model_of(shelf)
    order = sorted(range(len(model.items_)), key=lambda n: (-model._popularity[n], n))
    assert answer.rank == order.index(int(model.items_.find(["i30"])[0])) + 1
    assert (answer.source, answer.contributions) == ("fallback", [])
    lift = answer.lifts[0]
    assert lift.rank_then == brute_force(model, [lift.item], "i30", {lift.item})[0]


def test_a_model_that_explains_nothing_still_has_a_rank(shelf):
    answer = handlers.why_not(shelf, schema.WhyNot(history=["i1"], item="i30", model="popularity"))
    assert answer.rank > 1
    assert answer.lifts == answer.contributions == []


def test_a_list_without_a_preference_is_the_fallback_both_ways(tmp_path):
    """Both ways to a list, the short one for a history and the library's, and why an item is not in it."""
    pairs = [(f"u{user}", f"i{(user * step) % 9}") for user in range(30) for step in (1, 2, 4)]
    users, items = zip(*pairs, ("alone", "x"), ("alone", "y"), strict=True)
    model = corml.CoRML(filter_weight=0.0, rank=2, adapt=False).fit(Interactions.from_pairs(users, items))
    model.save(tmp_path / "m.corml")
    shelf = Shelf("m")
    shelf.put(load("m", str(tmp_path / "m.corml")))
    for whom in ({"user": "alone"}, {"history": ["x", "y"]}):
        answer = handlers.recommend(shelf, schema.Recommend(k=3, **whom))
        assert answer.source == "fallback"
        assert answer.reason == "most popular items: the model scores all of them alike"
        listed = [one.item for one in answer.items]
        assert [one.score for one in answer.items] == model._popularity[model.items_.find(listed)].tolist()
        other = next(item for item in model.items_.labels if item not in {*listed, "x", "y"})
        why = handlers.why_not(shelf, schema.WhyNot(k=3, item=other, **whom))
        assert (why.source, why.verdict) == ("fallback", "below")
        assert why.score == model._popularity[model.items_.find([other])[0]]
        assert why.rank > 3
    assert handlers.recommend(shelf, schema.Recommend(history=["i1"], k=3)).source == "personal"


def test_a_whole_number_in_a_condition_stays_whole():
    """Category 7 is called "7": as 7.0 no item would have it."""
    request = msgspec.json.decode(b'{"history": ["i1"], "only": {"brand_id": [7, 1.5]}}', type=schema.Recommend)
    assert [str(value) for value in request.only["brand_id"]] == ["7", "1.5"]
