"""Asking for lists: who, from what, without what, and what is said when a list is short."""

import numpy as np
import pytest

import corml
from corml import models
from corml.errors import DataError, UnknownIdError, UsageError
from corml.recommend.explanation import Explanation
from support import random_interactions


@pytest.fixture(scope="module")
def model():
    data = random_interactions(3, 50, 20)
    titled = corml.Interactions(data.users, data.items, data.user, data.item, titles={"i1": "The One", "i2": "=Two()"})
    return corml.CoRML(rank=4, ridge=2.0).fit(titled)


def test_known_users_and_histories_are_two_ways_to_ask(model):
    assert model.recommend("u1", k=3).users == ("u1",)
    assert model.recommend(["u1", "u2"], k=3).items.shape == (2, 3)
    assert model.recommend(history=[["i1", "i7"]], k=3).users == ("history 1",)
    assert model.recommend([], k=3).items.shape == (0, 3)


def test_a_batch_of_interactions_is_a_batch_of_histories(model):
    batch = corml.Interactions.from_pairs(["new", "new", "old"], ["i1", "i7", "i3"])
    found = model.recommend(history=batch, k=4)
    assert found.users == ("new", "old")
    assert found.items[0].tolist() == model.recommend(history=[["i1", "i7"]], k=4).items[0].tolist()


def test_the_order_of_a_history_and_repetitions_do_not_matter(model):
    first = model.recommend(history=[["i1", "i7", "i1"]], k=5)
    assert first.items.tolist() == model.recommend(history=[["i7", "i1"]], k=5).items.tolist()


@pytest.mark.parametrize("exclude", [["i0", "i2"], [["i0", "i2"]]])
def test_excluded_items_are_not_listed(model, exclude):
    found = model.recommend(history=[["i1"]], k=17, exclude=exclude)
    assert not {"i0", "i1", "i2"} & set(found.items[0])
    assert None not in found.items[0]


def test_each_row_may_have_its_own_limits(model):
    found = model.recommend(history=[["i1"], ["i1"]], k=2, only=[["i2", "i3", "i4"], ["i5", "i6"]])
    assert set(found.items[0]) <= {"i2", "i3", "i4"}
    assert set(found.items[1]) == {"i5", "i6"}
    assert found.reasons == (None, None)


def test_a_whole_catalogue_that_is_shorter_than_k_says_so_too(model):
    found = model.recommend(history=[[]], k=25)
    assert found.items.shape == (1, len(model.items_))
    assert None not in found.items[0]
    assert found.reasons[0].endswith("; exhausted: 20 of 25, 0 seen or excluded")


def test_a_list_has_exactly_k_items_or_says_why_not(model):
    found = model.recommend(history=[["i1", "i2"]], k=5, only=["i1", "i3", "i4"])
    assert sorted(found.items[0].tolist()[:2]) == ["i3", "i4"]
    assert found.items[0].tolist()[2:] == [None] * 3
    assert np.isnan(found.scores[0, 2:]).all()
    assert found.reasons[0] == "exhausted: 2 of 5, only 3 items allowed, 2 seen or excluded"


def test_someone_with_everything_gets_nothing_and_is_told(model):
    found = model.recommend(history=[list(model.items_.labels)], k=3)
    assert found.items[0].tolist() == [None] * 3
    assert found.reasons[0].startswith("exhausted: 0 of 3")


def test_unknown_items_of_a_history_are_reported_never_mapped(model):
    found = model.recommend(history=[["i1", "ghost"], ["ghost", "spook"]], k=3)
    assert found.unknown == (("ghost",), ("ghost", "spook"))
    assert found.items[0].tolist() == model.recommend(history=[["i1"]], k=3).items[0].tolist()
    assert found.sources == ("personal", "fallback")
    assert found.reasons[1] == "most popular items: none of the 2 history items is known"


def test_users_nobody_knows_do_not_end_a_batch(model):
    found = model.recommend(["u2", "ghost", "u1", "spook"], k=4)
    assert found.sources == ("personal", "fallback", "personal", "fallback")
    assert found.reasons == (None, "most popular items: the model does not know this user") * 2
    known = model.recommend(["u2", "u1"], k=4)
    assert found.items[[0, 2]].tolist() == known.items.tolist()
    np.testing.assert_array_equal(found.scores[[0, 2]], known.scores)
    popular = model.items_.labels[np.argsort(-model.counts_, kind="stable")[:4]].tolist()
    assert found["ghost"] == found["spook"] == popular
    frame = found.to_frame()
    assert frame.filter(user="ghost").select("source", "reason").unique().row(0) == (
        "fallback",
        "most popular items: the model does not know this user",
    )
    assert frame.filter(user="u1").select("source", "reason").unique().row(0) == ("personal", None)


