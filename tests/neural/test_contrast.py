"""The contrast in blocks is the cross-entropy of finding one's own image, and so is its gradient."""

import numpy as np
import pytest
import torch

from corml.neural import contrast as room
from corml.neural.contrast import info_nce


def plain(first, second, temperature):
    first, second = (torch.nn.functional.normalize(image) for image in (first, second))
    return torch.nn.functional.cross_entropy(first @ second.T / temperature, torch.arange(len(first)))


@pytest.mark.parametrize("count", [1, 4, 5, 11])
@pytest.mark.parametrize("temperature", [0.2, 0.01])
def test_loss_and_gradient_are_those_of_a_cross_entropy(count, temperature, monkeypatch):
    monkeypatch.setattr(room, "BLOCK", 4)  # so that the last block is full, short, or the only one
    rng = np.random.default_rng(count)
    start = torch.from_numpy(rng.normal(size=(2, count, 5)))
    found = []
    for loss in (info_nce, plain):
        images = start.clone().requires_grad_()
        value = 3 * loss(*images, temperature)
        value.backward()
        found.append((value.item(), images.grad))
    assert found[0][0] == pytest.approx(found[1][0], abs=1e-9)
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-9)
