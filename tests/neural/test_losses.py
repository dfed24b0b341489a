"""Losses in blocks are the plain ones, values and gradients; covariance and clipping are what they say."""

import numpy as np
import pytest
import torch

from corml.models.neural.training import losses
from corml.models.neural.training.losses import clip, covariance, info_nce, likelihood
from support import random_interactions


def cross_entropy(first, second, temperature):
    first, second = (torch.nn.functional.normalize(image) for image in (first, second))
    return torch.nn.functional.cross_entropy(first @ second.T / temperature, torch.arange(len(first)))


@pytest.mark.parametrize("count", [1, 4, 5, 11])
@pytest.mark.parametrize("temperature", [0.2, 0.01])
def test_the_contrast_in_blocks_is_the_cross_entropy_of_finding_the_own_image(count, temperature, monkeypatch):
    monkeypatch.setattr(losses, "BLOCK", 4)  # so that the last block is full, short, or the only one
    rng = np.random.default_rng(count)
    vectors = torch.from_numpy(rng.normal(size=(2, count, 5)))
    results = []
    for loss in (info_nce, cross_entropy):
        images = vectors.clone().requires_grad_()
        value = 3 * loss(*images, temperature)
        value.backward()
        results.append((value.item(), images.grad))
    assert results[0][0] == pytest.approx(results[1][0], abs=1e-9)
    np.testing.assert_allclose(results[0][1], results[1][1], atol=1e-9)


def log_softmax(z, W, b, R):
    return (R * torch.log_softmax(z @ W.T + b, 1)).sum(1).mean()


@pytest.mark.parametrize("cells", [1, 27, 1 << 20])
@pytest.mark.parametrize("learns", ["z", "W b", "b", "z W b"])
def test_the_likelihood_in_blocks_is_the_log_softmax_at_the_history(cells, learns, monkeypatch):
    monkeypatch.setattr(losses, "CELLS", cells)  # one row, three rows, all rows at a time
    X = random_interactions(1, 8, 9, mean=4).matrix
    rng = np.random.default_rng(0)
    first = [torch.from_numpy(rng.normal(size=shape)) * 5 for shape in ((8, 3), (9, 3), (9,))]
    histories = torch.from_numpy(X.indptr.astype(np.int64)), torch.from_numpy(X.indices.astype(np.int64))
    results = []
    for value_of, rest in ((likelihood, histories), (log_softmax, (torch.from_numpy(X.toarray()),))):
        parts = [tensor.clone().requires_grad_(name in learns) for name, tensor in zip("zWb", first, strict=True)]
        value = 2 * value_of(*parts, *rest)
        value.backward()
        results.append((value.item(), [tensor.grad for tensor in parts]))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-9)
    for ours, theirs in zip(results[0][1], results[1][1], strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_coordinates_that_repeat_each_other_cost_and_others_do_not():
    vectors = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    matrix = np.cov(vectors.T, bias=True)
    np.fill_diagonal(matrix, 0)
    assert covariance(torch.from_numpy(vectors)).item() == pytest.approx((matrix**2).sum() / 3, rel=1e-4)
    whitened = np.linalg.svd(vectors - vectors.mean(0), full_matrices=False)[0]
    assert covariance(torch.from_numpy(whitened + 5)).item() == pytest.approx(0, abs=1e-6)


def test_clipping_moves_only_what_is_outside_and_keeps_its_direction():
    table = torch.tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0], [-1.0, 0.0]])
    clip(table)
    np.testing.assert_allclose(table, [[0.6, 0.8], [0.3, 0.4], [0, 0], [-1, 0]], atol=1e-6)


def test_a_row_of_several_vectors_is_clipped_vector_by_vector():
    table = torch.tensor([[3.0, 4.0, 0.3, 0.4], [0.0, 2.0, 5.0, 0.0]])
    clip(table, 2)
    np.testing.assert_allclose(table, [[0.6, 0.8, 0.3, 0.4], [0, 1, 1, 0]], atol=1e-6)
