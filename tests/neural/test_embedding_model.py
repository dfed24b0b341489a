"""Vectors as scores: products or distances, and which users have a vector."""

import numpy as np
import pytest

import corml
from corml import Interactions, models
from corml.errors import UsageError
from corml.models.neural.training.embedding_model import EmbeddingModel
from corml.models.neural.training.graph_model import GraphModel
from support import learner_of, propagate, random_interactions

EMBEDDING = [name for name in models.names() if issubclass(models.get(name), EmbeddingModel)]
GRAPH = [name for name in EMBEDDING if issubclass(models.get(name), GraphModel)]
NO_FOLD_IN = sorted(set(EMBEDDING) - set(GRAPH))


def fit(name, data, **settings):
    return models.make(name, {"size": 5, "epochs": 3, "batch": 64, "learning_rate": 0.05, **settings}).fit(data)


@pytest.fixture(scope="module")
def fitted():
    data = random_interactions(1, 30, 15)
    return {name: fit(name, data) for name in EMBEDDING}


def by_hand(model):
    """Scores of all users and items, one by one."""
    scores = np.zeros((len(model.user_), len(model.item_)))
    for u, user in enumerate(model.user_.astype(np.float64)):
        for i, item in enumerate(model.item_.astype(np.float64)):
            parts = user.reshape(-1, len(item))
            scores[u, i] = max(-((part - item) ** 2).sum() if model.DISTANCE else part @ item for part in parts)
    return scores


@pytest.mark.parametrize("name", EMBEDDING)
def test_scores_are_products_or_distances(name, fitted):
    model = fitted[name]
    assert model.DISTANCE == (name in ("cml", "l-cml", "dpcml"))
    users = model._represent(model.train_, np.arange(len(model.user_)))
    np.testing.assert_allclose(model.score_block(users, slice(0, 15)), by_hand(model), atol=1e-5)


@pytest.mark.parametrize("name", EMBEDDING)
def test_similar_items_are_near_in_angle_or_distance(name, fitted):
    model = fitted[name]
    V = model.item_.astype(np.float64)
    if model.DISTANCE:
        near = -((V[:, None] - V) ** 2).sum(-1)
    else:
        V /= np.linalg.norm(V, axis=1, keepdims=True)
        near = V @ V.T
    np.fill_diagonal(near, -np.inf)
    lists = model.similar(list(model.items_.labels), k=4)
    for row, (items, scores) in enumerate(zip(lists.items, lists.scores, strict=True)):
        np.testing.assert_allclose(scores, np.sort(near[row])[::-1][:4], atol=1e-5)
        np.testing.assert_allclose(near[row, model.items_.rows(items)], scores, atol=1e-5)
    assert lists.users == tuple(model.items_.labels)


@pytest.mark.parametrize("name", NO_FOLD_IN)
def test_a_model_without_vectors_for_new_users_says_so(name, fitted):
    model = fitted[name]
    with pytest.raises(UsageError, match=r"has a vector for each user it learned from and none for others: ask for"):
        model.recommend(history=[["i0", "i1"]])
    assert model.recommend(history=[[]], k=2).sources == ("fallback",)


def test_a_user_without_training_pairs_is_a_new_user():
    split = corml.split(random_interactions(2, 60, 20), "new-users")
    with pytest.raises(UsageError, match="none for others"):
        corml.evaluate(fit("bpr-mf", split.train), split, "ndcg@10")
    model = fit("lightgcn", split.train, epochs=30)
    assert corml.evaluate(model, split, "ndcg@10", intervals=False)["ndcg@10"] > 0.05
    history, _, _ = split.part("test")
    rows = np.flatnonzero(history.user_degrees)
    np.testing.assert_array_equal(
        model._represent(history.matrix[rows], rows), model._represent(history.matrix[rows], np.full(len(rows), -1))
    )


