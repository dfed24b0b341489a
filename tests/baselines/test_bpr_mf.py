"""BPR-MF: the loss is the one of its paper, and pairs end in order."""

import numpy as np
import pytest

from corml import models
from support import learner_of, one_batch, random_interactions

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def tiny():
    return random_interactions(0, 6, 8, mean=3)


@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_the_loss_is_the_sum_over_pairs_divided_by_their_number(tiny, l2):
    _, learner = learner_of("bpr-mf", tiny, l2=l2)
    batch = one_batch(learner)
    U, V = np.split(learner.E.detach().numpy().astype(np.float64), [6])
    total = 0.0
    for u, i, (j,) in zip(batch.users, batch.items, batch.negatives, strict=True):
        total -= np.log(1 / (1 + np.exp(-(U[u] @ V[i] - U[u] @ V[j]))))
        total += l2 / 2 * (U[u] @ U[u] + V[i] @ V[i] + V[j] @ V[j])
    assert learner.loss(batch, None).item() == pytest.approx(total / len(batch.users), rel=1e-5)


def test_learning_ranks_the_history_before_everything_else(tiny):
    model = models.make("bpr-mf", {"size": 8, "learning_rate": 0.05, "l2": 0.0}).fit(tiny)
    scores, seen = model.user_ @ model.item_.T, tiny.matrix.toarray() > 0
    for row, of_user in zip(scores, seen, strict=True):
        assert row[of_user].min() > row[~of_user].max()


def test_more_ridge_means_shorter_vectors(tiny):
    lengths = [
        np.linalg.norm(models.make("bpr-mf", {"l2": l2, "learning_rate": 0.05}).fit(tiny).item_)
        for l2 in (0.0, 0.1, 1.0)
    ]
    assert lengths == sorted(lengths, reverse=True)


def test_one_more_user_does_not_change_how_many_numbers_there_are(tiny):
    model = models.make("bpr-mf", {"size": 3, "epochs": 1}).fit(tiny)
    assert model.user_.shape == (6, 3)
    assert model.item_.shape == (len(tiny.items), 3)
    assert model.user_.dtype == model.item_.dtype == np.float32
