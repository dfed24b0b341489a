"""Rows of the Gram matrix in chunks, and the strongest entries of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from corml.linalg import pairs
from support import random_interactions


@given(seed=st.integers(0, 50), chunk=st.integers(1, 500))
def test_chunks_are_all_items_each_once(seed, chunk):
    X = random_interactions(seed).matrix
    before, pairs.CHUNK = pairs.CHUNK, chunk
    try:
        found = pairs.chunks(X)
    finally:
        pairs.CHUNK = before
    assert [item for start, stop in found for item in range(start, stop)] == list(range(X.shape[1]))


@pytest.mark.parametrize("chunk", [1, 40, 1 << 22])
def test_the_rows_put_together_are_the_gram_matrix(chunk, monkeypatch):
    monkeypatch.setattr(pairs, "CHUNK", chunk)
    X, told = random_interactions(3).matrix, []
    made = pairs.over_pairs(X, told=told.append)
    assert (made != X.T @ X).nnz == 0
    assert made.has_sorted_indices
    assert told == sorted(told)
    assert told[-1] == X.shape[1]


def test_users_may_count_differently():
    X, weights = random_interactions(3).matrix.astype(np.float32), np.linspace(0.5, 2, random_interactions(3).shape[0])
    made = pairs.over_pairs(X, weights=weights)
    assert made.dtype == np.float32
    np.testing.assert_allclose(made.toarray(), X.toarray().T @ np.diag(weights) @ X.toarray(), rtol=1e-6)


@given(seed=st.integers(0, 50))
def test_there_are_never_more_pairs_than_the_bound(seed):
    X = random_interactions(seed).matrix
    assert (X.T @ X).nnz <= pairs.largest_gram(X) <= X.shape[1] ** 2


@given(
    rows=st.lists(st.lists(st.integers(-3, 6), max_size=9), min_size=1, max_size=6),
    most=st.none() | st.integers(1, 10),
)
def test_the_largest_entries_stay_the_first_of_equals(rows, most):
    values = np.array([value for row in rows for value in row], dtype=np.float32)
    places = np.array([place for row in rows for place in range(len(row))], dtype=np.int32)
    ends = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    made = pairs.strongest(csr_array((values, places, ends), shape=(len(rows), 9)), most)
    for number, row in enumerate(rows):
        best = sorted((place for place, value in enumerate(row) if value > 0), key=lambda place: (-row[place], place))
        kept = made.indices[made.indptr[number] : made.indptr[number + 1]]
        assert sorted(kept) == sorted(best[:most])


def test_strength_may_be_another_number_than_the_value():
    rows = csr_array(np.array([[3.0, 2.0, 1.0]], dtype=np.float32))
    made = pairs.strongest(rows, 1, by=np.array([1.0, 0.0, 5.0], dtype=np.float32))
    assert made.toarray().tolist() == [[0, 0, 1]]
