"""Ids answer as a list and a dictionary would, in a quarter of their memory."""

import pickle
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corml.data import labels as texts
from corml.data.ids import Ids, numbered, those_used
from corml.data.interactions import Interactions
from corml.data.labels import Labels
from corml.data.labels.numbering import Numbering
from corml.errors import DataError, UnknownIdError, UsageError

ANY = st.text(st.characters() | st.sampled_from("\0aé\ud800\U0010ffff"), max_size=6)
LABELS = st.lists(ANY, max_size=25, unique=True)
MANY = 100_000


@pytest.fixture(params=["few", "many"])
def amount(request):
    """With 'many' everything is many, and goes through in pieces of three."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "many":
            patch.setattr(texts, "FEW", 0)
            patch.setattr(texts, "AT_ONCE", 3)
        yield request.param


@pytest.mark.usefixtures("amount")
@given(LABELS, st.lists(ANY, max_size=10))
def test_every_label_is_found_as_in_a_dictionary(labels, others):
    ids, plain = Ids(labels, kind="user"), {label: row for row, label in enumerate(labels)}
    asked = [*others, *labels, *others]
    expected = [plain.get(label, -1) for label in asked]
    assert ids.find(asked).tolist() == ids.numbers(asked) == expected
    assert ids.find(Labels.of(asked)).tolist() == expected
    assert [label in ids for label in asked] == [label in plain for label in asked]
    assert ids.find(ids).tolist() == list(range(len(labels)))
    assert ids.find(Ids(labels)).tolist() == list(range(len(labels)))
    assert list(ids) == ids[:] == labels


@pytest.mark.usefixtures("amount")
@given(LABELS, LABELS, LABELS)
def test_ids_are_put_together_in_order(first, second, third):
    one, two, three = (Ids(labels, kind="user") for labels in (first, second, third))
    assert list(one.union(two, three)) == list(dict.fromkeys([*first, *second, *third]))
    assert list(one.without(two)) == [label for label in first if label not in second]
    assert one.union(one) is one
    rest = two.without(one)
    assert list(one.followed_by(rest)) == [*first, *rest]
    assert one.followed_by(rest).kind == one.union(two).kind == one.without(two).kind == "user"
    if set(first) & set(second):
        with pytest.raises(DataError, match=f"user ids are not unique: {len(set(first) & set(second))} occur twice"):
            one.followed_by(two)


@pytest.mark.usefixtures("amount")
@given(LABELS, st.data())
def test_those_taken_are_found_where_they_stand_now(labels, data):
    rows = np.array(data.draw(st.permutations(range(len(labels)))), dtype=np.int64)[: len(labels) // 2]
    taken = Ids(labels, kind="user").take(rows)
    assert list(taken) == [labels[row] for row in rows]
    assert taken.find(labels).tolist() == [
        rows.tolist().index(row) if row in rows else -1 for row in range(len(labels))
    ]
    used, moved = those_used(Ids(labels), rows)
    assert list(used) == [labels[row] for row in sorted(rows)]
    assert [moved[row] for row in sorted(rows)] == list(range(len(rows)))


@pytest.mark.usefixtures("amount")
@given(st.lists(ANY, min_size=1, max_size=12))
def test_a_label_that_is_there_twice_is_refused(labels):
    repeated = len(labels) - len(set(labels))
    if repeated:
        with pytest.raises(DataError, match=f"not unique: {repeated} occur twice"):
            Ids(labels)
    with pytest.raises(DataError, match="not unique"):
        Ids([*labels, labels[0]])


@pytest.mark.usefixtures("amount")
def test_what_is_not_there_is_a_sentence():
    ids = Ids(["a", "b"], kind="user")
    with pytest.raises(IndexError, match="2 users, counted from 0; there is no number 2"):
        ids[2]
    with pytest.raises(UnknownIdError, match="c"):
        ids.rows(["a", "c"])
    with pytest.raises(UnknownIdError, match="c"):
        ids.rows(Ids(["a", "c"]))
    assert 7 not in ids
    assert 7 in Ids([7, "8"])


@pytest.mark.parametrize("labels", [["a", "b"], [f"u{row}" for row in range(texts.FEW)]], ids=["few", "many"])
def test_an_id_where_a_number_belongs_is_a_sentence(labels):
    with pytest.raises(UsageError, match="is an id, not a number"):
        Ids(labels)["b"]


@pytest.mark.usefixtures("amount")
@given(LABELS, LABELS)
def test_equal_ids_have_equal_labels_and_hashes(first, second):
    assert (Ids(first) == Ids(second)) == (first == second)
    assert hash(Ids(first)) == hash(Ids(first, kind="user"))
    assert (Ids(first).fingerprint == Ids(second).fingerprint) == (first == second)
    again = pickle.loads(pickle.dumps(Ids(first, kind="user")))
    assert (again, again.kind, again.find(first).tolist()) == (Ids(first), "user", list(range(len(first))))


VALUES = st.lists(st.sampled_from(["a", "b", "7", 7, 7.5, np.int64(7), "é", "\ud800"]), min_size=1, max_size=20)


@pytest.mark.usefixtures("amount")
@given(VALUES, st.sampled_from([list, tuple, lambda values: np.array(values, dtype=object)]))
def test_labels_are_numbered_in_order_of_first_appearance(values, form):
    ids, codes = numbered(form(values), "user")
    known = {}
    assert codes.tolist() == [known.setdefault(str(value), len(known)) for value in values]
    assert list(ids) == list(known)
    assert ids.find(list(known)).tolist() == list(range(len(known)))


@pytest.mark.usefixtures("amount")
@pytest.mark.parametrize(
    ("value", "sentence"),
    [(None, "is missing"), (float("nan"), "is missing"), (" \u3000", "is an empty id"), ("é" * 1025, "longer than")],
)
def test_the_row_of_a_label_that_is_none_is_named(value, sentence):
    with pytest.raises(DataError, match=f"item number 6 .*{sentence}|item number 6 {sentence}"):
        numbered(["a", "b", "c", "d", "a", value, value], "item")


def test_labels_in_one_slot_are_told_apart(monkeypatch):
    """In a table that is nearly full, every search goes on to the next slot."""
    monkeypatch.setattr("corml.data.labels.numbering.SMALLEST", 64)
    full = Numbering()
    full._make_table(20)
    for some in (range(60), range(30), range(60)):
        with monkeypatch.context() as patch:
            patch.setattr(Numbering, "_make_table", lambda *_: None)
            assert full.add(Labels.of(f"{row}" for row in some)).tolist() == list(some)
    assert full.find(Labels.of(["7", "x", "49", "", "60"])).tolist() == [7, -1, 49, -1, -1]


def many():
    return (f"u{row * 7919 % MANY:09d}" for row in range(MANY))


def test_a_label_takes_no_more_than_40_bytes():
    Ids(many()).find(["u000000001"])  # what is compiled and imported is not counted
    tracemalloc.start()
    try:
        ids = Ids(many(), kind="user")
        assert ids.find(["u000000001", "x"]).tolist() == [ids[:].index("u000000001"), -1]
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept <= 40 * MANY


def test_moving_and_hashing_many_labels_makes_no_object_of_each():
    users, items = Ids(many(), kind="user"), Ids("xyz")
    user = np.arange(MANY, dtype=np.int32)
    data = Interactions(users, items, user, user % 3)
    work = (
        lambda: data.where(user % 2 == 0).compact(),
        lambda: data.on(users.take(user[::-1]), items),
        lambda: data.with_others(data.where(user > 5)),
        lambda: data.users.fingerprint,
    )
    for do in work:
        do()
        tracemalloc.start()
        try:
            do()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak <= 110 * MANY  # bytes, of pairs and labels; objects alone would be 59 each, and a dictionary 100


def golden(n):
    users = Ids([f"ü{row * 7919 % n}" for row in range(n)], kind="user")
    items = Ids([f"i\ud800{row}" for row in range(100)])
    row = np.arange(2 * n)
    weights = (1 + row % 7).astype(np.float32)
    return Interactions(users, items, row % n, (row * 31 + row // n) % 100, times=row.astype(float), weights=weights)


@pytest.mark.parametrize(
    ("n", "of_users", "of_data"),
    [
        (50, "f6ffecfa83a45f445ca80223f0fa570d", "47326f7318fd85f172ec674c3908fecb"),
        (70_001, "e6b332f84a8bd4c2b165710de83162f6", "9f81501eb4b4c93b75a57337a077afd7"),
    ],
)
def test_fingerprints_are_those_of_the_first_version(n, of_users, of_data):
    data = golden(n)
    assert data.users.fingerprint[:32] == of_users
    assert data.fingerprint[:32] == of_data


def test_few_ids_need_no_compiled_code():
    code = (
        "import sys; from corml.data.ids import Ids, numbered; ids = Ids(map(str, range(5000)));"
        "ids.find(['7']); ids.take(ids.find(['7', '8'])).fingerprint; numbered(['a', 'b'], 'user');"
        "print('numba' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"
