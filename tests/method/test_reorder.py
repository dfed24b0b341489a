"""Another order of users and items while H is learned changes nothing but the time."""

import numpy as np
import pytest

import corml
from corml.models.corml.problem import singular_vectors
from corml.models.corml.sparse import reuse as reorder
from corml.models.corml.sparse.reuse import Reordered
from support import random_interactions


@pytest.fixture(autouse=True)
def _few_data_are_reordered_too(monkeypatch):
    monkeypatch.setattr(reorder, "FEW", 0)


def test_small_data_are_not_reordered(monkeypatch):
    R = random_interactions(0, 120, 50, 6).matrix
    monkeypatch.setattr(reorder, "FEW", R.nnz)
    order = Reordered.of(R, singular_vectors(R, 6))
    assert order.X is R
    assert order.permute_matrix(R.T @ R).nnz == (R.T @ R).nnz
    np.testing.assert_array_equal(order.items, np.arange(R.shape[1]))


def test_users_and_items_in_another_order_are_the_same():
    R = random_interactions(0, 120, 50, 6).matrix
    order = Reordered.of(R, singular_vectors(R, 6))
    before = R[:, order.items].toarray()
    assert sorted(map(tuple, order.X.toarray())) == sorted(map(tuple, before))


def test_a_matrix_of_items_comes_back_as_it_was():
    R = random_interactions(1, 90, 40, 6).matrix
    H, V = (R.T @ R).tocsr(), singular_vectors(R, 5)
    order = Reordered.of(R, V)
    np.testing.assert_array_equal(order.permute_matrix(H).toarray(), (order.X.T @ order.X).toarray())
    np.testing.assert_array_equal(order.unpermute_matrix(order.permute_matrix(H)).toarray(), H.toarray())
    np.testing.assert_array_equal(order.permute(V), V[order.items])


def test_reordering_groups_similar_users_and_items():
    groups = np.arange(200) % 4  # taking turns
    users, items = np.repeat(np.arange(200), 5), np.random.default_rng(0).integers(0, 20, 1000)
    data = corml.Interactions.from_pairs(users, 20 * np.repeat(groups, 5) + items)
    group = np.asarray(data.items.labels, dtype=np.int64) // 20
    V = np.full((len(group), 5), 9.0)  # the first direction is popularity, the largest for all
    V[:, 1:] = np.array([[2, 0, 1, 0], [2, 0, 0, 1], [0, 2, 1, 0], [0, 2, 0, 1]])[group]  # two others tell a group
    order = Reordered.of(data.matrix, V)
    permuted = group[order.items]
    assert (np.diff(permuted) != 0).sum() == 3
    assert (np.diff(permuted[order.X.indices]) != 0).sum() == 3


def test_a_single_direction_does_not_reorder():
    R = random_interactions(2, 30, 12, 4).matrix
    np.testing.assert_array_equal(Reordered.of(R, singular_vectors(R, 1)).items, np.arange(12))
