"""DPCML: the nearest of several vectors counts, and those of one user are neither one point nor far apart."""

import numpy as np
import pytest

from corml import models
from corml.errors import SettingError
from support import learner_of, one_batch, random_interactions

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def tiny():
    return random_interactions(0, 6, 8, mean=3)


def diversity(vectors):
    """δ: half the mean squared distance between two different vectors of a user."""
    count = len(vectors)
    if count == 1:
        return 0.0
    pairs = [((a - b) ** 2).sum() for a in vectors for b in vectors]
    return sum(pairs) / (2 * count * (count - 1))


@pytest.mark.parametrize("prototypes", [1, 2, 4])
@pytest.mark.parametrize(("low", "high"), [(0.01, 0.35), (2.0, 5.0), (0.0, 0.0)])
def test_the_loss_is_that_of_the_paper(tiny, prototypes, low, high):
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


def test_no_vector_leaves_the_unit_ball(tiny):
    model = models.make("dpcml", {"epochs": 30, "learning_rate": 0.5, "size": 4, "prototypes": 3}).fit(tiny)
    assert model.user_.shape == (6, 12)
    assert np.linalg.norm(model.user_.reshape(-1, 4), axis=1).max() <= 1 + 1e-6
    assert np.linalg.norm(model.item_, axis=1).max() <= 1 + 1e-6


def test_learning_keeps_the_vectors_of_a_user_apart():
    data = random_interactions(3, 40, 25)
    settings = {"epochs": 60, "learning_rate": 0.02, "size": 8, "prototypes": 3}
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
