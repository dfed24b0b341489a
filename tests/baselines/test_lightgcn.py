"""LightGCN: the loss of BPR on means over layers, the ridge on what is propagated."""

import numpy as np
import pytest

from support import learner_of, one_batch, propagate, random_interactions

pytest.importorskip("torch")


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_the_loss_is_bpr_on_the_mean_of_the_layers_and_a_ridge_on_the_first(layers):
    data = random_interactions(0, 6, 8, mean=3)
    model, learner = learner_of("lightgcn", data, layers=layers, l2=0.2)
    batch = one_batch(learner)
    tables = propagate(learner.E.detach(), data.matrix, layers)
    U, V = np.split(np.mean(tables, axis=0), [6])
    U0, V0 = np.split(tables[0], [6])
    total = 0.0
    for u, i, (j,) in zip(batch.users, batch.items, batch.negatives, strict=True):
        total += np.log1p(np.exp(-(U[u] @ V[i] - U[u] @ V[j])))
        total += model.l2 / 2 * (U0[u] @ U0[u] + V0[i] @ V0[i] + V0[j] @ V0[j])
    assert learner.loss(batch, None).item() == pytest.approx(total / len(batch.users), rel=1e-5)
