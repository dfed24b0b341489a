"""What may ask for more memory than there is works in bounded memory, or is refused in a sentence before it asks."""

import tracemalloc

import numpy as np
import pytest

import corml
from corml._runtime import memory
from corml.errors import ResourceError
from corml.models.linear.ease import EASE
from corml.models.linear.gf_cf import GFCF
from corml.models.linear.item_knn import ItemKNN
from corml.recommend import allowed, neighbours, query
from support import random_interactions

MIB = 1 << 20


@pytest.fixture
def short(monkeypatch):
    """Say how many bytes are free."""
    return lambda count: monkeypatch.setattr(memory, "budget", lambda: count)


def peak_of(work):
    """Bytes that arrays and objects took at most."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def one_heavy_user(items):
    """A user with all items, and some with one each."""
    users = np.concatenate([np.zeros(items, dtype=int), np.arange(1, 51)])
    return corml.Interactions.from_pairs(users, np.concatenate([np.arange(items), np.arange(50)]))


def test_a_plan_takes_no_more_memory_for_a_user_with_every_item_than_a_few_rows():
    """Items that co-occur with all others were listed for each of 400: 6.4 GB for a million."""
    data, items = one_heavy_user(20_000), 20_000
    data.matrix  # noqa: B018 (made once, of the data)
    model = corml.CoRML(longest_history=None, adapt=False)
    model.plan(one_heavy_user(100))  # compiled code does not count
    assert peak_of(lambda: model.plan(data)) < 400 * 16 * items / 4


@pytest.mark.parametrize("part", ["h", "g"])
def test_a_distance_takes_no_matrix_of_all_pairs_of_a_history(part):
    """A history of 20,000 items took 6.5 GB."""
    items = 3_000
    model = corml.CoRML(rank=4, adapt=False, candidates=5, max_steps=1, tol=0).fit(one_heavy_user(items))
    history = list(model.items_.labels)
    model.distance(history[:3], history[0], part=part)
    peak = peak_of(lambda: model.distance(history, history[0], part=part))
    assert peak < (8 * items * items / 4 if part == "h" else 8 * items * items)


def test_a_band_of_the_filter_is_lower_the_more_items_there_are(monkeypatch):
    model = corml.CoRML(rank=4, adapt=False).fit(random_interactions(0, 60, 40, 8))
    history = list(model.items_.labels[:30])
    whole = model.distance(history, model.items_.labels[35], part="g")
    monkeypatch.setattr("corml.models.corml.scoring.BAND_BYTES", 8 * 30 * 7)  # seven rows at a time
    assert [len(band) for band in model._scoring._bands(np.arange(30), 30)] == [7, 7, 7, 7, 2]
    assert model.distance(history, model.items_.labels[35], part="g") == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (ItemKNN(neighbours=10**6), "item-knn with up to 300 neighbours .* set fewer neighbours"),
        (GFCF(route="pairs", alpha=0.0), "gf-cf with all pairs of 300 items .* set route=users"),
        (EASE(neighbours=10**6, route="dense"), "EASE of 300 items on the dense route needs .* set route=local"),
    ],
    ids=["neighbours=10**6 of item-knn", "route=pairs of gf-cf", "neighbours=10**6 of ease"],
)
def test_a_model_of_too_many_pairs_is_refused_by_its_plan_and_by_its_fit(model, words, short):
    data = random_interactions(0, 500, 300, 40)
    needed = model.plan(data).predicted_bytes
    assert needed > 8 * 300 * 300
    short(needed - 1)
    for call in (model.plan, model.fit):
        with pytest.raises(ResourceError, match=words):
            call(data)
    short(needed)
    model.fit(data)


def test_fewer_neighbours_need_less_and_are_not_refused(short):
    data = random_interactions(0, 500, 300, 40)
    short(ItemKNN(neighbours=10**6).plan(data).predicted_bytes - 1)
    ItemKNN(neighbours=5).fit(data)


SHAPES = {"many users": (30_000, 51, 20), "many items": (2_000, 1_500, 12), "few of each": (2_000, 1_500, 4)}
LINEAR = ["popularity", "ease", "slim", "admm-slim", "item-knn", "gf-cf", "corml"]
QUICK = {("few of each", "corml"), ("few of each", "gf-cf"), ("few of each", "item-knn"), ("many items", "ease")}


@pytest.mark.parametrize(
    ("shape", "name"),
    [
        pytest.param(shape, name, marks=() if (shape, name) in QUICK else pytest.mark.slow)
        for shape in SHAPES
        for name in LINEAR
    ],
)
def test_the_plan_of_every_model_has_room_for_its_arrays(name, shape):
    """Pairs of items were counted: not what users are, nor what solvers keep beside those pairs."""
    data, settings = random_interactions(0, *SHAPES[shape]), {"adapt": False} if name == "corml" else {}
    model = corml.models.make(name, settings)
    model.fit(random_interactions(0, 200, 60, 8))  # compiled code does not count
    data.matrix  # noqa: B018 (made once, of the data)
    predicted = model.plan(data).predicted_bytes
    assert peak_of(lambda: model.fit(data)) <= predicted


def test_an_explanation_of_gf_cf_takes_no_pairs_of_a_long_history():
    """A history of 20,000 items took 3 GB."""
    items = 3_000
    model = GFCF(route="users").fit(one_heavy_user(items))
    model.explain("0", "5")
    assert peak_of(lambda: model.explain("0", "5")) < 12 * items * items / 4


def test_what_many_lists_may_not_have_is_refused_where_it_does_not_fit(short, monkeypatch):
    model = corml.Popularity().fit(random_interactions(0, 500, 300, 40))
    monkeypatch.setattr(query, "FEW", 20_000)
    users, items = list(model.users_.labels), list(model.items_.labels[:200])
    short(allowed.PER_LIMIT * 500 * 200)
    assert peak_of(lambda: model.recommend(users, k=10, exclude=items)) < 2 * allowed.PER_LIMIT * 500 * 200
    short(allowed.PER_LIMIT * 500 * 200 - 1)
    with pytest.raises(ResourceError, match=r"^exclude with 200 items for each of 500 lists needs .* some users"):
        model.recommend(users, k=10, exclude=items)
    assert len(model.recommend(users, k=10, only=items)) == 500  # one row for all


def test_more_similar_users_at_once_than_fit_are_refused_before_they_are_compared(short, monkeypatch):
    model = corml.Popularity().fit(random_interactions(0, 500, 300, 40))
    monkeypatch.setattr(query, "FEW", 1000)
    users, needed = list(model.users_.labels), (neighbours.A_PLACE * 100 + neighbours.A_LIST) * 500
    short(needed)
    assert peak_of(lambda: model.similar_users(users, k=100)) < needed
    short(needed - 1)
    with pytest.raises(ResourceError, match=r"^500 lists of 100 similar users at once needs .* smaller k"):
        model.similar_users(users, k=100)


def test_more_scores_at_once_than_fit_are_refused_before_they_are_made(short, monkeypatch):
    data = random_interactions(0, 500, 300, 40)
    model = corml.models.make("ease", {}).fit(data)
    monkeypatch.setattr(query, "FEW", 1000)
    short(query.PER_SCORE * 500 * 300)
    assert peak_of(lambda: model.scores(data)) < query.PER_SCORE * 500 * 300
    short(query.PER_SCORE * 500 * 300 - 1)
    with pytest.raises(ResourceError, match=r"^Scores of 300 items for each of 500 histories needs .* recommend"):
        model.scores(data)


def test_more_lists_at_once_than_fit_are_refused_before_they_are_ranked(short, monkeypatch):
    model = corml.Popularity().fit(random_interactions(0, 500, 300, 40))
    monkeypatch.setattr(query, "FEW", 1000)
    users, needed = list(model.users_.labels), query.PER_ITEM * 500 * 10 + query.PER_LIST * 500
    short(needed)
    assert len(model.recommend(users, k=10)) == 500
    short(needed - 1)
    with pytest.raises(ResourceError, match=r"500 lists of 10 items at once needs .* recommend_to\(folder\)"):
        model.recommend(users, k=10)
    assert len(model.recommend(users[:50], k=10)) == 50
