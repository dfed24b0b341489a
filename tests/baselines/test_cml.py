"""CML: rank weights, hinge and covariances as in the paper, and vectors that stay in a ball."""

import numpy as np
import pytest

from corml import models
from corml.models.neural.training.hard_negatives import hard_negatives
from corml.models.neural.training.sampling import Batch
from support import learner_of, one_batch, random_interactions

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def tiny():
    return random_interactions(0, 6, 8, mean=3)


def warp_by_hand(U, V, batch, margin):
    """Mean over pairs of ln(1 + rank) · hinge to the nearest negative."""
    total = 0.0
    for u, i, negatives in zip(batch.users, batch.items, batch.negatives, strict=True):
        near = ((U[u] - V[i]) ** 2).sum()
        far = [((U[u] - V[j]) ** 2).sum() for j in negatives]
        impostors = sum(distance < near + margin for distance in far)
        rank = len(V) * impostors // len(far)
        total += np.log(1 + rank) * max(0.0, margin + near - min(far))
    return total / len(batch.users)


def covariance_by_hand(vectors):
    """Squares of the covariances of two different coordinates, over the number of coordinates."""
    matrix = np.cov(vectors.T, bias=True)
    np.fill_diagonal(matrix, 0)
    return (matrix**2).sum() / len(matrix)


@pytest.mark.parametrize("margin", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("weight", [0.0, 10.0])
def test_the_loss_is_that_of_the_paper(tiny, margin, weight):
    _, learner = learner_of("cml", tiny, margin=margin, covariance=weight, negatives=3)  # 8 items: ranks are rounded
    batch = one_batch(learner)
    U, V = np.split(learner.E.detach().numpy().astype(np.float64), [6])
    expected = warp_by_hand(U, V, batch, margin)
    expected += weight * covariance_by_hand(np.vstack([U[batch.users], V[batch.items]]))
    assert expected > 0
    assert len(np.unique(hard_negatives(*learner.E.split([6, 8]), batch, margin)[1])) > 1  # more than one rank
    assert learner.loss(batch, None).item() == pytest.approx(expected, rel=1e-4)


def test_a_pair_with_every_impostor_behind_the_margin_costs_nothing(tiny):
    """One user at the origin, a pair's item and two negatives at given squared distances: none, half or all within."""
    _, learner = learner_of("cml", tiny, margin=0.5, covariance=0.0, negatives=2, size=1)
    for far, expected in (([0.7, 0.9], 0.0), ([0.5, 0.9], np.log(5) * 0.1), ([0.2, 0.3], np.log(9) * 0.4)):
        learner.E.data[:] = 0
        learner.E.data[6:9, 0] = torch.tensor([0.1, *far]) ** 0.5
        batch = Batch(np.array([0]), np.array([0]), np.array([[1, 2]]))
        assert learner.loss(batch, None).item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("epochs", [0, 1, 30])
@pytest.mark.parametrize("init_std", [0.01, 1.0])
def test_no_vector_leaves_the_unit_ball(tiny, epochs, init_std):
    data = tiny.where(tiny.user != 2)  # a user whose vector never moves
    model = models.make("cml", {"epochs": epochs, "learning_rate": 0.5, "size": 4, "init_std": init_std}).fit(data)
    for table in (model.user_, model.item_):
        assert np.linalg.norm(table, axis=1).max() <= 1 + 1e-6
