"""Rows of the Gram matrix in chunks, and the largest entries of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from corml.linalg import products as pairs
from support import random_interactions


@given(seed=st.integers(0, 50), chunk=st.integers(1, 500))
def test_chunks_are_all_items_each_once(seed, chunk):
    X = random_interactions(seed).matrix
    before, pairs.CHUNK = pairs.CHUNK, chunk
    try:
        ranges = pairs.chunks(X)
    finally:
        pairs.CHUNK = before
    assert [item for start, stop in ranges for item in range(start, stop)] == list(range(X.shape[1]))
    entries = np.diff((X.T @ X).indptr)
    for start, stop in ranges:
        assert stop == start + 1 or entries[start:stop].sum() * pairs.threads() <= chunk


@pytest.mark.parametrize("chunk", [1, 40, 1 << 22])
def test_the_rows_put_together_are_the_gram_matrix(chunk, monkeypatch):
    monkeypatch.setattr(pairs, "CHUNK", chunk)
    X, done = random_interactions(3).matrix, []
    gram = pairs.over_pairs(X, progress=done.append)
    assert (gram != X.T @ X).nnz == 0
    assert gram.has_sorted_indices
    assert done == sorted(done)
    assert done[-1] == X.shape[1]


@given(seed=st.integers(0, 50))
def test_there_are_never_more_pairs_than_the_bound(seed):
    X = random_interactions(seed).matrix
    assert (X.T @ X).nnz <= pairs.largest_gram(X) <= X.shape[1] ** 2


@given(
    rows=st.lists(st.lists(st.integers(-3, 6), max_size=9), min_size=1, max_size=6),
    count=st.integers(1, 10),
)
def test_the_largest_entries_stay_the_first_of_equals(rows, count):
    values = np.array([value for row in rows for value in row], dtype=np.float32)
    columns = np.array([column for row in rows for column in range(len(row))], dtype=np.int32)
    ends = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    largest = pairs.strongest(csr_array((values, columns, ends), shape=(len(rows), 9)), count)
    for number, row in enumerate(rows):
        positive = [column for column, value in enumerate(row) if value > 0]
        best = sorted(positive, key=lambda column: (-row[column], column))
        chosen = largest.indices[largest.indptr[number] : largest.indptr[number + 1]]
        assert sorted(chosen) == sorted(best[:count])


def test_entries_may_be_compared_by_other_numbers_than_their_values():
    rows = csr_array(np.array([[3.0, 2.0, 1.0]], dtype=np.float32))
    largest = pairs.strongest(rows, 1, by=np.array([1.0, 0.0, 5.0], dtype=np.float32))
    assert largest.toarray().tolist() == [[0, 0, 1]]
