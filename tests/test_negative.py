"""What somebody said no to is not learned from, is seen, and pushes down what is like it: exactly, and explained."""

from dataclasses import replace

import numpy as np
import polars
import pytest

import corml
from corml import Interactions, models
from corml.data.kinds import Kinds
from corml.errors import DataError, DataWarning, ModelFileError, UsageError, WeightsWarning
from support import forge, random_interactions, with_weights

LINEAR = ["corml", "corml-dial", "ease", "item-knn", "slim", "admm-slim", "gf-cf"]


def made(name, **settings):
    rank = {"of": {"rank": 4}} if name == "corml-dial" else {"rank": 4} if name in ("corml", "gf-cf") else {}
    return models.make(name, rank | settings)


def one_each(names, codes):
    """Event types of pairs of which each has one."""
    return Kinds.of_events(names, np.arange(len(codes)), codes.astype(np.int32), None, len(codes))


def refusing(data, *, share=0.15, seed=1):
    """The same data with some pairs, of users that have others, turned into noes of strength 1 or 2."""
    rng = np.random.default_rng(seed)
    no = (rng.random(len(data)) < share) & (data.user_degrees[data.user] > 3)
    strength = rng.choice([1.0, 2.0], len(data)).astype(np.float32)
    kinds = one_each(("return", "dislike"), rng.integers(0, 2, len(data)))
    return data.with_negative(replace(data, weights=strength, kinds=kinds).where(no))


@pytest.fixture(scope="module")
def data():
    return refusing(with_weights(random_interactions(2, 60, 25, 8)))


def test_a_no_is_seen_and_not_learned_from(data):
    assert 20 < len(data.negative) == len(data.seen)
    assert not data.negative.matrix.multiply(data.matrix).nnz
    learned, alone = made("ease").fit(data), made("ease").fit(replace(data, negative=None))
    np.testing.assert_array_equal(learned.weights_, alone.weights_)
    assert data.fingerprint == replace(data, negative=None).fingerprint


@pytest.mark.parametrize("name", LINEAR)
def test_scores_are_those_of_the_history_less_what_was_said_no_to(name, data):
    """Against brute force: the model is linear, so a list is the sum of the lists of single items."""
    model, users = made(name).fit(data), data.users.labels.tolist()
    of_items = model.scores([[item] for item in data.items]).astype(np.float64)
    strengths = data.weighted.toarray().astype(np.float64)
    signed = (strengths - data.negative.weighted.toarray()) / strengths.max(axis=1, keepdims=True)
    lists = model.recommend(users, k=len(data.items), seen="allow")
    refused = data.negative.user_degrees
    for row, (items, scores) in enumerate(zip(lists.items, lists.scores, strict=True)):
        there = items != np.array(None)
        assert there.sum() == len(data.items) - refused[row]  # which stay out even where known items may come back
        of_listed = (signed[row] @ of_items)[data.items.rows(items[there])]
        np.testing.assert_allclose(scores[there], of_listed, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", LINEAR)
def test_an_explanation_sums_to_the_score_and_names_the_no(name, data):
    model = made(name).fit(data)
    user = data.users.labels[data.negative.user[0]]
    refused = set(data.negative.items.labels[data.negative.where(data.negative.user == data.negative.user[0]).item])
    lists = model.recommend([user], k=3)
    for item, score in zip(lists.items[0], lists.scores[0], strict=True):
        why = model.explain(user, item)
        assert why.score == pytest.approx(score, rel=1e-3, abs=1e-5)
        against = [row for row in why.rows() if row["strength"] < 0]
        assert {row["item"] for row in against} == refused
        assert {row["kind"] for row in against} <= {"return", "dislike"}
        assert {row["kind"] for row in why.rows() if row["strength"] > 0} == {""}


def test_what_is_like_a_disliked_item_falls():
    """Two sorts of items. Who has both and says no to one of a sort gets more of the other."""
    rng = np.random.default_rng(0)
    users, items = np.nonzero(
        rng.random((200, 20)) < np.where(np.arange(200)[:, None] % 2 == np.arange(20) % 2, 0.6, 0.1)
    )
    plain = Interactions.from_pairs(["ann"] * 2 + [f"u{u}" for u in users], ["i0", "i1"] + [f"i{i}" for i in items])
    no = Interactions.from_pairs(["ann"] * 2, ["i3", "i5"])
    for name in LINEAR:
        before = made(name).fit(plain).recommend("ann", k=10)
        after = made(name).fit(plain.with_negative(no)).recommend("ann", k=10)
        odd = [sum(int(item[1:]) % 2 for item in lists.items[0][:6]) for lists in (before, after)]
        assert odd[1] < odd[0], name
        assert not {"i3", "i5"} & set(after.items[0])


@pytest.mark.parametrize("name", ["corml", "ease"])
def test_without_a_no_files_are_what_they_were(name, tmp_path, data):
    plain = random_interactions(2)
    nobody = plain.with_negative(plain.where(np.zeros(len(plain), dtype=bool)))
    for label, one in {"plain": plain, "nobody": nobody}.items():
        made(name).fit(one).save(tmp_path / label)
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "nobody").read_bytes()


