"""The strongest partners of each item are those that sorting whole rows would give."""

import numpy as np
import pytest

from corml.linalg import co_occurrence
from corml.linalg import products as pairs
from corml.linalg.co_occurrence import strongest_pairs
from support import random_interactions, with_weights


def by_sorting(R, by_user, strength, most):
    gram = R.toarray().T @ np.diag(by_user) @ R.toarray()
    np.fill_diagonal(gram, 0)
    kept = np.zeros_like(gram)
    for row, values in enumerate(gram):
        order = np.argsort(-values * strength, kind="stable")[:most]
        kept[row, order] = values[order]
    return kept, gram


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("most", [1, 4, 20, None])
@pytest.mark.parametrize("chunk", [1, 300, 1 << 22])
def test_strongest_pairs_equal_a_stable_sort(most, chunk, weighted, monkeypatch):
    monkeypatch.setattr(pairs, "CHUNK", chunk)
    data = random_interactions(2, 300, 150, 5)
    R = with_weights(data).weighted if weighted else data.matrix
    by_user = np.random.default_rng(0).integers(1, 4, R.shape[0]) / 4  # sums are exact, and many are equal
    strength = np.where(np.arange(R.shape[1]) % 3, 1, 0.5).astype(np.float32)
    kept, whole = by_sorting(R, by_user, strength, most)
    found, complete = strongest_pairs(R, by_user, strength, most)
    np.testing.assert_array_equal(found.toarray(), kept)
    assert complete == (np.count_nonzero(kept) == np.count_nonzero(whole))
    assert found.has_sorted_indices
    assert (np.diff(found.indices)[np.diff(np.repeat(np.arange(R.shape[1]), np.diff(found.indptr))) == 0] > 0).all()


@pytest.mark.parametrize("seed", range(20))
def test_selection_finds_what_sorting_would_put_there(seed):
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 9, rng.integers(1, 40)).astype(np.float32)
    for place in range(len(numbers)):
        assert co_occurrence._select(numbers.copy(), len(numbers), place) == np.sort(numbers)[place]
