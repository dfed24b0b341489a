"""Why an item is not in a list: each reason, in Python; that the figures are right is tested with the service."""

from dataclasses import replace

import numpy as np
import pytest

import corml
from corml.data.attributes import Attributes, Numbers, indicators
from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.errors import DataWarning, UnknownIdError, UsageError
from support import random_interactions


@pytest.fixture(scope="module")
def model():
    data = random_interactions(3, users=40, items=30, mean=6)
    data = data.on(data.users, Ids([f"i{item}" for item in range(30)]))
    genres = indicators([["odd" if item % 2 else "even"] for item in range(30)])
    until = np.full(30, np.nan)
    until[29] = 1577836800.0  # 2020
    table = Attributes(data.items, {"genre": genres, "available_until": Numbers(until, "time")})
    return corml.CoRML(rank=6).fit(replace(data, attributes=table))


HISTORY = ["i1", "i2"]


@pytest.mark.parametrize(
    ("verdict", "item", "options"),
    [
        ("seen", "i1", {}),
        ("not seen", "i9", {"seen": "only"}),
        ("excluded", "i9", {"exclude": ["i9"]}),
        ("excluded", "i9", {"exclude": {"genre": "odd"}}),
        ("not in only", "i9", {"only": [["i3", "i4"]]}),
        ("not available", "i29", {"now": "2024-01-01"}),
    ],
)
def test_what_bars_an_item_is_named(model, verdict, item, options):
    found = model.why_not(HISTORY, item, **options)
    assert found.verdict == verdict
    assert f"{verdict}: " in str(found)
    assert found.lifts == ()


def test_an_item_below_the_list_has_its_rank_its_score_and_the_one_to_pass(model):
    ranked = model.recommend(history=[HISTORY], k=28)
    item = ranked.items[0, 12]
    found = model.why_not(HISTORY, item, k=5, lifts=2)
    assert (found.verdict, found.rank, found.of) == ("below", 13, 28)
    assert found.score == pytest.approx(ranked.scores[0, 12])
    assert found.needed == pytest.approx(ranked.scores[0, 4])
    assert found.reason == (
        f"below the list: rank 13 of 28, score {found.score:.4f}; to be listed it needs more than {found.needed:.4f}"
    )
    assert found.explanation.score == pytest.approx(found.score, abs=1e-6)
    assert len(found.lifts) == 2
    assert f"with {found.lifts[0].item}: rank {found.lifts[0].rank_then}" in str(found)
    assert found.lifts[0].item in found._repr_html_()
    assert found.record()["lifts"][0]["rank_then"] == found.lifts[0].rank_then


def test_a_known_user_is_asked_for_by_an_id_and_all_options_count_together(model):
    user = str(model.users_[0])
    options = {"k": 4, "exclude": ["i7"], "boost": {"genre": {"even": 2.0}}, "max_per": {"genre": 2}}
    lists = model.recommend([user], **options)
    assert model.why_not(user, lists.items[0, 2], **options).reason.startswith("listed: rank 3 of 4")
    out = model.recommend([user], k=4, exclude=["i7"], boost=options["boost"]).values()[0]
    kept_out = next(item for item in out if item not in lists[user])
    found = model.why_not(user, kept_out, **options)
    assert (found.verdict, found.rules) == ("rules", ("max_per",))
    assert "without max_per, the list has as many items as it may of genre even" in found.reason
    assert model.why_not(user, "i7", **options).verdict == ("seen" if "i7" in known(model, user) else "excluded")


def known(model, user):
    return model.items_.labels[model._known_history(user)[0]]


def test_an_item_seen_lately_is_named_as_seen_and_one_seen_long_ago_may_be_listed():
    data = Interactions.from_pairs(list("aabbcc"), list("xyxzyz"), times=[0, 90 * 86400, 1, 2, 3, 4])
    model = corml.models.make("item-knn").fit(data)
    options = {"seen": "allow", "exclude_recent": "30d"}
    assert model.why_not("a", "y", **options).verdict == "seen"
    assert model.why_not("a", "x", **options).verdict == "listed"


def test_a_model_that_does_not_explain_still_says_where_an_item_stands():
    found = corml.Popularity().fit(random_interactions(1)).why_not("u1", "i3", k=1)
    assert found.explanation is None
    assert found.rank >= 1
    assert found.record()["contributions"] == []


def test_a_dial_is_asked_at_a_position():
    dial = corml.CoRML.dial(random_interactions(2), (-0.4, 0.4), rank=4, adapt=False)
    for novelty in (0, 1):
        lists = dial.recommend(["u1"], k=3, novelty=novelty)
        found = dial.why_not("u1", lists.items[0, 1], k=3, novelty=novelty)
        assert (found.verdict, found.rank) == ("listed", 2)
        assert found.score == pytest.approx(lists.scores[0, 1])


def test_what_cannot_be_asked_is_refused(model):
    with pytest.raises(UnknownIdError, match="ghost"):
        model.why_not(HISTORY, "ghost")
    with pytest.raises(UnknownIdError, match="nobody"):
        model.why_not("nobody", "i3")
    with pytest.raises(UsageError, match="why_not has no option 'excluded'"):
        model.why_not(HISTORY, "i3", excluded=["i1"])
    with pytest.warns(DataWarning, match="does not know 'zzz'"):
        model.why_not(HISTORY, "i3", exclude=["zzz"])


def test_every_option_that_keeps_an_item_out_is_named(model):
    found = model.why_not(HISTORY, "i1", exclude=["i1"], only=["i3"])
    assert (found.verdict, found.also) == ("seen", ("excluded", "not in only"))
    assert "also, exclude (--exclude, --exclude-where) keeps it out; also, only (--only" in found.reason
    assert model.why_not(HISTORY, "i1").also == ()
