"""Cells and rows of a sparse matrix, many at once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

__all__ = ["entries_of", "filled", "rows_or_none"]

Whole = NDArray[np.integer[Any]]


def filled(pattern: csr_array, rows: Whole, columns: Whole) -> NDArray[np.bool_]:
    """Whether the pattern (its rows sorted) has an entry at each (row, column); negative columns have none."""
    height, width = pattern.shape
    first = np.arange(height, dtype=np.int64) * width  # cells are numbered row by row
    stored = np.append(np.repeat(first, np.diff(pattern.indptr)) + pattern.indices, -1)
    cells = np.where(columns >= 0, first[rows] + columns, -2)
    return np.asarray(stored[np.searchsorted(stored[:-1], cells)] == cells)


def entries_of(matrix: csr_array, rows: Whole) -> NDArray[np.int64]:
    """Where the entries of `rows_or_none` are stored in the matrix, whose rows are sorted."""
    there = rows[rows >= 0]
    first, lengths = matrix.indptr[there].astype(np.int64), np.diff(matrix.indptr)[there]
    stored: NDArray[np.int64] = np.arange(lengths.sum()) + np.repeat(first - np.cumsum(lengths) + lengths, lengths)
    return stored


def rows_or_none(matrix: csr_array, rows: Whole) -> csr_array:
    """Rows of a matrix by their numbers, sorted; −1 gives a row without an entry."""
    there = rows >= 0
    taken = matrix[rows[there]]
    taken.sort_indices()
    if there.all():
        return taken
    lengths = np.zeros(len(rows) + 1, dtype=taken.indptr.dtype)
    lengths[1:][there] = np.diff(taken.indptr)
    spread = csr_array((taken.data, taken.indices, np.cumsum(lengths)), shape=(len(rows), matrix.shape[1]))
    spread.has_sorted_indices = True
    return spread
