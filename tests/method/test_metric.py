"""The learned matrix is a true distance: what the paper proves, checked on random data."""

import itertools

import numpy as np
import pytest

import corml
from corml.errors import UsageError
from support import random_interactions

SETTINGS = [
    {},
    {"item_norm": -0.2, "ridge": 1.0, "user_norm": 0.5},
    {"item_norm": 0.5, "filter": "factored"},
    {"filter_norm": 0.3, "filter": "factored"},
]


@pytest.fixture(scope="module", params=range(len(SETTINGS)))
def model(request):
    return corml.CoRML(rank=5, **{"ridge": 2.0, **SETTINGS[request.param]}).fit(random_interactions(7, 60, 18))


@pytest.mark.parametrize("part", ["h", "g"])
def test_w_is_positive_semidefinite_with_its_part_off_the_diagonal(model, part):
    W = model.metric_matrix(part)
    assert np.allclose(W, W.T)
    assert np.linalg.eigvalsh(W).min() >= -1e-6 * np.abs(W).max()
    if part == "h":
        np.testing.assert_allclose(W - np.diag(np.diag(W)), model.H_.toarray(), atol=1e-9)


@pytest.mark.parametrize("part", ["h", "g"])
def test_distance_is_the_mahalanobis_form(model, part):
    W, d = model.metric_matrix(part), model.degrees_
    t = model.item_norm if part == "h" else model.filter_norm
    history, target = [1, 4, 6], 9
    p = np.zeros(len(d))
    p[history] = d[history] ** -t
    q = np.zeros(len(d))
    q[target] = d[target] ** t
    labels = model.items_.labels
    found = model.distance(list(labels[history]), labels[target], part=part)
    assert found == pytest.approx(np.sqrt((p - q) @ W @ (p - q)), rel=1e-6)


@pytest.mark.parametrize("part", ["h", "g"])
def test_the_triangle_inequality_holds(model, part):
    W, d = model.metric_matrix(part), model.degrees_
    t = model.item_norm if part == "h" else model.filter_norm
    rng = np.random.default_rng(1)
    users = [(rng.random(len(d)) < 0.3) * d**-t for _ in range(5)]
    points = users + [np.eye(len(d))[i] * d[i] ** t for i in range(5)]
    far = {
        (a, b): np.sqrt(max((x - y) @ W @ (x - y), 0))
        for (a, x), (b, y) in itertools.product(enumerate(points), repeat=2)
    }
    for a, b, c in itertools.permutations(range(len(points)), 3):
        assert far[a, c] <= far[a, b] + far[b, c] + 1e-6
    assert all(far[a, b] == pytest.approx(far[b, a]) for a, b in far)


def test_among_unseen_items_the_order_of_distances_is_the_order_of_scores(model):
    """Conclusion 1 of the paper."""
    for user in model.users_.labels[:10]:
        explained = {item: model.explain(user, item).parts["h"].sum() for item in model.items_.labels}
        seen = {model.items_.labels[i] for i in model.train_[[model.users_.rows([user])[0]]].indices}
        unseen = [item for item in model.items_.labels if item not in seen]
        scores = np.array([explained[item] for item in unseen])
        squared = np.array([model.distance(user, item) for item in unseen]) ** 2
        np.testing.assert_allclose(squared - squared[0], -2 * (scores - scores[0]), atol=1e-5 * squared.max())


def test_an_item_of_the_history_is_nearer_than_its_score_alone_says(model):
    """Finding 2 of the paper: a positive margin ω d^{-2t}… separates items a person met."""
    user = model.users_.labels[0]
    seen = model.items_.labels[model.train_[[0]].indices[0]]
    stranger = next(item for item in model.items_.labels if item not in model.items_.labels[model.train_[[0]].indices])
    score = {item: model.explain(user, item).parts["h"].sum() for item in (seen, stranger)}
    residual = (model.distance(user, seen) ** 2 - model.distance(user, stranger) ** 2) / 2
    assert residual < score[stranger] - score[seen]


def test_an_unknown_metric_is_refused(model):
    with pytest.raises(UsageError, match="part must be 'h'"):
        model.distance(["i1"], "i2", part="both")
