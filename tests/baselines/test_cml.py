"""CML: rank weights, hinge and covariances as in the paper, and a ball nobody leaves."""

import numpy as np
import pytest

from corml import models
from corml.neural.hard_negatives import hardest
from corml.neural.sampling import Batch
from support import learner_of, one_batch, random_interactions

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def tiny():
    return random_interactions(0, 6, 8, mean=3)


def warp_by_hand(U, V, batch, margin):
    """Mean over pairs of ln(1 + rank) · hinge to the nearest item not met."""
    total = 0.0
    for u, i, others in zip(batch.users, batch.items, batch.others, strict=True):
        near = ((U[u] - V[i]) ** 2).sum()
        far = [((U[u] - V[j]) ** 2).sum() for j in others]
        impostors = sum(one < near + margin for one in far)
        rank = len(V) * impostors // len(far)
        total += np.log(1 + rank) * max(0.0, margin + near - min(far))
    return total / len(batch.users)


def covariance_by_hand(vectors):
    """Squares of the covariances of two different coordinates, over the number of coordinates."""
    found = np.cov(vectors.T, bias=True)
    np.fill_diagonal(found, 0)
    return (found**2).sum() / len(found)


@pytest.mark.parametrize("margin", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("weight", [0.0, 10.0])
def test_the_loss_is_that_of_the_paper(tiny, margin, weight):
    _, learner = learner_of("cml", tiny, margin=margin, covariance=weight, negatives=3)  # 8 items: ranks are rounded
    batch = one_batch(learner)
    U, V = np.split(learner.E.detach().numpy().astype(np.float64), [6])
    expected = warp_by_hand(U, V, batch, margin)
    expected += weight * covariance_by_hand(np.vstack([U[batch.users], V[batch.items]]))
    assert expected > 0
    assert len(np.unique(hardest(*learner.E.split([6, 8]), batch, margin)[1])) > 1  # more than one rank
    assert learner.loss(batch, None).item() == pytest.approx(expected, rel=1e-4)


def test_a_pair_with_every_impostor_behind_the_margin_costs_nothing(tiny):
    """One user at the origin, the item met and two others at given squared distances: none, half or all within."""
    _, learner = learner_of("cml", tiny, margin=0.5, covariance=0.0, negatives=2, size=1)
    for far, expected in (([0.7, 0.9], 0.0), ([0.5, 0.9], np.log(5) * 0.1), ([0.2, 0.3], np.log(9) * 0.4)):
        learner.E.data[:] = 0
        learner.E.data[6:9, 0] = torch.tensor([0.1, *far]) ** 0.5
        batch = Batch(np.array([0]), np.array([0]), np.array([[1, 2]]))
        assert learner.loss(batch, None).item() == pytest.approx(expected, abs=1e-6)


def test_coordinates_that_say_the_same_cost_and_others_do_not():
    from corml.neural.metric import covariance

    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(40, 3)).astype(np.float32)
    assert covariance(torch.from_numpy(vectors)).item() == pytest.approx(covariance_by_hand(vectors), rel=1e-4)
    whitened = np.linalg.svd(vectors - vectors.mean(0), full_matrices=False)[0]
    assert covariance(torch.from_numpy(whitened + 5)).item() == pytest.approx(0, abs=1e-6)


def test_clipping_moves_only_what_is_outside_and_keeps_its_direction():
    from corml.neural.metric import clip

    table = torch.tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0], [-1.0, 0.0]])
    clip(table)
    np.testing.assert_allclose(table, [[0.6, 0.8], [0.3, 0.4], [0, 0], [-1, 0]], atol=1e-6)


def test_a_row_of_several_vectors_is_clipped_vector_by_vector():
    from corml.neural.metric import clip

    table = torch.tensor([[3.0, 4.0, 0.3, 0.4], [0.0, 2.0, 5.0, 0.0]])
    clip(table, 2)
    np.testing.assert_allclose(table, [[0.6, 0.8, 0.3, 0.4], [0, 1, 1, 0]], atol=1e-6)


@pytest.mark.parametrize("epochs", [0, 1, 30])
@pytest.mark.parametrize("start", [0.01, 1.0])
def test_nobody_leaves_the_unit_ball(tiny, epochs, start):
    data = tiny.where(tiny.user != 2)  # somebody who never moves
    model = models.make("cml", {"epochs": epochs, "learning_rate": 0.5, "size": 4, "start": start}).fit(data)
    for table in (model.user_, model.item_):
        assert np.linalg.norm(table, axis=1).max() <= 1 + 1e-6