@pytest.mark.filterwarnings("ignore:The user is unknown:corml.errors.DataWarning")
def test_the_fallback_keeps_to_the_limits(model):
    popular = model.items_.labels[np.argsort(-model.counts_, kind="stable")].tolist()
    assert model.recommend(["ghost"], k=3, exclude=popular[:2])["ghost"] == popular[2:5]
    assert model.recommend(["ghost"], k=3, only=popular[-2:])["ghost"] == popular[-2:]
    again = model.recommend(["ghost"], k=3, seen="only")
    assert again["ghost"] == []
    assert "exhausted: 0 of 3" in again.reasons[0]


def test_popular_lists_keep_to_the_limits_too(model):
    found = model.recommend(history=[[], ["i1"]], k=2, exclude=["i0"], only=["i0", "i1", "i2", "i3"])
    assert set(found.items[0]) <= {"i1", "i2", "i3"}


def test_popular_lists_are_limited_to_the_only_items_allowed(model):
    rarest = model.items_.labels[np.argsort(model.counts_, kind="stable")[:3]].tolist()
    found = model.recommend(history=[[], ["i0"], []], k=3, only=[rarest, rarest[:2], rarest[1:]])
    assert set(found.items[0]) == set(rarest)
    assert set(found.items[2]) == {*rarest[1:], None}
    assert (np.diff(found.scores[0]) <= 0).all()
    assert (
        found.reasons[2]
        == "most popular items: no history; exhausted: 2 of 3, only 2 items allowed, 0 seen or excluded"
    )


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({}, UsageError, "Say for whom"),
        ({"users": ["u1"], "history": [["i1"]]}, UsageError, "Say for whom"),
        ({"users": ["ghost"], "unknown": "error"}, UnknownIdError, "1 user id"),
        ({"users": ["ghost"], "unknown": "skip"}, UsageError, "unknown must be 'fallback' or 'error'; got 'skip'"),
        ({"history": ["i1", "i2"]}, UsageError, "history=[[…]]"),
        ({"history": [1, 2]}, UsageError, "history=[[…]]"),
        ({"history": 5}, UsageError, "history=[[…]]"),
        ({"history": [[["i1"]]]}, UsageError, "history takes item or user ids"),
        ({"users": {"u1": 1}}, UsageError, "users takes item or user ids"),
        ({"users": ["u1"], "exclude": [["i1", None]]}, UsageError, "exclude takes item or user ids"),
        ({"users": ["u1"], "k": 0}, UsageError, "k must be a whole number from 1"),
        ({"users": ["u1"], "k": 2.5}, UsageError, "k must be a whole number"),
        ({"users": ["u1"], "k": True}, UsageError, "k must be a whole number"),
        ({"users": ["u1"], "only": [["i1"], ["i2"]]}, DataError, "only has 2 lists for 1 rows"),
        ({"users": ["u1"], "exclude": ["i1", ["i2"]]}, UsageError, "not a mixture"),
    ],
)
def test_questions_that_cannot_be_meant_are_refused(model, arguments, error, sentence):
    with pytest.raises(error) as refused:
        model.recommend(**arguments)
    assert sentence in str(refused.value)


def test_arrays_columns_and_numbers_are_ids_too():
    data = corml.Interactions.from_pairs(np.array([1, 1, 2, 2, 3]), np.array([7, 8, 7, 9, 8]), titles={7: "Seven"})
    model = corml.CoRML().fit(data)
    expected = model.recommend(["1", "2"], k=1).items.tolist()
    assert model.recommend(np.array([1, 2]), k=1).items.tolist() == expected
    assert model.recommend(np.int64(1), k=1).items.tolist() == expected[:1]
    assert model.recommend(history=np.array([[7, 8]]), k=1).items.tolist() == expected[:1]
    assert "9" not in model.recommend(history=[[7]], k=3, exclude=np.array([9])).items[0]
    assert "9" not in model.recommend(history=[[7]], k=3, exclude="9").items[0]
    assert model.similar(np.int64(7), k=1).users == ("7",)
    assert model.explain(np.int64(1), 9).history == ("7", "8")
    assert model.titles_ == {"7": "Seven"}


