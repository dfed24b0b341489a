"""Rules of lists in "why not", and what is available at a moment: held against lists of the library itself."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from msgspec import UNSET

import corml
from corml.data.attributes import Attributes, Numbers
from corml.service import handlers, schema
from corml.service.problems import Refusal
from corml.service.served import Shelf, load


def model_of(shelf):
    return shelf["dial"].at(0.5)


def histories(count, seed):
    rng = np.random.default_rng(seed)
    return [[f"i{n}" for n in rng.choice(60, rng.integers(1, 12), replace=False)] for _ in range(count)]


def listed_by(model, history, **options):
    """The list of the library itself."""
    return [item for item in model.recommend(history=[history], **options).items[0] if item is not None]


RULES = [
    {"max_per": {"genre": 2}},
    {"diversity": 0.9},
    {"boost": {"genre": {"odd": 4.0}}},
    {"max_per": {"genre": 3}, "boost": {"i7": 50.0, "i9": 0.01}},
    {"diversity": 0.6, "max_per": {"genre": 2}},
    {"diversity": 0.4, "boost": {"genre": {"even": 3.0}}, "max_per": {"genre": 3}},
]


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_the_rules_that_keep_an_item_out_are_those_without_which_the_library_lists_it(shelf, rules):
    model, said = model_of(shelf), set()
    for history in histories(4, seed=5):
        by_rules = listed_by(model, history, k=6, **rules)
        for target in (label for label in model.items_.labels if label not in history):
            asked = {"history": history, "item": target, "k": 6, "lifts": 0}
            answer = handlers.why_not(shelf, schema.WhyNot(**asked, **rules))
            said.add(answer.verdict)
            if target in by_rules:
                assert (answer.verdict, answer.rank) == ("listed", by_rules.index(target) + 1)
                continue
            smaller = [
                {name: rules[name] for name in rules if name not in left_out}
                for size in range(1, len(rules) + 1)
                for left_out in itertools.combinations(rules, size)
            ]
            enough = [rest for rest in smaller if target in listed_by(model, history, k=6, **rest)]
            assert answer.verdict == ("rules" if enough else "below")
            if enough:
                assert {name: rules[name] for name in rules if name not in answer.rules} in enough
                assert len(answer.rules) == len(rules) - max(len(rest) for rest in enough)
    assert {"listed", "below", "rules"} <= said


@pytest.mark.parametrize("rules", [{}, *(rules for rules in RULES if "diversity" not in rules)], ids=str)
def test_with_a_little_more_than_the_score_needed_an_item_is_listed_and_with_a_little_less_it_is_not(
    shelf, rules, monkeypatch
):
    """The score of the item is changed in the model itself; all other scores stay."""
    model, tried = model_of(shelf), 0
    original = type(model).score_block
    for history in histories(3, seed=6):
        for target in [label for label in model.items_.labels if label not in history][::4]:
            answer = handlers.why_not(shelf, schema.WhyNot(history=history, item=target, k=6, lifts=0, **rules))
            if answer.verdict == "listed":
                continue
            row = int(model.items_.find([target])[0])
            for change, expected in ((1e-3, True), (-1e-3, False)):
                wanted = answer.needed + change * abs(answer.needed)

                def scored(self, users, columns, wanted=wanted, row=row):
                    block = np.array(original(self, users, columns))
                    if columns.start <= row < columns.stop:
                        block[:, row - columns.start] = wanted
                    return block

                with monkeypatch.context() as patch:
                    patch.setattr(type(model), "score_block", scored)
                    patch.setattr(type(model), "_top_k", lambda *_: None)
                    assert (target in listed_by(model, history, k=6, **rules)) == expected
                tried += 1
    assert tried > 20


def test_values_that_a_list_has_enough_of_are_named(shelf):
    history = ["i1", "i2"]
    for target in ("i20", "i21"):
        answer = handlers.why_not(shelf, schema.WhyNot(history=history, item=target, k=4, max_per={"genre": 2}))
        assert answer.full == {"genre": ["even" if target == "i20" else "odd"]}
    answer = handlers.why_not(shelf, schema.WhyNot(history=history, item="i20", k=4))
    assert (answer.full, answer.rules, answer.boost) == (UNSET, UNSET, UNSET)


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_after_a_lift_the_list_has_the_item_where_that_was_promised(shelf, rules):
    model, kept = model_of(shelf), []
    for history in histories(4, seed=7):
        by_rules = listed_by(model, history, k=6, **rules)
        near = [label for label in listed_by(model, history, k=20, boost=rules.get("boost")) if label not in by_rules]
        for target in near[:4]:
            answer = handlers.why_not(shelf, schema.WhyNot(history=history, item=target, k=6, lifts=20, **rules))
            for lift in answer.lifts:
                then = listed_by(model, [*history, lift.item], k=6, **rules)
                assert lift.listed_then == (target in then)
                if lift.listed_then:
                    assert lift.rank_then == then.index(target) + 1
                kept.append(lift.listed_then)
            listed = [lift.listed_then for lift in answer.lifts]
            assert listed == sorted(listed, reverse=True)
    assert set(kept) == {True, False}


def test_a_boost_counts_in_the_rank_and_the_score_stays_the_models_own(shelf):
    model, history, target = model_of(shelf), ["i1", "i2"], "i30"
    plain = handlers.why_not(shelf, schema.WhyNot(history=history, item=target))
    pushed = handlers.why_not(shelf, schema.WhyNot(history=history, item=target, boost={target: 3.0}))
    assert pushed.score == plain.score
    assert pushed.boost == 3
    scores = model.scores([history])[0].copy()
    row = int(model.items_.find([target])[0])
    scores[row] *= 3 if scores[row] > 0 else 1 / 3
    race = [n for n, label in enumerate(model.items_.labels) if label not in history]
    assert pushed.rank == sorted(race, key=lambda n: (-scores[n], n)).index(row) + 1


# --- what is available -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def seasonal(data, tmp_path_factory):
    """A model whose item i5 is sold until 2020, and i6 from 2030 on."""
    moments = np.full(len(data.items), np.nan)
    begins, ends = moments.copy(), moments.copy()
    ends[data.items.find(["i5"])], begins[data.items.find(["i6"])] = 1577836800.0, 1893456000.0
    columns = {"available_from": Numbers(begins, "time"), "available_until": Numbers(ends, "time")}
    path = tmp_path_factory.mktemp("seasonal") / "shop.corml"
    corml.CoRML(rank=6).fit(replace(data, attributes=Attributes(data.items, columns))).save(path)
    shelf = Shelf("shop")
    shelf.put(load("shop", str(path)))
    return shelf


def test_what_is_not_available_at_a_moment_is_not_listed_and_why_not_says_so(seasonal):
    def listed(**more):
        answer = handlers.recommend(seasonal, schema.Recommend(history=["i1"], k=60, **more))
        return {item.item for item in answer.items} & {"i5", "i6"}

    assert listed() == {"i5", "i6"}
    for now, there in (("2010-01-01", {"i5"}), (1.7e9, set()), ("2031-05-01T12:00:00Z", {"i6"})):
        assert listed(now=now) == there
        batch = handlers.batch(seasonal, schema.Batch(queries=[schema.Query(history=["i1"], k=60, now=now)]))
        assert {item.item for item in batch.lists[0].items} & {"i5", "i6"} == there
        for item in ("i5", "i6"):
            answer = handlers.why_not(seasonal, schema.WhyNot(history=["i1"], item=item, k=60, now=now))
            assert answer.verdict == ("listed" if item in there else "not available")


def test_a_moment_must_be_one_and_items_must_know_of_it(seasonal, shelf):
    with pytest.raises(Refusal, match="no such moment") as refused:
        handlers.recommend(seasonal, schema.Recommend(history=["i1"], now="2023-02-31"))
    assert refused.value.status == 422
    with pytest.raises(Refusal, match="leave now out") as refused:
        handlers.recommend(shelf, schema.Recommend(history=["i1"], now="now"))
    assert refused.value.status == 404
