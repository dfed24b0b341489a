"""What is held out: of one half of the users items at random, of the other items that belong together."""

import numpy as np
import pytest

import corml
from corml.models.corml import hold_out as holding
from corml.models.corml.hold_out import held_out, pick, related_first

GROUPS = 5


@pytest.fixture(scope="module")
def kinds():
    """Items of five kinds."""
    return np.arange(100) % GROUPS


@pytest.fixture(scope="module")
def train(kinds):
    """400 users who take 25 to 35 items, all kinds alike."""
    rng = np.random.default_rng(1)
    lists = [rng.choice(len(kinds), rng.integers(25, 36), replace=False) for _ in range(400)]
    users = np.repeat(np.arange(400), [len(one) for one in lists])
    return corml.Interactions.from_pairs(users, np.concatenate(lists), times=rng.permutation(len(users)))


def hold_out(X, order):
    picked = pick(X.indptr, order)
    return None if picked is None else held_out(X, picked)


def by_chance(train):
    return np.random.default_rng(9).random(len(train))


def test_a_fifth_of_the_items_of_sampled_users_is_held_out(train, monkeypatch):
    monkeypatch.setattr(holding, "USERS", 250)
    X, held = train.matrix, hold_out(train.matrix, by_chance(train))
    targets = np.zeros(X.shape, dtype=bool)
    targets[held.users] = held.targets.toarray() > 0
    assert len(held.users) == 250
    assert held.together.sum() == 125
    assert not (targets & (held.train.toarray() > 0)).any()
    assert np.array_equal(targets | (held.train.toarray() > 0), X.toarray() > 0)
    degrees = np.diff(X.indptr)[held.users]
    assert np.array_equal(np.diff(held.targets.indptr), np.maximum(1, np.rint(0.2 * degrees)))


def test_the_hold_out_is_deterministic(train):
    first, second = hold_out(train.matrix, by_chance(train)), hold_out(train.matrix, by_chance(train))
    assert np.array_equal(first.users, second.users)
    assert np.array_equal(first.together, second.together)
    assert (first.targets != second.targets).nnz == 0


def test_the_second_half_of_users_loses_its_latest_items(train):
    X, times = train.matrix, train.times_by_row
    held = hold_out(X, -times)
    late = []
    for row, user in enumerate(held.users):
        of_user, moments = X.indices[X.indptr[user] : X.indptr[user + 1]], times[X.indptr[user] : X.indptr[user + 1]]
        out = np.isin(of_user, held.targets[[row]].indices)
        late.append(moments[out].min() > moments[~out].max())
    assert all(np.array(late)[held.together])
    assert not any(np.array(late)[~held.together])


def test_related_items_have_similar_directions(train, kinds):
    X = train.matrix
    kind = kinds[[int(label) for label in train.items.labels]]
    popularity, rest = np.random.default_rng(0).random((len(kind), 1)), np.eye(GROUPS)[kind]
    held = hold_out(X, related_first(X, np.hstack([100 * popularity, rest])))
    same = [len(set(kind[held.targets[[row]].indices])) for row in range(len(held.users))]
    assert np.mean(np.array(same)[held.together]) < 1.6  # a fifth of a history is hardly more than one kind of it
    assert np.mean(np.array(same)[~held.together]) > 3


def test_users_with_fewer_than_three_items_are_not_sampled():
    rng = np.random.default_rng(0)
    users = np.concatenate([np.repeat(np.arange(300), 4), np.repeat(np.arange(300, 500), 2)])
    train = corml.Interactions.from_pairs(users, rng.integers(0, 1000, len(users)))
    held = hold_out(train.matrix, np.zeros(len(train)))
    assert set(held.users) <= set(np.flatnonzero(np.diff(train.matrix.indptr) >= 3))
    assert (np.diff(held.train.indptr)[held.users] >= 2).all()


def test_with_few_users_nothing_is_held_out(train):
    few = train.where(train.user < 150).compact()
    assert hold_out(few.matrix, np.zeros(len(few))) is None
