"""SimGCL: noise of one length that keeps signs, and a contrast between two noisy images."""

import numpy as np
import pytest

from support import learner_of, one_batch, random_interactions, spread

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def tiny():
    return random_interactions(0, 6, 8, mean=3)


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
    batch = one_batch(learner)
    tables = spread(learner.E.detach(), tiny.matrix, layers)
    U, V = np.split(np.mean(tables[1:], axis=0), [6])
    U0, V0 = np.split(tables[0], [6])
    total = 0.0
    for u, i, (j,) in zip(batch.users, batch.items, batch.others, strict=True):
        total += np.log1p(np.exp(-(U[u] @ V[i] - U[u] @ V[j])))
        total += model.l2 / 2 * (U0[u] @ U0[u] + V0[i] @ V0[i] + V0[j] @ V0[j])
    expected = total / len(batch.users)
    for table, numbers in ((U, batch.users), (V, batch.items)):
        one = table[np.unique(numbers)]
        expected += weight * contrast_by_hand(one, one, model.temperature)
    assert learner.loss(batch, np.random.default_rng(0)).item() == pytest.approx(expected, rel=1e-4)


def noisy_by_hand(learner, X, seed):
    """Images as published: noise is added to what spreads on, in each layer."""
    random, here, images = torch.Generator().manual_seed(seed), learner.E.detach(), []
    for _ in range(learner.layers):
        here = torch.from_numpy(spread(here, X, 1)[1]).float()
        drawn = torch.nn.functional.normalize(torch.rand(here.shape, generator=random)) * learner.model.noise
        here = here + torch.sign(here) * drawn
        images.append(here)
    return torch.stack(images).mean(0)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_what_noise_adds_is_what_spreading_noisy_vectors_adds(tiny, layers):
    _, learner = learner_of("simgcl", tiny, layers=layers, noise=0.03)
    noise = learner._noise(learner.spread(), np.arange(14), 3)
    np.testing.assert_allclose(learner.vectors().detach() + noise, noisy_by_hand(learner, tiny.matrix, 3), atol=1e-6)


def test_noise_has_its_length_and_keeps_signs(tiny):
    _, learner = learner_of("simgcl", tiny, layers=1, noise=0.03)
    clean = learner.vectors().detach().numpy()
    noise = learner._noise(learner.spread(), np.arange(14), 0).numpy()
    np.testing.assert_allclose(np.linalg.norm(noise, axis=1), 0.03, rtol=1e-4)
    assert (noise * clean >= -1e-9).all()


def test_images_differ_with_the_seed_alone(tiny):
    _, learner = learner_of("simgcl", tiny, noise=0.1)
    one, same, other = (learner._noise(learner.spread(), np.arange(14), seed) for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.allclose(one, other)
    batch = one_batch(learner)
    first, again = (learner.loss(batch, np.random.default_rng(4)).item() for _ in range(2))
    assert first == again != learner.loss(batch, np.random.default_rng(5)).item()