@pytest.mark.parametrize("name", LINEAR)
def test_the_file_keeps_it(name, data, tmp_path):
    times = np.arange(len(data.negative)).astype(float)
    model = made(name).fit(replace(data, negative=replace(data.negative, times=times)))
    model.save(tmp_path / "m.corml")
    read, users = corml.read_model(tmp_path / "m.corml"), data.users.labels.tolist()
    np.testing.assert_array_equal(read.recommend(users, k=5).items, model.recommend(users, k=5).items)
    assert read.fitted_.negative.kinds.words() == model.fitted_.negative.kinds.words()
    np.testing.assert_array_equal(read.fitted_.negative.times, model.fitted_.negative.times)


@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        ("weights", lambda a: -a, "weights of train.negative are not one positive number"),
        ("kinds", lambda a: a + 9, "event types of train.negative are not at least one for each pair"),
        ("kinds", lambda a: a[1:], "event types of train.negative are not at least one for each pair"),
        ("", None, "disliked pairs of its train are not among those that are excluded"),
    ],
)
def test_a_file_with_an_odd_no_is_refused(name, change, sentence, data, tmp_path):
    made("item-knn").fit(data).save(tmp_path / "m.corml")
    if change is None:
        forge(tmp_path / "m.corml", without=("train.seen.indptr",))
    else:
        forge(tmp_path / "m.corml", {f"train.negative.{name}": change})
    with pytest.raises(ModelFileError, match=sentence):
        corml.read_model(tmp_path / "m.corml")


@pytest.mark.parametrize("name", LINEAR)
def test_a_history_given_as_interactions_is_scored_as_that_of_a_known_user(name, data):
    model = made(name).fit(data)
    known, given = model.recommend(data.users.labels, k=5), model.recommend(history=data, k=5)
    np.testing.assert_array_equal(known.items, given.items)
    np.testing.assert_array_equal(known.scores, given.scores)


def test_who_only_said_no_gets_what_is_popular(data):
    model = made("ease").fit(data)
    alone = data.where(data.user > 0)  # the first user keeps the noes only
    lists = model.recommend(history=alone, k=3)
    assert len(data.negative.where(data.negative.user == 0))
    assert lists.sources[0] == "fallback"


def test_a_model_that_is_not_linear_says_so(data):
    with pytest.warns(WeightsWarning, match="^popularity cannot push down what is like a disliked item: it only"):
        model = models.make("popularity").fit(replace(data, weights=None))
    refused = set(zip(data.users.labels[data.negative.user], data.items.labels[data.negative.item], strict=True))
    assert refused
    for seen in ("exclude", "allow"):
        lists = model.recommend(data.users.labels, k=25, seen=seen)
        listed = {(user, item) for user, items in zip(data.users, lists.items, strict=True) for item in items}
        assert not refused & listed


def test_evaluation_ranks_what_recommend_ranks(data):
    split = corml.split(data, "ratio")
    model = made("ease", l2=5.0).fit(split.train)
    own = corml.evaluate(model, split, ["ndcg@5"], part="valid")
    lists = model.recommend(history=split.train, k=25, seen="learned")
    other = corml.evaluation.evaluate_lists(lists, split, ["ndcg@5"], part="valid")
    assert other["ndcg@5"] == pytest.approx(own["ndcg@5"])
    without = corml.Split(train=replace(split.train, negative=None), valid=split.valid, test=split.test)
    assert corml.evaluate(model, without, ["ndcg@5"], part="valid")["ndcg@5"] != own["ndcg@5"]


