"""L-CML: the loss of CML on vectors that are propagated over the graph."""

import numpy as np
import pytest

from corml import models
from support import learner_of, one_batch, propagate, random_interactions

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def tiny():
    return random_interactions(0, 6, 8, mean=3)


@pytest.mark.parametrize("layers", [1, 3])
def test_the_loss_is_that_of_cml_on_the_mean_of_the_layers(tiny, layers):
    """Two models with the same vectors and the same batch: one has them from the graph, the other as they are."""
    settings = {"margin": 0.5, "covariance": 2.0, "negatives": 4}
    _, learner = learner_of("l-cml", tiny, layers=layers, **settings)
    _, plain = learner_of("cml", tiny, **settings)
    mean = np.mean(propagate(learner.E.detach(), tiny.matrix, layers), axis=0)
    mean /= np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1)
    plain.E.data.copy_(plain.E.new_tensor(mean))
    batch = one_batch(learner)
    assert learner.loss(batch, None).item() == pytest.approx(plain.loss(batch, None).item(), rel=1e-4)


def test_the_vectors_that_are_compared_stay_in_the_unit_ball(tiny):
    model = models.make("l-cml", {"epochs": 30, "learning_rate": 0.5, "size": 4}).fit(tiny)
    for table in (model.user_, model.item_, model._represent(tiny.matrix, None)):
        assert np.linalg.norm(table, axis=1).max() <= 1 + 1e-6
