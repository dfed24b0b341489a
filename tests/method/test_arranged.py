"""Another order of users and items while H is learned changes nothing but the time."""

import numpy as np

import corml
from corml.method.sparse.reorder import Arranged
from corml.method.spectral import singular_vectors
from support import random_interactions


def test_users_and_items_in_another_order_are_the_same():
    R = random_interactions(0, 120, 50, 6).matrix
    place = Arranged.of(R, singular_vectors(R, 6))
    before = R[:, place.items].toarray()
    assert sorted(map(tuple, place.X.toarray())) == sorted(map(tuple, before))


def test_a_matrix_of_items_comes_back_as_it_was():
    R = random_interactions(1, 90, 40, 6).matrix
    H, V = (R.T @ R).tocsr(), singular_vectors(R, 5)
    place = Arranged.of(R, V)
    np.testing.assert_array_equal(place.there(H).toarray(), (place.X.T @ place.X).toarray())
    np.testing.assert_array_equal(place.back(place.there(H)).toarray(), H.toarray())
    np.testing.assert_array_equal(place.back_rows(place.taken(V)), V)


def test_those_who_are_alike_stand_together():
    groups = np.arange(200) % 4  # taking turns
    users, items = np.repeat(np.arange(200), 5), np.random.default_rng(0).integers(0, 20, 1000)
    data = corml.Interactions.from_pairs(users, 20 * np.repeat(groups, 5) + items)
    group = np.asarray(data.items.labels, dtype=np.int64) // 20
    place = Arranged.of(data.matrix, np.eye(4, 5, k=1)[group])  # a direction for each group
    arranged = group[place.items]
    assert (np.diff(arranged) != 0).sum() == 3
    assert (np.diff(arranged[place.X.indices]) != 0).sum() == 3


def test_one_direction_orders_nothing():
    R = random_interactions(2, 30, 12, 4).matrix
    np.testing.assert_array_equal(Arranged.of(R, singular_vectors(R, 1)).items, np.arange(12))