def test_a_batch_of_interactions_reports_unknown_items_too(model):
    batch = corml.Interactions.from_pairs(["new", "new", "old"], ["i1", "ghost", "spook"])
    found = model.recommend(history=batch, k=2)
    assert found.unknown == (("ghost",), ("spook",))
    assert found.reasons[1] == "most popular items: the only history item is not known"


def test_similar_items_are_the_list_of_someone_who_met_one_item(model):
    found = model.similar("i1", k=4)
    assert found.users == ("i1",)
    assert found.items[0].tolist() == model.recommend(history=[["i1"]], k=4).items[0].tolist()
    assert model.similar(["i1", "i2"], k=4).users == ("i1", "i2")
    with pytest.raises(UnknownIdError, match="item id"):
        model.similar("ghost")


def test_lists_become_frames_and_records(model):
    found = model.recommend(history=[["i5"], list(model.items_.labels[:-1])], k=3)
    frame = found.to_frame()
    assert frame.columns == ["user", "rank", "item", "score", "title", "source", "reason"]
    assert frame.height == 4
    assert frame["rank"].to_list() == [1, 2, 3, 1]
    assert [row["item"] for row in found.rows()] == frame["item"].to_list()
    assert [row["rank"] for row in found.rows()] == frame["rank"].to_list()
    assert [len(one) for one in found.values()] == [3, 1]
    assert len(found) == 2
    assert "2 lists of 3" in repr(found)
    assert "exhausted" in str(found)
    assert "The One" in str(model.recommend(history=[["i5"]], k=19))


def test_lists_without_titles_have_no_title_column(data):
    found = corml.Popularity().fit(data).recommend(["u1"], k=2)
    assert found.to_frame().columns == ["user", "rank", "item", "score", "source", "reason"]
    assert "title" not in found.rows()[0]


def test_explanations_become_frames_and_text(model):
    why = model.explain(["i5", "i1", "ghost"], "i3")
    frame = why.to_frame()
    assert frame.columns == ["item", "contribution", "h", "g", "title"]
    assert frame["contribution"].to_list() == sorted(frame["contribution"].to_list(), reverse=True)
    assert frame["contribution"].sum() == pytest.approx(why.score)
    assert "score" in str(why)
    assert "The One" in str(why)


def test_an_item_named_twice_in_a_history_is_explained_once(model):
    twice, once = model.explain(["i5", "i1", "i5"], "i3"), model.explain(["i5", "i1"], "i3")
    assert twice.history == once.history == ("i5", "i1")
    assert twice.score == once.score


def test_a_model_has_titles_of_its_catalogue_only(data):
    titles = {"i1": "The One", "later": "not yet in the catalogue"}
    titled = corml.Interactions(data.users, data.items, data.user, data.item, titles=titles)
    assert corml.Popularity().fit(titled).titles_ == {"i1": "The One"}


def test_what_does_not_go_by_histories_has_nothing_to_explain(data):
    with pytest.raises(UsageError, match="nothing to explain"):
        corml.Popularity().fit(data).explain(["i1"], "i2")


def test_a_file_without_history_answers_histories_only(model, tmp_path):
    path = str(tmp_path / "small.corml")
    model.save(path, history=False)
    loaded = corml.read_model(path)
    assert (
        loaded.recommend(history=[["i1"]], k=3).items.tolist() == model.recommend(history=[["i1"]], k=3).items.tolist()
    )
    assert loaded.recommend(history=[[]], k=3).items.tolist() == model.recommend(history=[[]], k=3).items.tolist()
    with pytest.raises(UsageError, match="saved without its users"):
        loaded.recommend(["u1"])


def test_models_are_found_by_name_and_misspellings_are_helped():
    assert models.get("corml") is corml.CoRML
    with pytest.raises(UsageError, match="did you mean 'popularity'"):
        models.get("populrity")
    assert models.make("corml", {"rank": "8"}).rank == 8


def test_an_explanation_shows_the_largest_contributions_and_adds_up_the_others():
    history = tuple(f"i{n}" for n in range(28))
    values = np.array([0.5, -0.4, *np.full(26, 1e-7)])
    found = Explanation("x", history, {"h": values, "g": np.zeros(28)})
    rows = found.largest(3)
    assert [row["item"] for row in rows] == ["i0", "i2", "i1", "25 more"]
    assert sum(row["contribution"] for row in rows) == pytest.approx(found.score)
    assert len(str(found).splitlines()) == 12
    assert len(found.largest(27)) == 28  # a single other one is shown as it is