@pytest.mark.parametrize(
    ("name", "settings"), [*((name, {}) for name in EMBEDDING), ("dpcml", {"prototypes": 1})], ids=str
)
def test_a_known_user_without_training_pairs_gets_what_is_popular(name, settings):
    """As in the train part of a temporal split, whose users may all come later."""
    data = random_interactions(1, 30, 15)
    model = fit(name, data.where((data.user != 3) & (data.user != 7)), **settings)
    for users in (["u3"], ["u3", "u7"], ["u3", "u1"]):
        lists = model.recommend(users, k=4)
        popular = model.recommend(history=[[]], k=4)
        np.testing.assert_array_equal(lists.items[0], popular.items[0])
        np.testing.assert_array_equal(lists.scores[0], popular.scores[0])
        assert (lists.sources[0], lists.reasons[0]) == ("fallback", "most popular items: no history")
    np.testing.assert_array_equal(lists.items[1], model.recommend(["u1"], k=4).items[0])


@pytest.mark.parametrize("name", EMBEDDING)
def test_known_users_and_users_without_a_history_may_ask_together(name, fitted):
    model = fitted[name]
    X = model.train_[[0, 1, 2]].copy()
    X.data[: X.indptr[1]] = 0
    X.eliminate_zeros()
    vectors = model._represent(X, np.array([-1, 1, 2]))
    np.testing.assert_array_equal(vectors[1:], model.user_[[1, 2]])
    assert not vectors[0].any()


def clipped(vectors):
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1)


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("name", GRAPH)
def test_vectors_are_means_over_the_layers(name, layers):
    model, learner = learner_of(name, random_interactions(1, 30, 15), layers=layers)
    tables = propagate(learner.E.detach(), model.train_, layers)
    mean = np.mean(tables[1:] if name == "simgcl" else tables, axis=0)
    if name == "l-cml":
        mean = clipped(mean)
    np.testing.assert_allclose(np.vstack([model.user_, model.item_]), mean, atol=1e-5)


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("name", GRAPH)
def test_a_new_user_has_the_vector_of_a_node_with_nothing_of_its_own(name, layers):
    """With the history of a training user: that user's mean over the layers, but without layer 0."""
    model, learner = learner_of(name, random_interactions(1, 30, 15), layers=layers)
    users = len(model.user_)
    tables = propagate(learner.E.detach(), model.train_, layers)
    expected = np.sum(tables[1:], axis=0)[:users] / (layers if name == "simgcl" else layers + 1)
    if name == "l-cml":
        expected = clipped(expected)
    vectors = model._represent(model.train_, None)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    if name == "simgcl":  # whose mean has no layer 0: new users lose nothing
        np.testing.assert_allclose(vectors, model.user_, atol=1e-5)


@pytest.mark.parametrize("name", GRAPH)
def test_new_users_get_the_lists_of_users_like_them(name):
    n = 20
    pairs = [(f"u{u}", f"i{i}") for u in range(n) for i in range(n) if (u + i) % 2 == 0 and u != i]
    model = fit(name, Interactions.from_pairs(*zip(*pairs, strict=True)), epochs=60, size=16, batch=512)
    even, odd = model.recommend(history=[["i0", "i2", "i4"], ["i1", "i3", "i5"]], k=5).items
    assert all(int(item[1:]) % 2 == 0 for item in even)
    assert all(int(item[1:]) % 2 == 1 for item in odd)


@pytest.mark.parametrize("name", EMBEDDING)
def test_without_its_users_a_model_still_knows_its_items(name, fitted, tmp_path):
    model = fitted[name]
    model.save(tmp_path / "model.corml", history=False)
    read = corml.read_model(tmp_path / "model.corml")
    assert read.user_ is None
    np.testing.assert_array_equal(read.similar(["i0"]).items, model.similar(["i0"]).items)
    if name in GRAPH:
        histories = [["i0", "i3"], ["i1"]]
        np.testing.assert_array_equal(read.scores(histories), model.scores(histories))
