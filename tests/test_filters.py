"""Lists that obey conditions on attributes: equal to sorting everything that is allowed, at the cost of one row."""

import datetime
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import corml
from corml.data.interactions import Interactions
from corml.errors import UsageError
from corml.linalg.bounded import Bounded
from corml.linalg.topk import TopK
from corml.recommend.conditions import mask_of

GENRES = ["Action", "Comedy", "Drama"]
TABLE = {
    "item": ["a", "b", "c", "d"],
    "genre": ["Action|Comedy", "Drama", "Comedy", None],
    "price": [5.0, 20.0, 30.0, None],
    "available_from": ["2024-01-01", "2024-02-01", "2024-03-01", None],
    "available_until": ["2024-01-15", None, None, None],
    "summary": ["A war in the STARS above us", "two people talk for hours", "nobody knows why it stars him", None],
}


@pytest.fixture(scope="module")
def table():
    return corml.load_items(TABLE)


def chosen(table, only=None, exclude=None, now=None):
    mask = mask_of(table, only, exclude, now)
    return "".join(label for label, keep in zip(table.items, mask, strict=True) if keep)


@pytest.mark.parametrize(
    ("conditions", "items"),
    [
        ({"genre": "Comedy"}, "ac"),
        ({"genre": ["Comedy", "Drama"]}, "abc"),
        ({"genre": "Comedy", "price": (None, 20)}, "a"),
        ({"price": (20, None)}, "bc"),
        ({"price": (5, 20)}, "ab"),
        ({"price": 30}, "c"),
        ({"price": [5, 30]}, "ac"),
        ({"available_from": (None, "2024-02-01")}, "ab"),
        ({"available_from": (datetime.date(2024, 1, 2), None)}, "bc"),
        ({"available_from": (None, datetime.datetime(2024, 1, 31, 12))}, "a"),
        ({"available_from": (np.datetime64("2024-02-02"), None)}, "c"),
        ({"available_from": "2024-02-01"}, "b"),
        ({"summary": "stars"}, "ac"),
        ({"item": ["a", "d"]}, "ad"),
        ({"item": ["a", "b"], "genre": "Comedy"}, "a"),
        ([{"genre": "Drama"}, {"price": (None, 5)}], "ab"),
        ([{"genre": "Drama"}, "d"], "bd"),
    ],
)
def test_all_conditions_hold_and_of_several_values_any(table, conditions, items):
    assert chosen(table, only=conditions) == items
    assert chosen(table, exclude=conditions) == "".join(sorted(set("abcd") - set(items)))


def test_a_day_as_upper_bound_counts_to_its_end(table):
    late = corml.load_items({"item": ["a", "b"], "sent": ["2024-01-31T23:00:00", "2024-02-01T00:00:00"]})
    assert chosen(late, {"sent": (None, "2024-01-31")}) == "a"
    assert chosen(late, {"sent": (None, datetime.date(2024, 1, 31))}) == "a"
    assert chosen(late, {"sent": (None, datetime.datetime(2024, 1, 31, 22))}) == ""


def test_only_and_exclude_together(table):
    assert chosen(table, only={"genre": "Comedy"}, exclude={"genre": "Action"}) == "c"


def test_ids_are_left_to_the_lists(table):
    assert mask_of(table, ["a"], [["b"]]) is None


@pytest.mark.parametrize(("now", "items"), [("2024-01-10", "ad"), ("2024-02-15", "bd"), ("2024-03-02T10:00", "bcd")])
def test_now_leaves_out_what_cannot_be_had_then(table, now, items):
    assert chosen(table, now=now) == items
    assert chosen(table, only={"item": list("abc")}, now=now) == items.replace("d", "")


def test_now_is_this_moment(table):
    assert chosen(table, now="now") == "bcd"


