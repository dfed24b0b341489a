"""Vectors as scores: products or distances, and who has a vector."""

import numpy as np
import pytest

import corml
from corml import Interactions, models
from corml.errors import UsageError
from corml.neural.embedding_model import Embedded
from corml.neural.graph_model import Spreading
from support import learner_of, random_interactions, spread

EMBEDDED = [name for name in models.names() if issubclass(models.get(name), Embedded)]
SPREADING = [name for name in EMBEDDED if issubclass(models.get(name), Spreading)]
ALONE = sorted(set(EMBEDDED) - set(SPREADING))


def fit(name, data, **settings):
    return models.make(name, {"size": 5, "epochs": 3, "batch": 64, "learning_rate": 0.05, **settings}).fit(data)


@pytest.fixture(scope="module")
def fitted():
    data = random_interactions(1, 30, 15)
    return {name: fit(name, data) for name in EMBEDDED}


def by_hand(model):
    """Scores of all users and items, one by one."""
    scores = np.zeros((len(model.user_), len(model.item_)))
    for u, user in enumerate(model.user_.astype(np.float64)):
        for i, item in enumerate(model.item_.astype(np.float64)):
            parts = user.reshape(-1, len(item))
            scores[u, i] = max(-((part - item) ** 2).sum() if model.DISTANCE else part @ item for part in parts)
    return scores


@pytest.mark.parametrize("name", EMBEDDED)
def test_scores_are_products_or_distances(name, fitted):
    model = fitted[name]
    assert model.DISTANCE == (name in ("cml", "l-cml", "dpcml"))
    people = model.represent(model.train_, np.arange(len(model.user_)))
    np.testing.assert_allclose(model.score_block(people, slice(0, 15)), by_hand(model), atol=1e-5)


@pytest.mark.parametrize("name", EMBEDDED)
def test_similar_items_are_near_in_angle_or_distance(name, fitted):
    model = fitted[name]
    V = model.item_.astype(np.float64)
    if model.DISTANCE:
        near = -((V[:, None] - V) ** 2).sum(-1)
    else:
        V /= np.linalg.norm(V, axis=1, keepdims=True)
        near = V @ V.T
    np.fill_diagonal(near, -np.inf)
    found = model.similar(list(model.items.labels), k=4)
    for row, (items, scores) in enumerate(zip(found.items, found.scores, strict=True)):
        np.testing.assert_allclose(scores, np.sort(near[row])[::-1][:4], atol=1e-5)
        np.testing.assert_allclose(near[row, model.items.rows(items)], scores, atol=1e-5)
    assert found.users == tuple(model.items.labels)


@pytest.mark.parametrize("name", ALONE)
def test_a_model_without_a_vector_for_strangers_says_so(name, fitted):
    model = fitted[name]
    with pytest.raises(UsageError, match=r"has a vector for each user it learned from and none for others: ask for"):
        model.recommend(history=[["i0", "i1"]])
    assert model.recommend(history=[[]], k=2).sources == ("popularity",)


def test_somebody_without_a_pair_to_learn_from_is_a_stranger():
    split = corml.split(random_interactions(2, 60, 20), "new-users")
    with pytest.raises(UsageError, match="none for others"):
        corml.evaluate(fit("bpr-mf", split.train), split, "ndcg@10")
    model = fit("lightgcn", split.train, epochs=30)
    assert corml.evaluate(model, split, "ndcg@10", intervals=False)["ndcg@10"] > 0.05
    told, _, _ = split.part("test")
    rows = np.flatnonzero(told.user_degrees)
    np.testing.assert_array_equal(
        model.represent(told.matrix[rows], rows), model.represent(told.matrix[rows], np.full(len(rows), -1))
    )


@pytest.mark.parametrize("name", EMBEDDED)
def test_known_users_and_people_without_a_history_may_ask_together(name, fitted):
    model = fitted[name]
    X = model.train_[[0, 1, 2]].copy()
    X.data[: X.indptr[1]] = 0
    X.eliminate_zeros()
    people = model.represent(X, np.array([-1, 1, 2]))
    np.testing.assert_array_equal(people[1:], model.user_[[1, 2]])
    assert not people[0].any()


def clipped(vectors):
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1)


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("name", SPREADING)
def test_vectors_are_means_over_the_layers(name, layers):
    model, learner = learner_of(name, random_interactions(1, 30, 15), layers=layers)
    tables = spread(learner.E.detach(), model.train_, layers)
    mean = np.mean(tables[1:] if name == "simgcl" else tables, axis=0)
    if name == "l-cml":
        mean = clipped(mean)
    np.testing.assert_allclose(np.vstack([model.user_, model.item_]), mean, atol=1e-5)


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("name", SPREADING)
def test_a_stranger_has_the_vector_of_a_node_with_nothing_of_its_own(name, layers):
    """With the history of a training user: that user's mean over the layers, but without layer 0."""
    model, learner = learner_of(name, random_interactions(1, 30, 15), layers=layers)
    users = len(model.user_)
    tables = spread(learner.E.detach(), model.train_, layers)
    expected = np.sum(tables[1:], axis=0)[:users] / (layers if name == "simgcl" else layers + 1)
    if name == "l-cml":
        expected = clipped(expected)
    found = model.represent(model.train_, None)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    if name == "simgcl":  # whose mean has no layer 0: strangers lose nothing
        np.testing.assert_allclose(found, model.user_, atol=1e-5)


@pytest.mark.parametrize("name", SPREADING)
def test_strangers_get_the_lists_of_their_like(name):
    n = 20
    pairs = [(f"u{u}", f"i{i}") for u in range(n) for i in range(n) if (u + i) % 2 == 0 and u != i]
    model = fit(name, Interactions.from_pairs(*zip(*pairs, strict=True)), epochs=60, size=16, batch=512)
    even, odd = model.recommend(history=[["i0", "i2", "i4"], ["i1", "i3", "i5"]], k=5).items
    assert all(int(item[1:]) % 2 == 0 for item in even)
    assert all(int(item[1:]) % 2 == 1 for item in odd)


@pytest.mark.parametrize("name", EMBEDDED)
def test_without_its_users_a_model_still_knows_its_items(name, fitted, tmp_path):
    model = fitted[name]
    model.save(tmp_path / "model.corml", history=False)
    read = corml.read_model(tmp_path / "model.corml")
    assert not hasattr(read, "user_")
    np.testing.assert_array_equal(read.similar(["i0"]).items, model.similar(["i0"]).items)
    if name in SPREADING:
        histories = [["i0", "i3"], ["i1"]]
        np.testing.assert_array_equal(read.scores(histories), model.scores(histories))
