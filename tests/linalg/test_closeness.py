"""How close two items are."""

import numpy as np
from scipy.sparse import csr_array

from corml import CoRML
from corml.linalg.closeness import Closeness
from support import random_interactions


def grid(n):
    return (side.ravel() for side in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))


def test_closeness_by_users_is_the_cosine_of_their_users():
    rng = np.random.default_rng(0)
    X = (rng.random((60, 20)) < rng.random(20)).astype(np.float32)
    X[:, 3] = 0  # an item that nobody has is close to none
    left, right = grid(20)
    values = Closeness.by_users(csr_array(X)).between(left, right).reshape(20, 20)
    lengths = np.linalg.norm(X, axis=0)
    np.testing.assert_allclose(values, X.T @ X / np.maximum(np.outer(lengths, lengths), 1), atol=1e-6)


def test_weights_of_interactions_do_not_count():
    rng = np.random.default_rng(1)
    X = csr_array((rng.random((30, 10)) < 0.4) * rng.random((30, 10)))
    left, right = grid(10)
    plain = Closeness.by_users(csr_array(X > 0, dtype=np.float32)).between(left, right)
    np.testing.assert_array_equal(Closeness.by_users(X).between(left, right), plain)


def test_closeness_of_corml_is_its_learned_metric():
    model = CoRML(rank=4, item_norm=0.3).fit(random_interactions(5, users=80, items=20))
    n, W = len(model.items_), model.metric_matrix("h")
    q = np.diag(model.degrees_**0.3)  # the point of an item
    squared = np.array([[(q[i] - q[j]) @ W @ (q[i] - q[j]) for j in range(n)] for i in range(n)])
    omega = model.degrees_[0] ** 0.6 * W[0, 0]
    left, right = grid(n)
    close = model._closeness().between(left, right).reshape(n, n)
    others = ~np.eye(n, dtype=bool)
    np.testing.assert_allclose(squared[others], (2 * omega - 2 * close)[others], rtol=1e-5)
    assert close[others].max() > 0

    distance = np.sqrt(np.maximum(squared, 0))
    through = (distance[:, :, None] + distance[None, :, :]).min(axis=1)
    assert (distance <= through + 1e-9).all()  # the triangle inequality