@pytest.mark.parametrize(
    ("conditions", "sentence"),
    [
        ({"gener": "Comedy"}, r"no attribute 'gener'; did you mean 'genre'\?"),
        ({"genre": "comedy"}, r"No item has the genre 'comedy'; did you mean 'Comedy'\?"),
        ({"genre": {"Comedy": 1}}, "takes a value or a list of values"),
        ({"price": (1, 2, 3)}, r"is \(low, high\), None for no bound"),
        ({"price": (None, None)}, r"is \(low, high\)"),
        ({"price": "cheap"}, "needs a number; got 'cheap'"),
        ({"price": None}, "needs a value; to say nothing of it, leave it out"),
        ({"available_from": (None, "31.1.2024")}, "is no date: write 2024-01-31"),
        ([{"genre": "Comedy"}, ["a", "b"]], "one list of ids per row"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(table, conditions, sentence):
    with pytest.raises(UsageError, match=sentence):
        mask_of(table, conditions, None)


def test_now_needs_a_column_of_times():
    with pytest.raises(UsageError, match=r"now= \(--now\) needs a column available_from or available_until"):
        mask_of(corml.load_items({"item": ["a"], "price": [1]}), None, None, "now")


# --- lists ----------------------------------------------------------------------------------------------------------


@st.composite
def worlds(draw):
    """A fitted model of a few items, a table of them, and conditions on it."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    items = [f"i{number}" for number in range(draw(st.integers(4, 30)))]
    genres = [[str(one) for one in rng.choice(GENRES, rng.integers(0, 3), replace=False)] for _ in items]
    genres[:3] = [[one] for one in GENRES]  # each exists
    table = {"item": items, "genre": genres, "price": rng.integers(1, 9, len(items)).astype(float)}
    users = np.repeat([f"u{number}" for number in range(8)], 4)
    data = Interactions.from_pairs([*users, *["all"] * len(items)], [*rng.choice(items, len(users)), *items])
    model = corml.models.make("item-knn").fit(data).with_items(table)
    only = {"genre": draw(st.sampled_from(GENRES)), "price": (int(rng.integers(1, 5)), int(rng.integers(4, 9)))}
    exclude = {"genre": draw(st.lists(st.sampled_from(GENRES), min_size=1, max_size=2))}
    return model, table, draw(st.sampled_from([None, only])), draw(st.sampled_from([None, exclude]))


def by_hand(table, conditions, at):
    low, high = conditions.get("price", (0, 9))
    wanted = conditions["genre"] if isinstance(conditions["genre"], list) else [conditions["genre"]]
    return bool(set(table["genre"][at]) & set(wanted)) and low <= table["price"][at] <= high


@given(worlds(), st.integers(1, 6), st.sampled_from(["exclude", "allow", "only"]))
def test_lists_are_what_sorting_the_allowed_items_gives(world, k, seen):
    model, table, only, exclude = world
    users = [user for user in model.users_ if user != "all"]
    lists = model.recommend(users, k=k, only=only, exclude=exclude, seen=seen)
    scores = model.scores([model.items_.labels[model.train_[[row]].indices] for row in model.users_.rows(users)])
    position = {label: at for at, label in enumerate(table["item"])}
    for row, user in enumerate(users):
        had = set(model.items_.labels[model.train_[[model.users_.rows([user])[0]]].indices])
        fine = [
            column
            for column, label in enumerate(model.items_)
            if (only is None or by_hand(table, only, position[label]))
            and (exclude is None or not by_hand(table, exclude, position[label]))
            and {"exclude": label not in had, "allow": True, "only": label in had}[seen]
        ]
        by = scores[row] if lists.sources[row] == "personal" else model._popularity
        best = sorted(fine, key=lambda column: (-by[column], column))[:k]
        assert [item for item in lists.items[row] if item is not None] == [model.items_[column] for column in best]


@given(st.integers(0, 10_000), st.integers(1, 8), st.integers(1, 5))
def test_one_row_holds_for_all(seed, rows, k):
    rng = np.random.default_rng(seed)
    scores = rng.integers(-3, 4, size=(rows, 300)).astype(np.float32)
    shared = csr_array((rng.random((1, 300)) < 0.4).astype(np.float32))
    each = csr_array(np.repeat(shared.toarray(), rows, axis=0))
    seen = csr_array((rng.random((1, 300)) < 0.2).astype(np.float32))
    lists = [TopK(rows, k, seen, shared), TopK(rows, k, csr_array(np.repeat(seen.toarray(), rows, axis=0)), each)]
    for one in lists:
        one.add(scores, 0)
    assert np.array_equal(lists[0].columns, lists[1].columns)


@given(st.integers(0, 10_000), st.booleans())
def test_one_row_holds_for_all_where_bounds_rank(seed, limited):
    rng = np.random.default_rng(seed)
    n, rows = 200, 5
    H = csr_array(np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.05), 1).astype(np.float32))
    V = rng.normal(size=(n, 8)).astype(np.float32)
    bounded = Bounded.of(csr_array(H + H.T), V, V, np.einsum("ij,ij->i", V, V), noise=0)
    X = csr_array((rng.random((rows, n)) < 0.05).astype(np.float32))
    one = csr_array((rng.random((1, n)) < 0.3).astype(np.float32))
    each = csr_array(np.repeat(one.toarray(), rows, axis=0))
    shared, repeated = ((None, one), (None, each)) if limited else ((one, None), (each, None))
    assert np.array_equal(bounded.top_k(X, 4, *shared)[0], bounded.top_k(X, 4, *repeated)[0])


@pytest.fixture(scope="module")
def wide():
    """Two thousand users and five thousand items, ten each."""
    rng = np.random.default_rng(1)
    users, items = np.repeat(np.arange(2000), 10), rng.integers(0, 5000, 20_000)
    model = corml.Popularity().fit(Interactions.from_pairs([*users, *[0] * 5000], [*items, *range(5000)]))
    return model.with_items({"item": list(range(5000)), "price": np.arange(5000) % 100})


@pytest.mark.parametrize("how", [{"only": {"price": (None, 90)}}, {"exclude": {"price": (None, 10)}}])
def test_a_condition_costs_one_row_not_users_times_items(wide, how):
    users = wide.users_[1:]
    wide.recommend(users, **how)
    tracemalloc.start()
    wide.recommend(users, **how)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    plain = 2000 * 5000 * 4  # the scores of a block
    assert peak < plain * 1.25  # a pattern of users × items alone would be twice that


def test_reasons_count_the_items_that_conditions_allow(wide):
    lists = wide.recommend([wide.users_[1]], k=60, only={"price": 7})
    assert lists.reasons[0].startswith("exhausted: 50 of 60, only 50 items allowed")


def test_cold_users_get_what_is_popular_among_the_allowed(wide):
    lists = wide.recommend(history=[[], ["7"]], k=3, only={"price": 7})
    assert {int(item) % 100 for item in lists.items.ravel()} == {7}
