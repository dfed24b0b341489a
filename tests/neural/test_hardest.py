"""The hardest item is found by looking at all of them, on a processor by a kernel, elsewhere by PyTorch."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from corml import models
from corml.neural import hard_negatives as room
from corml.neural.hard_negatives import hardest, nearest
from corml.neural.sampling import Batch

ROUTES = [room._looked_at_by_kernel, room._looked_at_by_torch]


def some(seed, several):
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
    users, items, batch = some(several, several)
    at, within = route(torch.from_numpy(users), torch.from_numpy(items), batch, margin)
    for row, (user, item, others) in enumerate(zip(batch.users, batch.items, batch.others, strict=True)):
        far = [distance(users, items, user, other) for other in others]
        assert at[row] == np.argmin(far)
        assert within[row] == sum(one < distance(users, items, user, item) + margin for one in far)


def test_a_batch_keeps_its_pairs_and_one_of_the_others():
    users, items, batch = some(0, 2)
    found, _ = hardest(torch.from_numpy(users), torch.from_numpy(items), batch, 1.0)
    assert found.users is batch.users
    assert found.items is batch.items
    assert found.others.shape == (11, 1)
    assert all(one in others for one, others in zip(found.others[:, 0], batch.others, strict=True))


def test_nearest_is_the_distance_to_the_nearest_vector():
    users, items, batch = some(1, 3)
    taken = torch.from_numpy(users[batch.users]).view(11, 3, 5), torch.from_numpy(items[batch.others])
    expected = [
        [distance(users, items, user, other) for other in others]
        for user, others in zip(batch.users, batch.others, strict=True)
    ]
    np.testing.assert_allclose(nearest(*taken), expected, rtol=1e-4)


@pytest.mark.parametrize("name", ["cml", "l-cml", "dpcml"])
@pytest.mark.parametrize(("items", "drawn"), [(20, 10), (10_999, 10), (41_000, 41)])
def test_of_a_large_catalogue_more_are_drawn(name, items, drawn):
    X = csr_array((np.ones(3), ([0, 1, 1], [0, 2, items - 1])), shape=(2, items))
    assert models.make(name, {"size": 2})._learner(X, torch.device("cpu")).sampler.count == drawn
    assert models.make(name, {"size": 2, "negatives": 7})._learner(X, torch.device("cpu")).sampler.count == 7