@pytest.mark.parametrize("how", ["temporal", "leave-last"])
def test_a_split_by_time_does_not_know_later_noes(how, data):
    rng = np.random.default_rng(0)
    no = replace(data.negative, times=rng.random(len(data.negative)))
    timed = replace(data, times=rng.random(len(data)), negative=no)
    train = corml.split(timed, how).train
    latest = np.full(len(data.users), train.times.max() if how == "temporal" else -np.inf)
    if how == "leave-last":
        np.maximum.at(latest, train.user, train.times)
    assert 0 < len(train.negative) < len(no)
    assert (train.negative.times <= latest[train.negative.user]).all()
    assert len(corml.split(timed, "ratio").train.negative) == len(no)


def test_a_split_file_keeps_it(data, tmp_path):
    kinds = one_each(("view", "buy"), np.arange(len(data)) % 2)
    split = corml.split(replace(data, kinds=kinds), "ratio")
    split.save(tmp_path / "a.split")
    train = corml.read_split(tmp_path / "a.split").train
    np.testing.assert_array_equal(train.histories.toarray(), split.train.histories.toarray())
    assert train.negative.kinds_by_row.words() == split.train.negative.kinds_by_row.words()
    assert train.kinds_by_row.words() == split.train.kinds_by_row.words()


# --- loading ---------------------------------------------------------------------------------------------------------

EVENTS = """user,item,type,quantity,time
a,x,view,1,2024-01-01
a,x,buy,1,2024-01-11
a,y,buy,1,2024-01-31
b,x,buy,1,2024-01-01
b,x,return,2,2024-01-21
b,y,view,1,2024-01-31
c,y,dislike,1,2024-01-31
c,x,dislike,1,2024-01-01
c,x,buy,1,2024-01-11
"""
WEIGHTS = {"view": 1, "buy": 10, "return": 3}


@pytest.fixture
def events(tmp_path):
    (tmp_path / "events.csv").write_text(EVENTS)
    return tmp_path / "events.csv"


def strengths(data):
    weights = np.ones(len(data)) if data.weights is None else data.weights
    return {
        data.users[user] + data.items[item]: pytest.approx(float(weight))
        for user, item, weight in zip(data.user, data.item, weights, strict=True)
    }


def test_a_no_is_as_strong_as_its_kind_weighs_and_1_without_a_weight(events):
    options = {"event": "type", "weights": WEIGHTS, "negative": ["return", "dislike"]}
    data = corml.load(events, **options)
    assert strengths(data.negative) == {"bx": 3, "cy": 1}
    assert strengths(data) == {"ax": 11, "ay": 10, "by": 1, "cx": 10}
    assert "negative: 2 of these pairs push down what is like them" in data.source["notes"]
    assert strengths(corml.load(events, **options, weight="quantity", transform="sqrt").negative) == {
        "bx": np.sqrt(6),
        "cy": 1,
    }
    assert strengths(corml.load(events, **options, half_life="10d").negative) == {"bx": 1.5, "cy": 1}
    assert corml.load(events, **options | {"weights": WEIGHTS | {"return": 0, "dislike": 0}}).negative is None


def test_the_kind_of_a_pair_is_that_of_its_last_event_or_the_strongest(events):
    options = {"event": "type", "weights": WEIGHTS, "negative": ["return", "dislike"]}
    data = corml.load(events, **options)
    assert data.kinds.words() == ["buy", "buy", "view", "buy"]
    assert data.negative.kinds.words() == ["return", "dislike"]
    without = corml.load(events, **options, time=False)
    assert dict(zip(strengths(without), without.kinds.words(), strict=True)) == {"ax": "buy", "ay": "buy", "by": "view"}
    assert without.negative.kinds.words() == ["return"]  # and nothing is left of c


def test_explanations_name_kind_and_age(events):
    data = corml.load(events, event="type", weights=WEIGHTS, negative=["return", "dislike"])
    why = models.make("item-knn").fit(data).explain("b", "x")
    (bought,) = [row for row in models.make("item-knn").fit(data).explain("a", "y").rows() if row["item"] == "x"]
    assert (bought["kind"], bought["age_days"], bought["strength"]) == ("buy", 20.0, 11.0)
    assert {row["item"]: (row["kind"], row["age_days"]) for row in why.rows()} == {
        "y": ("view", 0.0),
        "x": ("return", 10.0),
    }
    assert "return, 10 days ago" in str(why)
    assert why.to_frame().columns[-3:] == ["strength", "kind", "age_days"]
    assert '<th scope="col">kind</th><th scope="col">age days</th>' in why._repr_html_()
    assert ">10</td>" in why._repr_html_()


