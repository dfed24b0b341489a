"""The hard negative is the nearest of all, found on a processor by a kernel, elsewhere by PyTorch."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from corml import models
from corml.models.neural.training.hard_negatives import _compared_by_kernel, _compared_by_torch, hard_negatives, nearest
from corml.models.neural.training.sampling import Batch
from support import new_learner

ROUTES = [_compared_by_kernel, _compared_by_torch]


def example(seed, several):
    rng = np.random.default_rng(seed)
    users, items = rng.normal(size=(6, several * 5)).astype(np.float32), rng.normal(size=(9, 5)).astype(np.float32)
    batch = Batch(rng.integers(6, size=11), rng.integers(9, size=11), rng.integers(9, size=(11, 4)))
    return users, items, batch


def distance(users, items, user, item):
    return min(((part - items[item]) ** 2).sum() for part in users[user].reshape(-1, items.shape[1]))


@pytest.mark.parametrize("several", [1, 3])
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("margin", [0.5, 5.0])
def test_it_is_the_nearest_and_those_within_the_margin_are_counted(several, route, margin):
    users, items, batch = example(several, several)
    column, within = route(torch.from_numpy(users), torch.from_numpy(items), batch, margin)
    for row, (user, item, negatives) in enumerate(zip(batch.users, batch.items, batch.negatives, strict=True)):
        far = [distance(users, items, user, negative) for negative in negatives]
        assert column[row] == np.argmin(far)
        assert within[row] == sum(value < distance(users, items, user, item) + margin for value in far)


def test_a_batch_keeps_its_pairs_and_one_negative_each():
    users, items, batch = example(0, 2)
    hard, _ = hard_negatives(torch.from_numpy(users), torch.from_numpy(items), batch, 1.0)
    assert hard.users is batch.users
    assert hard.items is batch.items
    assert hard.negatives.shape == (11, 1)
    assert all(item in negatives for item, negatives in zip(hard.negatives[:, 0], batch.negatives, strict=True))


def test_nearest_is_the_distance_to_the_nearest_vector():
    users, items, batch = example(1, 3)
    vectors = torch.from_numpy(users[batch.users]).view(11, 3, 5), torch.from_numpy(items[batch.negatives])
    expected = [
        [distance(users, items, user, negative) for negative in negatives]
        for user, negatives in zip(batch.users, batch.negatives, strict=True)
    ]
    np.testing.assert_allclose(nearest(*vectors), expected, rtol=1e-4)


@pytest.mark.parametrize("name", ["cml", "l-cml", "dpcml"])
@pytest.mark.parametrize(("items", "drawn"), [(20, 10), (10_999, 10), (41_000, 41)])
def test_of_a_large_catalogue_more_are_drawn(name, items, drawn):
    X = csr_array((np.ones(3), ([0, 1, 1], [0, 2, items - 1])), shape=(2, items))
    assert new_learner(models.make(name, {"size": 2}), X).sampler.count == drawn
    assert new_learner(models.make(name, {"size": 2, "negatives": 7}), X).sampler.count == 7
