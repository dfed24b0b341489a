"""Models that rank pairs: the losses of BPR-MF, LightGCN and SimGCL are those of their papers."""

import numpy as np
import pytest
import torch

from corml import models
from support import learner_of, one_batch, propagate, random_interactions


@pytest.fixture(scope="module")
def tiny():
    return random_interactions(0, 6, 8, mean=3)


def bpr_by_hand(tables, first, batch, l2):
    """Mean over pairs of −ln σ(u·i − u·j) by `tables`, users first, and of the ridge on the vectors of `first`."""
    (U, V), (U0, V0), total = np.split(tables, [6]), np.split(first, [6]), 0.0
    for u, i, (j,) in zip(batch.users, batch.items, batch.negatives, strict=True):
        total += np.log1p(np.exp(-(U[u] @ V[i] - U[u] @ V[j])))
        total += l2 / 2 * (U0[u] @ U0[u] + V0[i] @ V0[i] + V0[j] @ V0[j])
    return total / len(batch.users)


@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_the_loss_of_bpr_mf_is_the_mean_over_pairs(tiny, l2):
    _, learner = learner_of("bpr-mf", tiny, l2=l2)
    batch, E = one_batch(learner), learner.E.detach().numpy().astype(np.float64)
    assert learner.loss(batch, None).item() == pytest.approx(bpr_by_hand(E, E, batch, l2), rel=1e-5)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_the_loss_of_lightgcn_is_bpr_on_the_mean_of_the_layers_and_a_ridge_on_the_first(tiny, layers):
    _, learner = learner_of("lightgcn", tiny, layers=layers, l2=0.2)
    batch, tables = one_batch(learner), propagate(learner.E.detach(), tiny.matrix, layers)
    expected = bpr_by_hand(np.mean(tables, axis=0), tables[0], batch, 0.2)
    assert learner.loss(batch, None).item() == pytest.approx(expected, rel=1e-5)


def test_learning_ranks_the_history_before_everything_else(tiny):
    model = models.make("bpr-mf", {"size": 8, "learning_rate": 0.05, "l2": 0.0}).fit(tiny)
    scores, seen = model.user_ @ model.item_.T, tiny.matrix.toarray() > 0
    for row, of_user in zip(scores, seen, strict=True):
        assert row[of_user].min() > row[~of_user].max()


def test_more_ridge_means_shorter_vectors(tiny):
    lengths = [
        np.linalg.norm(models.make("bpr-mf", {"l2": l2, "learning_rate": 0.1, "epochs": 40}).fit(tiny).item_)
        for l2 in (0.0, 0.1, 1.0)
    ]
    assert lengths == sorted(lengths, reverse=True)


# --- SimGCL -----------------------------------------------------------------------------------------------------------


def contrast_by_hand(first, second, temperature):
    first, second = (image / np.linalg.norm(image, axis=1, keepdims=True) for image in (first, second))
    costs = []
    for row in range(len(first)):
        likeness = np.exp([first[row] @ other / temperature for other in second])
        costs.append(-np.log(likeness[row] / likeness.sum()))
    return np.mean(costs)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_the_loss_is_a_ranking_and_a_contrast_of_users_and_of_items(tiny, layers, weight):
    """Without noise both images are the vectors themselves, and the contrast is that of all pairs of vectors."""
    model, learner = learner_of("simgcl", tiny, layers=layers, contrast=weight, noise=0.0, l2=0.2)
    batch, tables = one_batch(learner), propagate(learner.E.detach(), tiny.matrix, layers)
    mean = np.mean(tables[1:], axis=0)
    expected = bpr_by_hand(mean, tables[0], batch, model.l2)
    U, V = np.split(mean, [6])
    for table, numbers in ((U, batch.users), (V, batch.items)):
        image = table[np.unique(numbers)]
        expected += weight * contrast_by_hand(image, image, model.temperature)
    assert learner.loss(batch, np.random.default_rng(0)).item() == pytest.approx(expected, rel=1e-4)


def noisy_by_hand(learner, X, seed, nodes):
    """Images of some nodes as published: noise is added to what is propagated, in each layer."""
    random, layer, images = torch.Generator().manual_seed(seed), learner.E.detach(), []
    for depth in range(1, learner.layers + 1):
        layer = torch.from_numpy(propagate(layer, X, 1)[1]).float()
        if depth == learner.layers:  # of the last, no other node needs any
            layer = layer[nodes]
        drawn = torch.nn.functional.normalize(torch.rand(layer.shape, generator=random)) * learner.settings.noise
        layer = layer + torch.sign(layer) * drawn
        images.append(layer if depth == learner.layers else layer[nodes])
    return torch.stack(images).mean(0)


@pytest.mark.parametrize("nodes", [np.arange(14), np.array([1, 4, 5, 7, 12])], ids=["all", "some"])
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_what_noise_adds_is_what_propagating_noisy_vectors_adds(tiny, layers, nodes):
    _, learner = learner_of("simgcl", tiny, layers=layers, noise=0.03)
    noise = learner._noise(learner.propagate(), nodes, 3)
    expected = noisy_by_hand(learner, tiny.matrix, 3, nodes)
    np.testing.assert_allclose(learner.vectors().detach()[nodes] + noise, expected, atol=1e-6)


def test_the_contrast_is_between_two_images_with_noise_of_their_own(tiny):
    learners = [learner_of("simgcl", tiny, layers=2, noise=0.3, contrast=weight, batch=5)[1] for weight in (0.0, 0.7)]
    learner = learners[1]
    batch = next(iter(learner.sampler(np.random.default_rng(0))))
    plain, noisy = (one.loss(batch, np.random.default_rng(1)).item() for one in learners)
    nodes = np.unique(np.concatenate([batch.users, batch.items + 6]))
    seeds = np.random.default_rng(1).integers(2**62, size=2)
    images = [noisy_by_hand(learner, tiny.matrix, int(seed), nodes).numpy() for seed in seeds]
    users = (nodes < 6).sum()
    expected = sum(contrast_by_hand(*(image[part] for image in images), 0.2) for part in np.s_[:users, users:])
    assert noisy - plain == pytest.approx(0.7 * expected, rel=1e-4)


def test_noise_has_its_length_and_keeps_signs(tiny):
    _, learner = learner_of("simgcl", tiny, layers=1, noise=0.03)
    clean = learner.vectors().detach().numpy()
    noise = learner._noise(learner.propagate(), np.arange(14), 0).numpy()
    np.testing.assert_allclose(np.linalg.norm(noise, axis=1), 0.03, rtol=1e-4)
    assert (noise * clean >= -1e-9).all()


def test_images_differ_with_the_seed_alone(tiny):
    _, learner = learner_of("simgcl", tiny, noise=0.1)
    first, same, other = (learner._noise(learner.propagate(), np.arange(14), seed) for seed in (1, 1, 2))
    assert torch.equal(first, same)
    assert not torch.allclose(first, other)
    batch = one_batch(learner)
    first, again = (learner.loss(batch, np.random.default_rng(4)).item() for _ in range(2))
    assert first == again != learner.loss(batch, np.random.default_rng(5)).item()
