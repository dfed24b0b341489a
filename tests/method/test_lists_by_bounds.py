"""Lists by bounds are those of scoring every item: random requests, each answered both ways."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import corml
from corml.models.corml.estimator import CoRML
from corml.models.corml.scoring import ITEMS_PER_PLACE, Scoring
from support import random_interactions

PER_CALL = 50
REQUESTS = pytest.mark.parametrize("requests", [500, pytest.param(2000, marks=pytest.mark.slow)])


@pytest.fixture(autouse=True)
def _always(monkeypatch):
    monkeypatch.setattr(Scoring, "_bounds_pay", lambda *_: True)


@pytest.fixture(scope="module")
def train():
    """Interests with a long tail; the last 20 items have the users of the first 20, so their scores are equal."""
    rng = np.random.default_rng(0)
    users, items, groups = 1500, 800, 12
    popularity = 1 / np.arange(1, items + 1) ** 0.7
    of_item, of_user = rng.integers(0, groups, items), rng.integers(0, groups, users)
    chance = popularity * np.where(of_user[:, None] == of_item, 1.5, 0.06)
    liked = rng.random(chance.shape) < np.minimum(chance, 0.9)
    liked = np.hstack([liked, liked[:, :20]])
    return corml.Interactions.from_pairs(*np.nonzero(liked))


def ways(model, monkeypatch, **request):
    by_bounds = model.recommend(**request)
    with monkeypatch.context() as patch:
        patch.setattr(Scoring, "top_k", lambda *_: None)
        return by_bounds, model.recommend(**request)


def assert_equal(by_bounds, scored, model, history):
    np.testing.assert_allclose(by_bounds.scores, scored.scores, rtol=2e-5, atol=2e-6)
    different = by_bounds.items != scored.items
    for row in np.flatnonzero(different.any(axis=1)):  # only items whose scores are the same may change places
        scores = dict(zip(model.items_.labels, model.scores([history[row]])[0], strict=True))
        for at in np.flatnonzero(different[row]):
            a, b = by_bounds.items[row, at], scored.items[row, at]
            assert scores[a] == pytest.approx(scores[b], rel=2e-5, abs=2e-6)


def some_ids(rng, labels, most):
    return rng.choice(labels, int(rng.integers(1, most + 1)), replace=False).tolist()


@REQUESTS
@pytest.mark.parametrize("settings", [{}, {"mix": 1.0}, {"rank": 8}, {"item_norm": -0.1, "filter_norm": 0.5}])
def test_lists_by_bounds_equal_lists_from_all_scores(train, settings, requests, monkeypatch):
    model, rng = CoRML(**settings).fit(train), np.random.default_rng(1)
    labels = model.items_.labels
    for call in range(requests // PER_CALL):
        history = [some_ids(rng, labels, 300 if call % 2 else 30) for _ in range(PER_CALL)]
        request = {"history": history, "k": int(rng.integers(1, 501 if call % 3 else 20))}
        if call % 4 == 1:
            request["exclude"] = some_ids(rng, labels, 50)
        if call % 5 == 1:
            request["only"] = [some_ids(rng, labels, 200) for _ in range(PER_CALL)]
        assert_equal(*ways(model, monkeypatch, **request), model, history)


@REQUESTS
def test_lists_by_bounds_are_equal_at_every_operating_point(train, requests, monkeypatch):
    dial, rng = CoRML.dial(train, (-0.1, 0.0, 0.1)), np.random.default_rng(2)
    for call in range(requests // PER_CALL):
        history = [some_ids(rng, dial.items_.labels, 40) for _ in range(PER_CALL)]
        novelty = call % 3 / 2
        lists = ways(dial, monkeypatch, history=history, k=int(rng.integers(1, 40)), novelty=novelty)
        assert_equal(*lists, dial.at(novelty), history)


def test_similar_items_by_bounds_are_equal_too(train, monkeypatch):
    model, items = CoRML().fit(train), ["3", "77", "500"]
    by_bounds = model.similar(items, k=25)
    monkeypatch.setattr(Scoring, "top_k", lambda *_: None)
    assert_equal(by_bounds, model.similar(items, k=25), model, [[item] for item in items])


@pytest.fixture
def chosen(train, monkeypatch):
    """A model that chooses, and for which a catalogue of 800 items is not small."""
    monkeypatch.undo()
    monkeypatch.setattr("corml.models.corml.scoring.SMALL", 0)
    return CoRML().fit(train)._scoring


def test_long_lists_do_not_use_bounds(chosen, train):
    one = train.matrix[:1]
    longest = one.shape[1] // ITEMS_PER_PLACE
    assert chosen.top_k(one, longest, one, None) is not None
    assert chosen.top_k(one, longest + 1, one, None) is None


def test_small_catalogues_do_not_use_bounds(chosen, train, monkeypatch):
    one = train.matrix[:1]
    for small, by_bounds in ((chosen.right.size, True), (chosen.right.size + 1, False)):
        monkeypatch.setattr("corml.models.corml.scoring.SMALL", small)
        assert (chosen.top_k(one, 1, one, None) is not None) == by_bounds


def test_batches_do_not_use_bounds_where_they_exclude_few_items(chosen, train):
    many = train.matrix[:200]
    one_item = csr_array(np.eye(1, many.shape[1], dtype=np.float32)[[0] * 200])
    assert chosen.top_k(many, 1, many, None) is None
    assert chosen.top_k(many, 1, many, one_item) is not None


@pytest.mark.parametrize("filter", ["elementwise", "authors"])
def test_clipped_filters_have_no_bounds(train, filter):
    history = train.matrix[:1]
    assert CoRML(filter=filter).fit(train)._scoring.top_k(history, 1, history, None) is None


@pytest.mark.parametrize("filter", ["factored", "elementwise", "authors"])
def test_one_history_without_matrices_gets_the_same_list(filter):
    data = random_interactions(3, 200, 120, 9)
    model = corml.CoRML(rank=8, filter=filter).fit(data)
    rng, n = np.random.default_rng(0), len(model.items_)
    for size, k, limit in ((1, 10, None), (20, 10, None), (20, 200, None), (5, 10, 40), (5, 60, 40)):
        history, excluded = rng.choice(n, size, replace=False), rng.choice(n, 7)
        allowed = None if limit is None else np.unique(rng.choice(n, limit))
        width = min(k, n)
        lists = model._top_k_of_one(history, width, np.append(history, excluded), allowed)
        if filter != "factored":
            assert lists is None
            continue
        labels = model.items_.labels
        expected = model.recommend(
            history=[labels[history]],
            k=k,
            exclude=labels[excluded],
            only=None if allowed is None else labels[allowed],
        )
        columns, scores = lists
        there = columns >= 0
        assert there.tolist() == [item is not None for item in expected.items[0]]
        np.testing.assert_allclose(scores[there], expected.scores[0][there], atol=1e-6)
        exact = model.scores([labels[history]])[0]
        np.testing.assert_allclose(exact[columns[there]], scores[there], atol=1e-6)
        assert not set(columns[there]) & {*history, *excluded}
        assert len(set(columns[there])) == there.sum()
