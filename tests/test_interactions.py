import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import corml
from corml.data import interactions
from corml.data.ids import Ids, canonical
from corml.data.interactions import Interactions
from corml.errors import DataError, UnknownIdError
from support import random_interactions

LABELS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(
    lambda text: not text.isspace()
)


@given(st.lists(LABELS, unique=True))
def test_labels_and_rows_are_each_others_way_back(labels):
    ids = Ids(labels)
    assert ids.rows(labels).tolist() == list(range(len(labels)))
    assert ids.labels.tolist() == labels
    assert len(ids) == len(labels)


ODD = ["007", "7", "7.0", " 7", "NA", "null", "nan", "None", "True", "caf\u00e9", "cafe\u0301", "🍕", "a\nb", "../x"]


@pytest.mark.parametrize("odd", ODD)
def test_odd_labels_are_labels_of_their_own(odd):
    data = Interactions.from_pairs(["u"] * len(ODD), ODD)
    assert odd in data.items
    assert len(data.items) == len(ODD)


def test_numbers_and_their_texts_are_one_id():
    data = Interactions.from_pairs(np.array([1, 2]), [10**30, -1])
    assert data.users.labels.tolist() == ["1", "2"]
    assert data.items.labels.tolist() == ["1" + "0" * 30, "-1"]
    assert 1 in data.users
    assert canonical(np.int64(7)) == "7"


def test_repeated_pairs_become_one_with_the_latest_time():
    data = Interactions.from_pairs("aabb", "xxyx", times=[5, 9, 1, 2])
    assert len(data) == 3
    assert data.times.tolist() == [9, 1, 2]
    assert data.matrix.toarray().tolist() == [[1, 0], [1, 1]]


@pytest.mark.parametrize(
    ("users", "items", "times", "sentence"),
    [
        (["a"], ["x", "y"], None, "got 1 users and 2 items"),
        ([], [], None, "no interactions"),
        (["a", ""], ["x", "y"], None, "user number 2 is an empty id"),
        (["a"], ["  "], None, "item number 1 is an empty id"),
        (["a"], ["x" * 2049], None, "longer than 2048 bytes"),
        (["a"], ["é" * 1025], None, "longer than 2048 bytes"),
        (["a"], ["x"], [1, 2], "got 2 times for 1 pairs"),
        (["a"], ["x"], ["2024-01-01"], "times must be numbers"),
        (["a", None], ["x", "y"], None, "user number 2 is missing"),
        (["a", "b"], ["x", float("nan")], None, "item number 2 is missing"),
    ],
)
def test_pairs_that_say_nothing_are_refused(users, items, times, sentence):
    with pytest.raises(DataError, match=sentence):
        Interactions.from_pairs(users, items, times=times)


def test_the_fingerprint_knows_the_pairs_not_their_order():
    data = random_interactions(1)
    shuffle = np.random.default_rng(0).permutation(len(data))
    same = Interactions.from_pairs(data.users.labels[data.user[shuffle]], data.items.labels[data.item[shuffle]])
    assert same.fingerprint == data.fingerprint
    assert data.where(np.arange(len(data)) > 0).fingerprint != data.fingerprint


def test_fingerprints_tell_labels_apart():
    prints = {
        Interactions.from_pairs(*pair).fingerprint for pair in [(["ab"], ["c"]), (["a"], ["bc"]), (["a\0b"], ["c"])]
    }
    assert len(prints) == 3
    timed = Interactions.from_pairs(["ab"], ["c"], times=[1])
    assert timed.fingerprint not in prints


def test_degrees_count_pairs():
    data = Interactions.from_pairs("aab", "xyx")
    assert data.user_degrees.tolist() == [2, 1]
    assert data.item_degrees.tolist() == [2, 1]
    assert repr(data) == "Interactions(2 users x 2 items, 3 pairs)"


def test_selected_pairs_keep_the_ids_and_compact_forgets_the_unused():
    data = Interactions.from_pairs("abc", "xyz", times=[1, 2, 3])
    selected = data.where(np.array([False, True, True]))
    assert selected.shape == (3, 3)
    small = selected.compact()
    assert small.shape == (2, 2)
    assert small.users.labels.tolist() == ["b", "c"]
    assert small.times.tolist() == [2, 3]


def test_pairs_move_to_other_ids_and_pairs_of_unknown_ids_are_dropped():
    data = Interactions.from_pairs("abc", "xyz", times=[1, 2, 3])
    moved = data.on(Ids("ca", kind="user"), Ids("zxy"))
    assert moved.matrix.toarray().tolist() == [[1, 0, 0], [0, 1, 0]]
    assert moved.times.tolist() == [1, 3]


def test_unknown_labels_are_named():
    with pytest.raises(UnknownIdError, match=r"4 item ids are not among the 2 known: 'p', 'q', 'r', …\. Check"):
        Ids("xy").rows(list("pqrsx"))


def test_ids_must_be_unique():
    with pytest.raises(DataError, match="1 occur twice"):
        Ids(["a", "b", "a"])


def test_titles_stand_for_ids_where_there_are_any():
    data = Interactions.from_pairs("a", "x", titles={"x": "The X"})
    assert (data.title("x"), data.title("y")) == ("The X", "y")


def test_beyond_two_billion_pairs_indices_are_wide_and_results_the_same(monkeypatch):
    narrow = random_interactions(2, 300, 40)
    lists = corml.CoRML(rank=4).fit(narrow).recommend(["u1", "u7"], k=5)
    monkeypatch.setattr(interactions, "LARGEST_INT32_NNZ", 1 << 10)
    wide = random_interactions(2, 300, 40)
    assert wide.matrix.indices.dtype == np.int64
    model = corml.CoRML(rank=4).fit(wide)
    assert model.recommend(["u1", "u7"], k=5).items.tolist() == lists.items.tolist()
