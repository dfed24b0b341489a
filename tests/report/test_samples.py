"""Cards: histories, recommendations, and reasons that add up."""

import numpy as np
import pytest

from corml.data.interactions import Interactions
from corml.recommend.explanation import Explanation
from corml.report import cards, sample_users, samples
from corml.report.samples import MAX_HISTORY, reasons


def explained(item, **parts):
    return Explanation(item, tuple(parts), {"h": np.array(list(parts.values())), "g": np.zeros(len(parts))})


def test_reasons_are_shares_of_all_positive_contributions():
    shares = reasons(explained("z", a=1.0, b=6.0, c=2.0, d=1.0, e=-5.0), {"b": "Bee"})
    assert shares == (("Bee", 0.6), ("c", 0.2), ("a", 0.1))
    assert [title for title, _ in reasons(explained("z", a=1.0, b=0.001), {})] == ["a"]  # too small to matter


@pytest.mark.parametrize("parts", [{}, {"a": 0.0}, {"a": -1.0}])
def test_without_positive_contributions_there_are_no_reasons(parts):
    assert reasons(explained("z", **parts), {}) == ()


def test_cards_show_what_the_model_recommends(subject, parts):
    model = subject.models["CoRML"][0]
    users = sample_users(parts.train, parts.test)
    lists = model.recommend(users, k=5)
    shown = samples(model, users, train=parts.train, held_out=parts.test)
    held_out = parts.test.matrix
    for card, user, row, scores in zip(shown, users, lists.items, lists.scores, strict=True):
        targets = parts.test.items.labels[held_out[[parts.test.users.rows([user])[0]]].indices]
        assert card.name == user
        assert [pick.title for pick in card.picks] == [parts.train.title(item) for item in row]
        assert [pick.score for pick in card.picks] == pytest.approx(scores.tolist())
        assert [pick.held_out for pick in card.picks] == [item in targets for item in row]
        assert all(0 < share <= 1 for pick in card.picks for _, share in pick.reasons)


def test_history_items_that_contribute_most_come_first(subject, parts):
    model = subject.models["CoRML"][0]
    (card,) = samples(model, ["u4"], train=parts.train)
    shown = [past.title for past in card.history]
    weights = dict.fromkeys(shown, 0.0)
    (row,) = model.recommend(["u4"], k=5).items
    for why in (model.explain("u4", item) for item in row):
        for item, value in zip(why.history, why.contributions / why.score, strict=True):
            weights[parts.train.title(item)] = weights.get(parts.train.title(item), 0.0) + value
    assert [weights[title] for title in shown] == sorted(weights.values(), reverse=True)[: len(shown)]


def test_a_model_without_reasons_has_cards_without_them(subject, parts):
    (card,) = samples(subject.models["Popularity <b>"][0], ["u1"], train=parts.train)
    assert card.picks
    assert not any(pick.reasons for pick in card.picks)


def test_long_histories_are_cut_and_counted(subject):
    data = Interactions.from_pairs(["u1"] * 12 + ["u2"] * 12, [*range(12), *range(6, 18)])
    model = type(subject.models["Popularity <b>"][0])().fit(data)
    (card,) = cards(model.recommend(["u1"], k=3), train=data)
    assert len(card.history) == MAX_HISTORY
    assert card.more == 12 - MAX_HISTORY


def test_short_lists_say_why(subject, parts):
    (card,) = samples(subject.models["CoRML"][0], ["u1"], train=parts.train, k=200)
    assert card.note
    assert len(card.picks) < 200


def test_sample_users_have_a_history_and_held_out_items(parts):
    users = sample_users(parts.train, parts.test, number=4)
    assert len(set(users)) == 4
    assert users == sample_users(parts.train, parts.test, number=4)
    assert (parts.train.user_degrees[parts.train.users.rows(users)] > 0).all()
    assert (parts.test.user_degrees[parts.test.users.rows(users)] > 0).all()


def test_users_the_data_do_not_know_have_an_empty_history(subject, parts):
    lists = subject.models["CoRML"][0].recommend(history=[["i1", "i2"]], k=2)
    (card,) = cards(lists, train=parts.train)
    assert card.history == ()
    assert len(card.picks) == 2


def test_fewer_users_than_requested_are_no_problem():
    data = Interactions.from_pairs(["a", "b"], ["x", "y"])
    assert set(sample_users(data, data.where(np.array([], dtype=int)))) <= {"a", "b"}
    assert sample_users(data.where(np.array([], dtype=int))) == []


def test_cited_items_are_shown_even_where_a_history_is_long(subject):
    rng = np.random.default_rng(0)
    users = [f"u{n}" for n in range(30) for _ in range(16)]
    items = [f"i{n}" for _ in range(30) for n in rng.choice(40, 16, replace=False)]
    data = Interactions.from_pairs(users, items)
    model = type(subject.models["CoRML"][0])(rank=4).fit(data)
    (card,) = samples(model, ["u0"], train=data, k=10)
    cited = {title for pick in card.picks for title, _ in pick.reasons}
    assert len(cited) > MAX_HISTORY
    assert cited == {past.title for past in card.history if past.cited}
    assert len(card.history) + card.more == 16


def test_users_the_model_did_not_learn_from_get_lists_by_their_history(subject, parts):
    model = subject.models["CoRML"][0]
    history = Interactions.from_pairs(["new"] * 3, ["i1", "i2", "i4"])
    (card,) = samples(model, ["new"], train=history)
    (expected,) = model.recommend(history=[["i1", "i2", "i4"]], k=5).items
    assert card.name == "new"
    assert [pick.title for pick in card.picks] == [model.titles_[item] for item in expected]
    assert all(pick.reasons for pick in card.picks)
    assert not card.note
