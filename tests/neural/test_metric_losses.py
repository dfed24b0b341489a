"""Models of metric learning: the losses of CML, L-CML and DPCML, and vectors that stay in a ball."""

import numpy as np
import pytest
import torch

from corml import models
from corml.errors import SettingError
from corml.models.neural.training.hard_negatives import hard_negatives
from corml.models.neural.training.sampling import Batch
from support import learner_of, one_batch, propagate, random_interactions


@pytest.fixture(scope="module")
def tiny():
    return random_interactions(0, 6, 8, mean=3)


# --- CML and L-CML ----------------------------------------------------------------------------------------------------


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
def test_the_loss_of_cml_is_that_of_the_paper(tiny, margin, weight):
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


@pytest.mark.parametrize("layers", [1, 3])
def test_the_loss_of_l_cml_is_that_of_cml_on_the_mean_of_the_layers(tiny, layers):
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


# --- DPCML ------------------------------------------------------------------------------------------------------------


def diversity(vectors):
    """δ: half the mean squared distance between two different vectors of a user."""
    count = len(vectors)
    if count == 1:
        return 0.0
    pairs = [((a - b) ** 2).sum() for a in vectors for b in vectors]
    return sum(pairs) / (2 * count * (count - 1))


@pytest.mark.parametrize("prototypes", [1, 2, 4])
@pytest.mark.parametrize(("low", "high"), [(0.01, 0.35), (2.0, 5.0), (0.0, 0.0)])
def test_the_loss_of_dpcml_is_that_of_the_paper(tiny, prototypes, low, high):
    model, learner = learner_of(
        "dpcml", tiny, prototypes=prototypes, negatives=3, margin=0.4, diversity=7.0, low=low, high=high
    )
    batch = one_batch(learner)
    U = learner.U.detach().numpy().astype(np.float64).reshape(6, prototypes, 5)
    V = learner.E.detach().numpy().astype(np.float64)

    def s(u, i):
        return min(((part - V[i]) ** 2).sum() for part in U[u])

    total = 0.0
    for u, i, negatives in zip(batch.users, batch.items, batch.negatives, strict=True):
        total += max(0.0, model.margin + s(u, i) - min(s(u, j) for j in negatives))
        if prototypes > 1:
            total += model.diversity * (max(0.0, low - diversity(U[u])) + max(0.0, diversity(U[u]) - high))
    assert learner.loss(batch, None).item() == pytest.approx(total / len(batch.users), rel=1e-4)


@pytest.mark.parametrize(
    ("vectors", "cost"),
    [
        ([[0.0, 0.0], [0.0, 0.0]], 0.1),  # one point: all of the lower bound is missing
        ([[0.0, 0.0], [0.4, 0.0]], 0.02),  # δ = 0.08
        ([[0.0, 0.0], [0.8, 0.0]], 0.0),  # δ = 0.32, between the bounds
        ([[-1.0, 0.0], [1.0, 0.0]], 1.5),  # δ = 2
    ],
)
def test_diversity_is_kept_between_two_bounds(tiny, vectors, cost):
    _, learner = learner_of("dpcml", tiny, prototypes=2, low=0.1, high=0.5, size=2)
    assert learner._out_of_bounds(torch.tensor([vectors])).item() == pytest.approx(cost, abs=1e-6)


def test_bounds_that_no_diversity_keeps_are_refused_before_it_begins(tiny):
    model = models.make("dpcml", {"low": 0.5, "high": 0.1})
    for method in (model.plan, model.fit):
        with pytest.raises(SettingError, match=r"low of DPCML must not be above high; got 0\.5 and 0\.1\."):
            method(tiny)


def test_no_vector_of_dpcml_leaves_the_unit_ball(tiny):
    model = models.make("dpcml", {"epochs": 30, "learning_rate": 0.5, "size": 4, "prototypes": 3}).fit(tiny)
    assert model.user_.shape == (6, 12)
    assert np.linalg.norm(model.user_.reshape(-1, 4), axis=1).max() <= 1 + 1e-6
    assert np.linalg.norm(model.item_, axis=1).max() <= 1 + 1e-6


def test_learning_keeps_the_vectors_of_a_user_apart():
    data = random_interactions(3, 40, 25)
    settings = {"epochs": 30, "learning_rate": 0.04, "size": 8, "prototypes": 3}
    close, apart = (
        np.mean([diversity(user.reshape(3, 8)) for user in models.make("dpcml", settings | bounds).fit(data).user_])
        for bounds in ({"low": 0.0, "high": 0.02}, {"low": 0.4, "high": 0.6})
    )
    assert close < 0.1
    assert 0.3 < apart < 0.7


def test_a_minority_interest_is_not_drowned():
    """A user with two interests is near both with two vectors; the point between them is near to neither."""
    model = models.make("dpcml", {"epochs": 0, "size": 2, "prototypes": 2}).fit(random_interactions(0, 6, 8, mean=3))
    model.user_[0] = [1, 0, -1, 0]
    model.item_[:3] = [[1, 0], [-1, 0], [0, 0]]
    near_one, near_other, between = model.score_block(model.user_[[0]], slice(0, 3))[0]
    assert near_one == pytest.approx(0)
    assert near_other == pytest.approx(0)
    assert between == pytest.approx(-1)
