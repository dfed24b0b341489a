"""Item neighbours: the formula, the choice of neighbours, and chunks that do not show."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import corml
from corml.linalg import products as pairs
from corml.models.linear.item_knn import ItemKNN
from support import random_interactions


def cosines(X, shrink):
    counts = (X.T @ X).toarray()
    d = np.sqrt(np.maximum(np.diag(counts), 1))
    made = counts / (np.outer(d, d) + shrink)
    np.fill_diagonal(made, 0)
    return made


@given(seed=st.integers(0, 50), shrink=st.floats(0, 100))
def test_with_room_for_all_the_weights_are_the_shrunk_cosines(seed, shrink):
    data = random_interactions(seed)
    model = ItemKNN(neighbours=1000, shrink=shrink).fit(data)
    np.testing.assert_allclose(model.weights_.toarray(), cosines(data.matrix, shrink), rtol=1e-5)


@given(seed=st.integers(0, 50), neighbours=st.integers(1, 30))
def test_each_item_votes_for_its_nearest(seed, neighbours):
    data = random_interactions(seed)
    W = ItemKNN(neighbours=neighbours, shrink=3).fit(data).weights_.toarray()
    every = cosines(data.matrix, 3).astype(np.float32)
    for votes, all_votes in zip(W, every, strict=True):
        expected = np.sort(all_votes)[::-1][:neighbours]
        np.testing.assert_allclose(np.sort(votes[votes > 0])[::-1], expected[expected > 0], rtol=1e-5)


def test_shrinkage_holds_back_pairs_that_met_by_chance():
    often = [(f"u{u}", item) for u in range(20) for item in ("a", "b")] + [("u0", "c"), ("u30", "c")]
    once = [("u99", "rare"), ("u99", "a")]
    data = corml.Interactions.from_pairs(*zip(*often, *once, strict=True))
    before, after = (ItemKNN(shrink=shrink).fit(data).scores([["a"]])[0] for shrink in (0, 20))
    b, rare = data.items.rows(["b", "rare"])
    assert after[rare] / after[b] < before[rare] / before[b]


def test_chunks_do_not_change_the_answer(monkeypatch):
    data = random_interactions(3, 60, 40)
    whole = ItemKNN(neighbours=7).fit(data).weights_
    monkeypatch.setattr(pairs, "CHUNK", 50)
    assert (ItemKNN(neighbours=7).fit(data).weights_ != whole).nnz == 0


def test_what_items_add_is_what_they_score(data):
    model = ItemKNN(neighbours=5).fit(data)
    history = list(data.items.labels[:4])
    told = model.explain(history, data.items.labels[9])
    assert told.score == pytest.approx(float(model.scores([history])[0, 9]), abs=1e-6)
