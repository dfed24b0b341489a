"""Users excluded from training: they are known, get lists, and are never shown what they have."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corml
from corml import Interactions, models
from corml.data import examine
from corml.data.histories import Histories
from corml.data.ids import Ids
from corml.data.saved.pairs import encode_ids
from corml.errors import DataError, ModelFileError
from corml.models.cited import cite
from support import forge

DAY = 86_400


def rows(count=900, seed=5):
    """Ratings with people who liked nothing, people with one item, and items that hardly anybody has."""
    rng = np.random.default_rng(seed)
    user = (rng.pareto(1.2, count) * 15).astype(int) % 120
    item = (rng.pareto(1.2, count) * 12).astype(int) % 60
    columns = {"rating": rng.integers(1, 6, count), "time": 1_700_000_000 + DAY * rng.integers(0, 100, count)}
    events = {"event": rng.choice(["view", "buy", "return"], count)}
    return pl.DataFrame({"user": [f"u{n}" for n in user], "item": [f"i{n}" for n in item], **columns, **events})


def pairs(data):
    """All that is known in some data: (user, item) by id."""
    parts = [part for one in (data, data.others) if one is not None for part in (one, one.seen) if part is not None]
    return {(part.users[u], part.items[i]) for part in parts for u, i in zip(part.user, part.item, strict=True)}


def fitted(data):
    return corml.CoRML(rank=4, adapt=False).fit(data)


@pytest.fixture(scope="module")
def frame():
    return rows()


@pytest.fixture(scope="module")
def data(frame):
    return corml.load(frame, rating="rating", at_least=4, k_core=3)


@pytest.fixture(scope="module")
def model(data):
    return fitted(data)


@pytest.fixture(scope="module")
def weighted(frame):
    """With everything that a pair can have: weight, time, kind, and a no."""
    events = {"event": "event", "weights": {"view": 1, "buy": 5}, "negative": {"return"}}
    return corml.load(frame, rating=False, min_user=4, half_life="30d", **events)


# --- data ------------------------------------------------------------------------------------------------------------


def test_every_user_of_the_table_with_an_item_of_the_catalogue_is_known(frame, data):
    known = frame.filter(pl.col("item").is_in(list(data.items)))
    assert pairs(data) == set(known.select("user", "item").iter_rows())
    assert set(data.others.users).isdisjoint(data.users)
    assert data.others.items == data.items


def test_excluded_users_keep_their_history_and_excluded_pairs(frame, data):
    low = frame.group_by("user").agg(pl.col("rating").max()).filter(pl.col("rating") < 4)["user"].to_list()
    degrees = dict(zip(data.others.users, data.others.user_degrees, strict=True))
    kept = [user for user in low if user in degrees]
    assert kept
    assert all(degrees[user] == 0 for user in kept)
    assert any(count > 0 for count in degrees.values())


def test_what_is_learned_from_and_its_fingerprint_are_as_without_them(data, model):
    alone = replace(data, others=None)
    again = fitted(alone)
    assert alone.fingerprint == data.fingerprint
    assert (model.fitted_.arrays["H"] != again.fitted_.arrays["H"]).nnz == 0
    assert model.train_.shape == again.train_.shape


def test_without_excluded_users_there_are_no_others(frame):
    assert corml.load(frame, rating=False).others is None


def test_they_go_with_the_data_through_a_selection_a_compaction_and_other_items(data):
    assert data.where(np.arange(len(data)) % 2 == 0).others is data.others
    half = data.on(data.users, Ids(data.items.labels[::2]))
    assert pairs(half.others) == {(user, item) for user, item in pairs(data.others) if item in half.items}
    smaller = data.where(data.item != 0).compact()
    assert pairs(smaller.others) == {(user, item) for user, item in pairs(data.others) if item != data.items[0]}


def test_pairs_of_an_excluded_user_who_becomes_a_user_are_excluded(data):
    person = data.others.users[0]
    more = data.on(Ids([*data.users, person], kind="user"), data.items)
    mine = {item for user, item in pairs(data.others) if user == person}
    row = more.users.rows([person])[0]
    assert set(more.items.labels[more.seen.item[more.seen.user == row]]) == mine
    assert person not in more.others.users
    assert pairs(more) == pairs(data)


def test_unknown_users_of_with_seen_become_others_with_excluded_pairs(data):
    elsewhere = Interactions.from_pairs(
        ["new", "new", data.users[0], "far"], [*data.items[:2], data.items[0], "nothing"]
    )
    more = data.with_seen(elsewhere)
    assert set(more.others.users) == {*data.others.users, "new"}
    assert {item for user, item in pairs(more.others) if user == "new"} == set(data.items[:2])
    assert pairs(more.elsewhere) == pairs(data.elsewhere) | {("far", "nothing")}
    assert more.others.user_degrees[more.others.users.rows(["new"])[0]] == 0
    assert pairs(more) == pairs(data) | {("new", item) for item in data.items[:2]} | {(data.users[0], data.items[0])}


def test_held_out_users_are_not_shown_what_they_have(data):
    split = corml.split(data, "new-users", seed=1)
    lists = fitted(split.train.with_seen(data)).recommend(list(data.users), k=len(data.items))
    assert not {(user, item) for user, items in lists.items() for item in items} & pairs(data)


def test_the_data_report_counts_excluded_users(data):
    assert dict(examine(data).facts)["users excluded from training"] == len(data.others.users)


# --- lists -----------------------------------------------------------------------------------------------------------


def test_an_excluded_user_is_scored_by_the_own_history(data, model):
    row = int(np.argmax(data.others.user_degrees))
    person, liked = data.others.users[row], data.others.items.labels[data.others.item[data.others.user == row]]
    lists = model.recommend([person], k=5, seen="learned")
    assert lists[person] == model.recommend(history=[list(liked)], k=5)["history 1"]
    assert lists.sources == ("personal",)


def test_an_excluded_user_without_likes_gets_unknown_popular_items(data, model):
    person = data.others.users[int(np.argmin(data.others.user_degrees))]
    lists = model.recommend([person], k=len(data.items))
    mine = {item for user, item in pairs(data.others) if user == person}
    assert lists.sources == ("fallback",)
    assert set(lists[person]) == set(data.items) - mine


@pytest.mark.parametrize("name", ["corml", "ease", "popularity", "gf-cf", "item-knn", "slim"])
def test_no_model_shows_users_what_they_have(data, frame, name):
    model = models.get(name)().fit(data)
    lists = model.recommend(sorted(set(frame["user"])), k=len(data.items))
    assert not {(user, item) for user, items in lists.items() for item in items} & pairs(data)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    at_least=st.sampled_from([None, 3, 5]),
    k_core=st.integers(0, 3),
    least=st.integers(0, 3),
)
def test_whoever_is_in_a_table_is_never_shown_what_the_table_says_they_have(seed, at_least, k_core, least):
    table = rows(150, seed)
    try:
        data = corml.load(table, rating="rating", at_least=at_least, k_core=k_core, min_user=least, min_item=least)
    except DataError:
        return  # nothing remains to learn from
    lists = corml.Popularity().fit(data).recommend(sorted(set(table["user"])), k=60)
    shown = {(user, item) for user, items in lists.items() for item in items}
    assert not shown & set(table.select("user", "item").iter_rows())


def test_a_model_with_vectors_of_users_protects_them_too(data):
    pytest.importorskip("torch")
    model = models.get("bpr-mf")(epochs=1).fit(data)
    lists = model.recommend(list(data.others.users), k=len(data.items))
    assert set(lists.sources) == {"fallback"}
    assert not {(user, item) for user, items in lists.items() for item in items} & pairs(data)


def test_with_items_nobody_has_they_are_still_known(data, model):
    table = pl.DataFrame({"item": [*data.items, "fresh"], "genre": [f"g{n % 3}" for n in range(len(data.items) + 1)]})
    wider = model.with_new_items(table)
    assert wider.fitted_.others.items == wider.items_
    lists = wider.recommend(list(data.others.users), k=len(wider.items_))
    assert not {(user, item) for user, items in lists.items() for item in items} & pairs(data)


# --- files -----------------------------------------------------------------------------------------------------------


def same(first, second):
    """Whether two know the same of the same people."""
    assert first.users == second.users
    for one, other in ((first, second), (first.seen, second.seen), (first.negative, second.negative)):
        if one is None or other is None:
            assert one is other
            continue
        assert (one.weighted != other.weighted).nnz == 0
        np.testing.assert_array_equal(one.times_by_row, other.times_by_row)
        words = [None if part.kinds is None else part.kinds_by_row.words() for part in (one, other)]
        assert words[0] == words[1]


def test_a_model_file_keeps_all_that_is_known_of_them(weighted, tmp_path):
    assert weighted.others.seen is not None
    assert weighted.others.negative is not None
    assert weighted.others.weights is not None
    model = fitted(weighted)
    model.save(tmp_path / "m.corml")
    again = corml.read_model(tmp_path / "m.corml")
    same(again.fitted_.others, weighted.others)
    everybody = list(model.users_)
    assert list(again.users_) == everybody
    assert again.recommend(everybody, k=5).rows() == model.recommend(everybody, k=5).rows()


def test_a_model_file_without_histories_has_nobody(model, tmp_path):
    model.save(tmp_path / "m.corml", history=False)
    assert corml.read_model(tmp_path / "m.corml").fitted_.others is None


def test_a_split_file_keeps_them(weighted, tmp_path):
    corml.split(weighted, "ratio", seed=1).save(tmp_path / "s.split")
    same(corml.read_split(tmp_path / "s.split").train.others, weighted.others)


def test_a_file_in_which_somebody_is_also_a_user_is_refused(data, model, tmp_path):
    path = tmp_path / "m.corml"
    model.save(path)
    forge(path, encode_ids("others.users", [data.users[0], *data.others.users[1:]]))
    with pytest.raises(ModelFileError, match="also among its users"):
        corml.read_model(path)


# --- updates ---------------------------------------------------------------------------------------------------------


def test_who_comes_back_is_a_user_with_all_that_was_known(data, model, tmp_path):
    row = int(np.argmax(data.others.user_degrees))
    person = data.others.users[row]
    liked = set(data.others.items.labels[data.others.item[data.others.user == row]])
    fresh = next(item for item in data.items if (person, item) not in pairs(data))
    new = model.update(Interactions.from_pairs([person, "stranger"], [fresh, fresh]))
    now = new.fitted_.added.data
    mine = now.items.labels[now.item[now.user == now.users.rows([person])[0]]]
    assert set(mine) == liked | {fresh}
    assert set(now.others.users) == set(data.others.users) - {person}
    assert new.fitted_.added.records[0]["new_users"] == 1  # the stranger
    new.save(tmp_path / "m.corml")
    again = corml.read_model(tmp_path / "m.corml")
    same(again.fitted_.added.data.others, now.others)
    assert list(again.users_) == list(new.users_)
    assert sorted(new.users_) == sorted([*model.users_, "stranger"])


def test_people_of_an_update_with_nothing_to_learn_are_known_after_it(model, data):
    item = data.items[0]
    table = pl.DataFrame({"user": ["a", "low"], "item": [item, item], "rating": [5, 1]})
    new = model.update(corml.load(table, rating="rating", at_least=4))
    assert item not in new.recommend(["low"], k=len(data.items))["low"]


def test_a_refit_keeps_them_apart(model, data):
    fresh = next(item for item in data.items if (data.users[0], item) not in pairs(data))
    again = model.update(Interactions.from_pairs([data.users[0]], [fresh])).refitted()
    assert again.train_.shape == model.train_.shape
    same(again.fitted_.others, data.others)


# --- one below the other ---------------------------------------------------------------------------------------------


def rows_of(histories, first, last, catalogue):
    """Everything that is known of some users, pair by pair."""
    return {
        (user - first, name, catalogue[part.pattern.indices[at]]): (
            part.times[at],
            part.weighted.data[at],
            part.kinds.where([at]).words(),
        )
        for name, part in (("liked", histories.pairs), ("seen", histories.seen), ("no", histories.negative))
        for user in range(first, last)
        for at in range(part.pattern.indptr[user], part.pattern.indptr[user + 1])
    }


def test_histories_are_those_of_the_users_and_then_of_the_others(weighted):
    both = fitted(weighted).fitted_.histories
    own = Histories.of(replace(weighted, others=None), learned=0)
    more = Histories.of(weighted.others, learned=0)
    users, everybody, items = len(weighted.users), len(both.users), weighted.items
    assert both.learned == users
    assert rows_of(both, 0, users, items) == rows_of(own, 0, users, items)
    assert rows_of(both, users, everybody, items) == rows_of(more, 0, everybody - users, items)


@pytest.mark.parametrize("bare", ["users", "others"])
def test_what_only_one_of_both_knows_is_blank_for_the_other(data, bare):
    def without(part):
        return replace(part, times=None, seen=None, negative=None, kinds=None, weights=None)

    strong = np.full(len(data), 2, dtype=np.float32), np.full(len(data.others), 2, dtype=np.float32)
    rich = replace(data, weights=strong[0]), replace(data.others, weights=strong[1])
    own, others = (without(rich[0]), rich[1]) if bare == "users" else (rich[0], without(rich[1]))
    both = Histories.of(replace(own, others=others), learned=0)
    first = slice(0, len(data)) if bare == "users" else slice(len(data), None)
    rest = slice(len(data), None) if bare == "users" else slice(0, len(data))
    assert np.isnan(both.pairs.times[first]).all()
    assert not np.isnan(both.pairs.times[rest]).any()
    assert (both.pairs.weights[first] == 1).all()
    assert (both.pairs.weights[rest] == 2).all()
    assert both.seen.pattern.shape == both.pairs.pattern.shape
    assert both.seen.pattern.nnz == len((rich[1] if bare == "users" else rich[0]).seen)


def test_somebody_with_strengths_and_noes_is_scored_by_them(weighted):
    model = fitted(weighted)
    person = weighted.others.users[int(np.argmax(weighted.others.negative.user_degrees * weighted.others.user_degrees))]
    alone = weighted.others.on(Ids([person], kind="user"), weighted.items)
    assert len(alone.negative) > 0
    assert model.recommend([person], k=5).rows() == model.recommend(history=alone, k=5).rows()


def test_what_others_said_no_to_is_kept_out_and_no_longer_scored_by(data):
    row = int(np.argmax(data.others.user_degrees))
    person = data.others.users[row]
    liked = data.others.items.labels[data.others.item[data.others.user == row]]
    fresh = next(item for item in data.items if (person, item) not in pairs(data))
    refusing = data.with_negative(Interactions.from_pairs([person, person, "new"], [liked[0], fresh, fresh]))
    assert pairs(refusing) == pairs(data) | {(person, fresh), ("new", fresh)}
    assert refusing.others.user_degrees[refusing.others.users.rows([person])[0]] == len(liked) - 1
    lists = fitted(refusing).recommend([person, "new"], k=len(data.items))
    assert fresh not in {*lists[person], *lists["new"]}


def test_the_noes_of_others_change_nothing_in_the_reasons_of_users():
    table = pl.DataFrame({"user": list("aabbccnn"), "item": list("xyxyxyxy"), "event": ["buy"] * 6 + ["return", "buy"]})
    loaded = corml.load(table, event="event", weights={"buy": 1}, negative=["return"], k_core=2)
    assert loaded.others.negative is not None
    model = corml.CoRML(rank=1, adapt=False).fit(loaded)
    assert model.explain("a", "y").strengths == ()
    popular = models.make("popularity").fit(loaded)
    assert cite(popular.fitted_, "n", weighted=False).strengths == ()  # it cannot push down


# --- items that went, and come back ----------------------------------------------------------------------------------

BASE = [*zip("aabbbccc", "xyxywywx", strict=True)]
LOW = [("a", "Z"), ("low", "Z"), ("low", "x"), ("far", "Z")]
BACK = [("b", "Z"), ("c", "Z")]
ABOUT = pl.DataFrame({"item": list("xywZ"), "genre": list("ggha")}).with_columns(pl.col("genre").replace("a", "g"))


def rated(liked=(), low=(), **more):
    rows = [(*pair, 5) for pair in liked] + [(*pair, 1) for pair in low]
    return corml.load(pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row"), at_least=4, **more)


def known(liked, low=()):
    return corml.CoRML(rank=1, adapt=False).fit(rated(liked, low))


def new(liked=(), low=()):
    return rated(liked, low, as_update=True)


def nobody_gets_z(model, people=("a", "b", "c", "low", "far")):
    assert "Z" in model.items_
    lists = model.recommend(list(people), k=10)
    assert not [user for user, items in lists.items() if "Z" in items]
    assert "Z" in model.recommend(["stranger"], k=10, unknown="fallback")["stranger"]


def test_what_is_known_of_items_outside_the_catalogue_is_kept():
    data = rated(BASE, LOW)
    assert pairs(data.elsewhere) == {("a", "Z"), ("low", "Z"), ("far", "Z")}
    assert data.fingerprint == rated(BASE).fingerprint
    assert rated(BASE).elsewhere is None
    wider = data.on(data.users, Ids([*data.items, "Z"]))
    assert wider.elsewhere is None
    assert {("a", "Z"), ("low", "Z"), ("low", "x"), ("far", "Z")} <= pairs(wider)


def test_an_item_that_comes_back_with_a_refit_is_not_shown_to_who_has_it(tmp_path):
    model = known(BASE, LOW)
    model.save(tmp_path / "m.corml")
    for one in (model, corml.read_model(tmp_path / "m.corml")):
        nobody_gets_z(one.update(new(BACK), refit=True))
        one.update(new(BACK)).save(tmp_path / "n.corml")
        nobody_gets_z(corml.read_model(tmp_path / "n.corml").refitted())


def test_what_was_only_seen_before_a_refit_is_known_after_the_next(tmp_path):
    first = known(BASE).update(new([("b", "x")], [("a", "Z")]), refit=True)
    first.save(tmp_path / "m.corml")
    nobody_gets_z(corml.read_model(tmp_path / "m.corml").update(new(BACK), refit=True), people="abc")


def test_an_update_in_between_does_not_lose_it(tmp_path):
    model = known(BASE, LOW).update(new([("d", "x")]))
    model.save(tmp_path / "m.corml")
    nobody_gets_z(corml.read_model(tmp_path / "m.corml").update(new(BACK), refit=True))


@pytest.mark.parametrize("updated", [False, True])
def test_a_new_item_that_somebody_had_is_not_shown_to_them(updated):
    data = rated(BASE, LOW, items=ABOUT)
    model = corml.CoRML(rank=1, adapt=False).fit(data)
    model = (model.update(new([("d", "x")])) if updated else model).with_new_items(ABOUT)
    nobody_gets_z(model, people=("a", "low", "far"))


def test_an_item_that_the_core_left_out_comes_back_only_to_those_who_lack_it(frame, tmp_path):
    first = corml.load(frame, rating=False, k_core=6)
    model = corml.Popularity().fit(first)
    went = first.elsewhere.items[0]
    again = model.update(Interactions.from_pairs(["one more"], [went]), refit=True)
    had = set(frame.filter(pl.col("item") == went)["user"])
    lists = again.recommend(sorted(set(frame["user"])), k=60)
    assert {user for user, items in lists.items() if went not in items} >= had
    assert any(went in items for items in lists.values())


def test_a_split_file_keeps_what_is_elsewhere(data, tmp_path):
    corml.split(data, "ratio", seed=1).save(tmp_path / "s.split")
    again = corml.read_split(tmp_path / "s.split").train
    assert pairs(again.elsewhere) == pairs(data.elsewhere)


def test_a_file_in_which_an_item_is_inside_and_outside_is_refused(tmp_path):
    model = known(BASE, LOW)
    model.save(path := tmp_path / "m.corml")
    forge(path, encode_ids("elsewhere.items", ["x"]))
    with pytest.raises(ModelFileError, match="out of its catalogue"):
        corml.read_model(path)
