"""UltraGCN: weights of the user-item graph and of the item graph, computed here by their definitions."""

import numpy as np
import pytest
import torch

from corml import models
from corml.data.interactions import Interactions
from corml.models.neural import ultragcn
from support import learner_of, one_batch, random_interactions


@pytest.fixture(scope="module")
def tiny():
    return random_interactions(0, 6, 8, mean=3)


def beta(R):
    d_u, d_i = np.maximum(R.sum(1), 1), np.maximum(R.sum(0), 1)
    return np.array([[np.sqrt((a + 1) / (b + 1)) / a for b in d_i] for a in d_u])


def omega(R):
    G = R.T @ R
    g, n = G.sum(1), len(G)
    weights = np.zeros_like(G)
    for i in range(n):
        for k in range(n):
            if i != k and G[i, k]:
                weights[i, k] = G[i, k] / (g[i] - G[i, i]) * np.sqrt(g[i] / g[k])
    return weights


def softplus(x):
    return np.log1p(np.exp(x))


@pytest.mark.parametrize("neighbours", [1, 2, 5, 100])
def test_neighbours_are_those_of_largest_weight(neighbours):
    data = random_interactions(4, 30, 12)
    n = len(data.items)
    like, weight = ultragcn._neighbours(data.matrix, min(neighbours, n))
    expected = omega(data.matrix.toarray().astype(np.float64))
    for i in range(n):
        np.testing.assert_allclose(np.sort(weight[i])[::-1], np.sort(expected[i])[::-1][: len(weight[i])], rtol=1e-5)
        np.testing.assert_allclose(expected[i, like[i]][weight[i] > 0], weight[i][weight[i] > 0], rtol=1e-5)
        assert i not in like[i][weight[i] > 0]


@pytest.mark.parametrize(
    "settings",
    [{}, {"base": 0.7}, {"negative_weight": 0.0}, {"item_weight": 0.0}, {"l2": 0.5}, {"l2": 0.5, "batch": 5}],
    ids=str,
)
def test_the_loss_is_that_of_the_paper(tiny, settings):
    model, learner = learner_of("ultragcn", tiny, neighbours=3, **settings)
    learner.E.data.copy_(torch.randn(learner.E.shape, generator=torch.Generator().manual_seed(3)))
    batch = next(iter(learner.sampler(np.random.default_rng(0))))
    E, R = learner.E.detach().numpy().astype(np.float64), tiny.matrix.toarray().astype(np.float64)
    U, V = np.split(E, [6])
    B, W = beta(R), omega(R)
    total = model.l2 / 2 * (E**2).sum()
    for u, i in zip(batch.users, batch.items, strict=True):
        total += (model.base + B[u, i]) * softplus(-U[u] @ V[i])
        negatives = np.flatnonzero(R[u] == 0)
        total += model.negative_weight * np.mean([(model.base + B[u, j]) * softplus(U[u] @ V[j]) for j in negatives])
        like = np.argsort(-W[i], kind="stable")[:3]
        total += model.item_weight * sum(W[i, k] * softplus(-U[u] @ V[k]) for k in like)
    loss = learner.loss(batch, np.random.default_rng(0)).item()  # fewer items than negatives: all of them are drawn
    assert loss == pytest.approx(total / len(batch.users), rel=1e-4)


def test_the_weights_of_pairs_are_those_of_the_graph(tiny):
    """With the published base, pairs weigh as their β do; a large base turns the graph off."""
    model, learner = learner_of("ultragcn", tiny)
    B = beta(tiny.matrix.toarray().astype(np.float64))[tiny.user, tiny.item]
    pairs = torch.from_numpy(tiny.user.astype(np.int64)), torch.from_numpy(tiny.item.astype(np.int64))
    weights = learner._weights(*pairs).numpy()
    assert model.base == 1e-6
    np.testing.assert_allclose(weights / weights[0], B / B[0], rtol=1e-4)
    assert weights.max() > 1.5 * weights.min()
    flat = learner_of("ultragcn", tiny, base=100.0)[1]._weights(*pairs).numpy()
    assert flat.max() < 1.01 * flat.min()


def test_the_graph_decides_where_learning_goes():
    """With β replaced by its mean the gradient points elsewhere; beside a large base it hardly would."""
    data = random_interactions(4, 60, 40)

    def turned(base):
        """How far the direction of the gradient moves without the graph."""
        directions = []
        for flat in (False, True):
            _, learner = learner_of("ultragcn", data, base=base)
            if flat:
                learner.of_user[:] = learner.of_user.mean()
                learner.of_item[:] = learner.of_item.mean()
            learner.loss(one_batch(learner), np.random.default_rng(0)).backward()
            directions.append(learner.E.grad.numpy() / np.linalg.norm(learner.E.grad.numpy()))
        return np.linalg.norm(directions[0] - directions[1])

    assert turned(1e-6) > 0.1
    assert turned(1e-6) > 10 * turned(100.0)


@pytest.mark.parametrize("weight", [1.0, 200.0])
def test_learning_begins_where_it_would_end_if_all_items_were_alike(weight):
    """Every user has half of the items, every item half of the users: nothing to learn but the level."""
    n = 20
    data = Interactions.from_pairs(*zip(*[(u, i) for u in range(n) for i in range(n) if (u + i) % 2], strict=True))
    _, learner = learner_of("ultragcn", data, negative_weight=weight, item_weight=0.0, l2=0.0, init_std=1e-6)
    U, V = np.split(learner.E.detach().numpy(), [n])
    np.testing.assert_allclose(U @ V.T, -np.log(weight), atol=1e-4)
    learner.loss(one_batch(learner), np.random.default_rng(0)).backward()
    assert np.abs(learner.E.grad.numpy()).max() < 1e-6


def test_learning_begins_at_zero_where_negatives_weigh_less_than_pairs(tiny):
    _, learner = learner_of("ultragcn", tiny, negative_weight=0.5, init_std=1e-6)
    assert np.abs(learner.E.detach().numpy()).max() < 1e-4


def test_a_pool_never_counts_items_of_the_history():
    data = random_interactions(4, 30, 12)
    _, learner = learner_of("ultragcn", data, negatives=5)
    pool = np.array([3, 0, 7, 9, 1])
    seen = ultragcn._seen(data.matrix[[4, 4, 11]], pool)
    np.testing.assert_array_equal(seen, data.matrix.toarray()[[4, 4, 11]][:, pool] > 0)
    loss = learner._negatives(torch.zeros(30, 5), np.arange(30), np.random.default_rng(0))
    assert loss.shape == (30,)
    assert torch.isfinite(loss).all()


def test_a_user_of_the_whole_pool_costs_nothing(monkeypatch):
    data = random_interactions(4, 30, 12)
    _, learner = learner_of("ultragcn", data, negatives=1)
    user, item = data.user[0], data.item[0]

    class Always:
        def choice(self, *_, **__):
            return np.array([item])

    assert learner._negatives(torch.ones(1, 5), np.array([user]), Always()).item() == 0


def test_items_that_share_no_user_have_no_weight():
    from corml import Interactions

    data = Interactions.from_pairs(["a", "a", "b", "b", "c"], ["v", "w", "x", "y", "z"])
    _, weight = ultragcn._neighbours(data.matrix, 3)
    assert (weight > 0).sum(1).tolist() == [1, 1, 1, 1, 0]
    model = models.make("ultragcn", {"epochs": 2, "size": 3}).fit(data)
    assert np.isfinite(model.item_).all()
