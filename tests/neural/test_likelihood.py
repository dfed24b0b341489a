"""The likelihood in blocks is the log-softmax at what was met, and so is its gradient, for all or for z alone."""

import numpy as np
import pytest
import torch

from corml.neural import likelihood as room
from corml.neural.likelihood import likelihood
from support import random_interactions


def plain(z, W, b, R):
    return (R * torch.log_softmax(z @ W.T + b, 1)).sum(1).mean()


@pytest.mark.parametrize("cells", [1, 27, 1 << 20])
@pytest.mark.parametrize("learns", ["z", "W b", "b", "z W b"])
def test_value_and_gradient_are_those_of_a_log_softmax(cells, learns, monkeypatch):
    monkeypatch.setattr(room, "CELLS", cells)  # one row, three rows, all rows at a time
    X = random_interactions(1, 8, 9, mean=4).matrix
    rng = np.random.default_rng(0)
    starts = [torch.from_numpy(rng.normal(size=shape)) * 5 for shape in ((8, 3), (9, 3), (9,))]
    places = torch.from_numpy(X.indptr.astype(np.int64)), torch.from_numpy(X.indices.astype(np.int64))
    found = []
    for value, rest in ((likelihood, places), (plain, (torch.from_numpy(X.toarray()),))):
        parts = [one.clone().requires_grad_(name in learns) for name, one in zip("zWb", starts, strict=True)]
        made = 2 * value(*parts, *rest)
        made.backward()
        found.append((made.item(), [one.grad for one in parts]))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-9)
    for ours, theirs in zip(found[0][1], found[1][1], strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            np.testing.assert_allclose(ours, theirs, atol=1e-9)