RATINGS = """user,item,rating,time
a,x,5,2024-01-01
a,y,4,2024-01-31
b,x,3,2024-01-31
b,y,5,2024-01-31
b,z,4,2024-01-31
c,z,1,2024-01-31
c,y,4.5,2024-01-31
"""


@pytest.fixture
def ratings(tmp_path):
    (tmp_path / "ratings.csv").write_text(RATINGS)
    return tmp_path / "ratings.csv"


def test_ratings_are_strength_above_the_threshold_and_a_no_below(ratings):
    data = corml.load(ratings, at_least=4, rating_strength=True, low_ratings="negative")
    assert strengths(data) == {"ax": 2, "ay": 1, "by": 2, "bz": 1, "cy": 1.5}
    assert strengths(data.negative) == {"bx": 1, "cz": 3}
    assert len(data.seen) == 2
    plain = corml.load(ratings, at_least=4, low_ratings="negative")
    assert plain.weights is None
    assert strengths(plain.negative) == strengths(data.negative)
    assert corml.load(ratings, at_least=4, rating_strength=True).negative is None


def test_ratings_and_age_multiply(ratings):
    data = corml.load(ratings, at_least=4, rating_strength=True, half_life="30d", low_ratings="negative")
    assert strengths(data)["ax"] == 1
    assert strengths(data)["by"] == 2


def test_what_is_old_by_far_is_still_learned_from(ratings):
    with pytest.warns(DataWarning, match="half-life '1h'"):
        data = corml.load(ratings, half_life="1h")
    assert strengths(data)["ax"] == np.finfo(np.float32).tiny
    assert data.seen is None


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"rating_strength": True},
            "rating_strength= .* and low_ratings= .* count from a threshold of ratings: give at_least=",
        ),
        ({"low_ratings": "negative"}, "give at_least="),
        ({"low_ratings": "bad", "at_least": 4}, "low_ratings= .--low-ratings. must be 'seen' or 'negative'; got 'bad'"),
    ],
)
def test_what_cannot_be_meant_is_named(ratings, options, sentence):
    with pytest.raises(UsageError, match=sentence):
        corml.load(ratings, **options)


def test_ratings_need_their_column(tmp_path):
    (tmp_path / "a.csv").write_text("user,item\na,x\nb,x\n")
    with pytest.raises(DataError, match="needs a rating column"):
        corml.load(tmp_path / "a.csv", at_least=4, rating_strength=True)


def test_without_times_the_report_says_that_pairs_are_counted_by_their_strongest_event():
    rows = {"user": list("aab"), "item": list("xxy"), "type": ["buy", "view", "view"]}
    facts = dict(corml.data.examine(polars.DataFrame(rows), event="type", weights={"view": 1, "buy": 3}).facts)
    assert facts["pairs by their strongest event"] == {"buy": 1, "view": 1}
    assert facts["share of the weight by strongest event"] == {"buy": 0.8, "view": 0.2}
    assert not any("last event" in label for label in facts)


def test_the_doctor_shows_what_noes_kinds_and_ratings_do(events, ratings):
    from corml.data import examine

    report = examine(events, event="type", weights=WEIGHTS, negative=["return", "dislike"])
    facts = dict(report.facts)
    assert facts["pairs by their last event"] == {"view": 1, "buy": 3}
    assert facts["share of the weight by last event"] == pytest.approx({"view": 1 / 32, "buy": 31 / 32})
    assert (facts["pairs with negative feedback"], facts["users with negative feedback"]) == (2, 2)
    assert facts["weight of negative feedback"]["max"] == 3
    assert facts["negative feedback relative to the weight of all pairs"] == pytest.approx(4 / 32)
    assert not [finding for finding in report.findings if finding.what.startswith("negative feedback weighs")]
    strong = examine(events, event="type", weights=WEIGHTS | {"buy": 100}, negative=["return", "dislike"])
    (weak,) = [finding for finding in strong.findings if finding.what.startswith("negative feedback weighs")]
    assert weak.what == "negative feedback weighs 2, an interaction 75.5 on average"
    rated = dict(examine(ratings, at_least=4, rating_strength=True).facts)
    assert rated["weight of a rating"] == "rating - 4 + 1"
    assert "pairs with negative feedback" not in rated
