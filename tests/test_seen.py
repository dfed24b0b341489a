"""What is known of a person, learned from or not, and when it may come back."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

import corml
from corml import Interactions
from corml._runtime import durations
from corml.data.ids import Ids
from corml.errors import ModelFileError, UsageError
from corml.evaluation import evaluate_lists
from corml.persistence import container
from support import random_interactions

DAY = 86_400.0
MODELS = [corml.CoRML(rank=4), corml.Popularity()]


@pytest.fixture
def data():
    known = random_interactions(3)
    seen = Interactions.from_pairs(["u0", "u0", "u1", "nobody"], ["i20", "i21", "nothing", "i0"])
    return known.with_seen(seen)


def first(lists):
    return lists.values()[0]


def cells(data):
    return set(zip(data.users.labels[data.user], data.items.labels[data.item], strict=True))


# --- data ------------------------------------------------------------------------------------------------------------


def test_seen_pairs_are_on_the_ids_of_the_data_and_beside_its_pairs(data):
    extra = {("u0", "i20"), ("u0", "i21")} - cells(data)
    assert cells(data.seen) == extra
    assert data.with_seen(data).seen.shape == data.shape
    assert cells(data.with_seen(data).seen) == extra
    assert random_interactions(3).with_seen(random_interactions(3)).seen is None


def test_the_latest_time_of_a_seen_pair_counts_and_none_is_none():
    data = Interactions.from_pairs(["a", "b"], ["x", "y"])
    timed = data.with_seen(Interactions.from_pairs(["a", "b"], ["y", "x"], times=[5, np.nan]))
    again = timed.with_seen(Interactions.from_pairs(["a"], ["y"], times=[9]))
    assert dict(zip(again.seen.user.tolist(), again.seen.times.tolist(), strict=True))[0] == 9
    assert np.isnan(again.seen.times[again.seen.user == 1]).all()


def test_what_is_seen_goes_with_its_users_and_items():
    data = Interactions.from_pairs(list("aab"), list("xyz")).with_seen(
        Interactions.from_pairs(list("abb"), list("zxy"))
    )
    assert cells(data.seen) == {("a", "z"), ("b", "x"), ("b", "y")}
    part = data.where(data.item != 0)
    assert cells(part.seen) == cells(data.seen)
    assert cells(part.compact().seen) == {("a", "z"), ("b", "y")}
    assert data.where(data.user == 0).compact().seen is None
    assert cells(data.on(Ids(["b"]), Ids(["q", "x"])).seen) == {("b", "x")}


def test_what_is_seen_changes_neither_the_fingerprint_nor_the_split(data):
    plain = replace(data, seen=None)
    assert data.fingerprint == plain.fingerprint
    assert corml.split(data, "ratio").fingerprint == corml.split(plain, "ratio").fingerprint


def test_low_ratings_are_seen_where_their_user_and_item_are_learned_from(tmp_path):
    (tmp_path / "a.csv").write_text("user,item,rating,time\na,x,5,1\na,y,2,2\nb,y,4,3\nb,z,1,4\nc,x,1,5\n")
    data = corml.load(tmp_path / "a.csv", at_least=4)
    assert cells(data) == {("a", "x"), ("b", "y")}
    assert cells(data.seen) == {("a", "y")}
    assert data.seen.times.tolist() == [2.0]
    assert (
        "ratings: 3 pairs without a rating of at least 4: not used for training, never recommended"
        in data.source["notes"]
    )
    assert corml.load(tmp_path / "a.csv").seen is None


def test_a_split_file_keeps_what_was_seen(data, tmp_path):
    split = corml.split(data, "ratio")
    split.save(tmp_path / "a.split")
    read = corml.read_split(tmp_path / "a.split")
    assert cells(read.train.seen) == cells(read.test.seen) == cells(data.seen)
    assert read.fingerprint == split.fingerprint


# --- lists -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.NAME)
def test_nothing_known_is_recommended_and_it_all_is_learned_from_the_rest(model, data):
    plain = replace(data, seen=None)
    lists, before = model.fit(data).recommend(["u0", "u1"], k=25), model.fit(plain).recommend(["u0", "u1"], k=25)
    known = {item for user, item in cells(data) | cells(data.seen) if user == "u0"}
    one, two = lists.values()
    assert not set(one) & known
    assert one == [item for item in first(before) if item not in known]
    assert two == before.values()[1]


def test_lists_from_the_fit_on_a_train_part_can_be_judged_by_the_held_out_pairs():
    split = corml.split(random_interactions(5, users=60, mean=12), "ratio")
    model = corml.Popularity().fit(split.train)
    lists = model.recommend(split.train.users.labels, k=25)
    judged = evaluate_lists(lists, split, ["recall@25"])
    assert judged["recall@25"] > 0.9


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.NAME)
def test_allow_ranks_everything_by_its_score_and_only_nothing_new(model, data):
    model.fit(data)
    history = data.where(data.user == data.users.rows(["u0"])[0]).on(Ids(["u0"]), data.items)
    order = model.items_.labels[np.argsort(-model.scores(history)[0], kind="stable")].tolist()
    known = {item for user, item in cells(data) | cells(data.seen) if user == "u0"}
    assert first(model.recommend(["u0"], k=25, seen="allow")) == order
    assert first(model.recommend(["u0"], k=25, seen="only")) == [item for item in order if item in known]
    some = sorted(known)[:2]
    assert set(first(model.recommend(["u0"], k=25, seen="only", only=[*some, "i24"]))) == set(some)
    assert set(first(model.recommend(["u0"], k=25, seen="only", exclude=some))) == known - set(some)


def test_learned_keeps_out_only_what_was_learned_from(data):
    lists = corml.Popularity().fit(data).recommend(["u0"], k=25, seen="learned")
    assert set(first(lists)) == set(data.items.labels) - {item for user, item in cells(data) if user == "u0"}


def timed():
    known = Interactions.from_pairs(list("aaab"), list("wxyz"), times=[0, 20 * DAY, 30 * DAY, 40 * DAY])
    return known.with_seen(Interactions.from_pairs(["a"], ["z"], times=[39 * DAY]))


@pytest.mark.parametrize(
    ("length", "expected"), [("1d", {"w", "x", "y"}), ("10d", {"w", "x"}), ("2w", {"w", "x"}), ("20d", {"w"})]
)
def test_recent_is_counted_back_from_the_latest_moment_of_the_data(length, expected):
    model = corml.Popularity().fit(timed())
    for seen in ("only", "allow"):
        assert set(first(model.recommend(["a"], seen=seen, exclude_recent=length))) == expected


def test_recent_holds_for_given_histories_with_times():
    model = corml.Popularity().fit(timed())
    history = Interactions.from_pairs(["new", "new"], ["w", "x"], times=[0, 50 * DAY])
    assert first(model.recommend(history=history, seen="only", exclude_recent="30d")) == ["w"]
    with pytest.raises(
        UsageError, match="needs the time of each interaction, and a list of items has none: ask for a known"
    ):
        model.recommend(history=[["w", "x"]], seen="allow", exclude_recent="30d")


def test_a_pair_without_a_time_counts_as_recent():
    data = Interactions.from_pairs(list("aab"), list("xyz"), times=[1, np.nan, 90 * DAY])
    model = corml.Popularity().fit(data)
    assert first(model.recommend(["a"], seen="only", exclude_recent="30d")) == ["x"]


@pytest.mark.parametrize("seen", ["yes", None, True, 1])
def test_a_wrong_rule_is_named(data, seen):
    with pytest.raises(UsageError, match="seen must be 'exclude', 'allow', 'only' or 'learned'"):
        corml.Popularity().fit(data).recommend(["u0"], seen=seen)


def test_recent_lets_older_items_come_back_without_another_option():
    model = corml.Popularity().fit(timed())
    one, two = (model.recommend(["a"], exclude_recent="10d", **how) for how in ({}, {"seen": "allow"}))
    assert first(one) == first(two)
    with pytest.raises(UsageError, match=r"seen=.learned. .* leave hide_events and exclude_recent out"):
        model.recommend(["a"], seen="learned", exclude_recent="10d")


# --- files -----------------------------------------------------------------------------------------------------------


def test_a_file_keeps_what_was_seen_and_when(tmp_path):
    missing = timed().with_seen(Interactions.from_pairs(["b"], ["w"], times=[np.nan]))
    model = corml.Popularity().fit(missing)
    model.save(tmp_path / "m.corml")
    read = corml.read_model(tmp_path / "m.corml")
    np.testing.assert_array_equal(read.seen_.toarray(), model.seen_.toarray())
    np.testing.assert_array_equal(read.fitted_.times, model.fitted_.times)
    np.testing.assert_array_equal(read.fitted_.seen.times, model.fitted_.seen.times)
    assert read.fitted_.histories.latest == 40 * DAY
    assert first(read.recommend(["b"], seen="only", exclude_recent="1y")) == []
    read.save(tmp_path / "again.corml")
    assert (tmp_path / "again.corml").read_bytes() == (tmp_path / "m.corml").read_bytes()


@pytest.mark.parametrize("times", [[1.5, 2, 3], [-5, 2, 3], [2**31, 2, np.nan], [2**31 - 1, 0, 1], [np.nan, 0, 1]])
def test_times_of_a_file_are_exact_whatever_they_are(tmp_path, times):
    data = Interactions.from_pairs(list("abc"), list("xyz"), times=times)
    corml.Popularity().fit(data).save(tmp_path / "m.corml")
    np.testing.assert_array_equal(corml.read_model(tmp_path / "m.corml").fitted_.times, data.times)


def test_a_file_without_histories_says_nothing_of_what_was_seen(tmp_path):
    corml.Popularity().fit(timed()).save(tmp_path / "m.corml", history=False)
    names = container.read(tmp_path / "m.corml").arrays
    assert not {name for name in names if name.startswith(("seen", "train", "users"))}
    assert corml.read_model(tmp_path / "m.corml").seen_.nnz == 0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"train.times": np.zeros(2)}, "times of train are not one number for each pair"),
        ({"train.seen.times": np.zeros(1, dtype=np.float32)}, "times of train.seen are not one number for each pair"),
        ({"train.seen.indices": np.array([0], dtype=np.int32)}, "are also among those that are only excluded"),
        ({"train.seen.indices": np.array([9], dtype=np.int32)}, "matrix train.seen does not add up"),
        (
            {"users.bytes": None, "users.offsets": None, "train.indptr": None, "train.indices": None},
            "arrays that no popularity model has",
        ),
    ],
)
def test_a_file_that_cannot_be_is_refused(tmp_path, change, sentence):
    corml.Popularity().fit(timed()).save(tmp_path / "m.corml")
    contents = container.read(tmp_path / "m.corml")
    arrays = {name: array for name, array in {**contents.arrays, **change}.items() if array is not None}
    (tmp_path / "forged.corml").write_bytes(container.pack(arrays, contents.meta))
    with pytest.raises(ModelFileError, match=sentence):
        corml.read_model(tmp_path / "forged.corml")


# --- lengths of time -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "length"),
    [("30d", 30 * DAY), ("1.5h", 5400), (" 2 w ", 14 * DAY), ("10min", 600), ("5s", 5), ("1y", 365 * DAY)],
)
def test_lengths_of_time_are_read(text, length):
    assert durations.seconds(text, "it") == length
    assert durations.seconds(timedelta(seconds=length), "it") == length


@pytest.mark.parametrize("text", ["", "d", "30", "-3d", "0d", "3 months", 30, None, timedelta(0), "1e3d", "∞d"])
def test_what_is_no_length_of_time_is_named(text):
    with pytest.raises(
        UsageError, match=r"it must be a length of time such as '30d', '12h' or '2w' \(units: s, min, h"
    ):
        durations.seconds(text, "it")
