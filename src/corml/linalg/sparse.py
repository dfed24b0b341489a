"""Sparse matrices of users × items: degrees and their powers, scaling, rows and cells by number, rows of both sides."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Array = NDArray[Any]  # of any type of number
Vector = NDArray[np.float64]
Values = NDArray[np.float32]
PIECE = 1 << 16  # entries compared at a time


# --- degrees and scaling ---------------------------------------------------------------------------------------------


def row_degrees(X: csr_array) -> Vector:
    """Number of entries of each row; at least 1, so that powers exist."""
    return np.asarray(np.maximum(np.diff(X.indptr), 1), dtype=np.float64)


def column_degrees(X: csr_array) -> Vector:
    """Number of entries of each column; at least 1."""
    return np.maximum(np.bincount(X.indices, minlength=X.shape[1]).astype(np.float64), 1.0)


def column_squares(X: csr_array) -> Vector:
    """Sums of squares of the columns, which are their degrees if all entries are 1; 1 for an empty column."""
    values = values_unless_ones(X)
    if values is None:
        return column_degrees(X)
    squares = np.bincount(X.indices, weights=values.astype(np.float64) ** 2, minlength=X.shape[1])
    return np.where(np.bincount(X.indices, minlength=X.shape[1]) == 0, 1.0, squares)


def values_unless_ones(X: csr_array) -> Values | None:
    """The entries in single precision, or None if all are 1: kernels are then compiled without reading values."""
    ones = all((X.data[at : at + PIECE] == 1).all() for at in range(0, int(X.nnz), PIECE))
    return None if ones else X.data.astype(np.float32, copy=False)


def power(degrees: Array, exponent: float) -> Vector:
    """Degrees to a power, in double precision."""
    return np.asarray(degrees, dtype=np.float64) ** exponent


def scaled(X: csr_array, *, rows: Vector | None = None, columns: Vector | None = None) -> csr_array:
    """diag(rows) X diag(columns) in double precision; shares the pattern with X."""
    data = X.data.astype(np.float64)
    if columns is not None:
        data *= columns[X.indices]
    if rows is not None:
        data *= np.repeat(rows, np.diff(X.indptr))
    return _with_pattern_of(X, data)


def normalised(R: csr_array, user_exponent: float = 0.5, item_exponent: float = 0.5) -> csr_array:
    """D_U^−a R D_I^−b; exponents of ½ are the symmetric normalisation of the bipartite graph."""
    users = power(row_degrees(R), -user_exponent)
    return scaled(R, rows=users, columns=power(column_degrees(R), -item_exponent))


def narrow(X: csr_array) -> csr_array:
    """The matrix in single precision; shares the pattern."""
    return _with_pattern_of(X, X.data.astype(np.float32))


def _with_pattern_of(X: csr_array, data: Array) -> csr_array:
    matrix = csr_array((data, X.indices, X.indptr), shape=X.shape)
    matrix.has_sorted_indices = X.has_sorted_indices
    return matrix


def is_symmetric(S: csr_array) -> bool:
    """Whether a matrix is its own transpose, bit by bit: both map a vector of odd numbers to the same result.

    The entries' bits are read as whole numbers, whose sums and products (modulo a power of two) are exact, so that
    any single difference shows; far cheaper than a transposed copy.
    """
    whole = np.dtype(f"u{S.dtype.itemsize}")
    bits = csr_array((S.data.view(whole), S.indices, S.indptr), shape=S.shape)
    probe = np.random.default_rng(0).integers(0, 2**31, S.shape[1]).astype(whole) * whole.type(2) + whole.type(1)
    return np.array_equal(bits @ probe, bits.T @ probe)


def empty(shape: tuple[int, int]) -> csr_array:
    """A matrix without entries, which takes no memory for its rows."""
    nothing, starts = np.zeros(0, dtype=np.int32), np.broadcast_to(np.int32(0), shape[0] + 1)
    return csr_array((nothing.astype(np.float32), nothing, starts), shape=shape)


# --- rows and cells --------------------------------------------------------------------------------------------------


def rows_of(X: csr_array) -> NDArray[np.int64]:
    """Row number of each stored entry."""
    return np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))


def filled(pattern: csr_array, rows: Array, columns: Array) -> NDArray[np.bool_]:
    """Whether the pattern, whose rows are sorted, has an entry at each (row, column); not for a negative column."""
    height, width = pattern.shape
    first = np.arange(height, dtype=np.int64) * width  # cells are numbered row by row
    stored = np.append(np.repeat(first, np.diff(pattern.indptr)) + pattern.indices, -1)
    cells = np.where(columns >= 0, first[rows] + columns, -2)
    return np.asarray(stored[np.searchsorted(stored[:-1], cells)] == cells)


def entries_of(matrix: csr_array, rows: Array) -> NDArray[np.int64]:
    """Positions in the matrix, whose rows are sorted, of the entries of `rows_or_none`."""
    there = rows[rows >= 0]
    first, lengths = matrix.indptr[there].astype(np.int64), np.diff(matrix.indptr)[there]
    stored: NDArray[np.int64] = np.arange(lengths.sum()) + np.repeat(first - np.cumsum(lengths) + lengths, lengths)
    return stored


def rows_or_none(matrix: csr_array, rows: Array) -> csr_array:
    """Rows of a matrix by number, sorted; −1 gives an empty row."""
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


# --- what kernels read -----------------------------------------------------------------------------------------------


class Rows(NamedTuple):
    """Compressed rows, which may be mapped files; `values` is None if all entries are 1."""

    indptr: Array
    indices: Array  # unsigned
    values: Values | None

    @classmethod
    def of(cls, X: csr_array) -> Self:
        """The rows of a matrix."""
        return cls(X.indptr, unsigned(X.indices), values_unless_ones(X))

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def degrees(self) -> NDArray[np.int64]:
        """Number of entries of each row."""
        return np.diff(self.indptr).astype(np.int64)


class Sides(NamedTuple):
    """A users × items matrix twice: the items of each user, and the users of each item."""

    users: Rows
    items: Rows

    @classmethod
    def of(cls, X: csr_array) -> Self:
        """Both sides of a matrix."""
        return cls(Rows.of(X), Rows.of(X.T.tocsr()))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of users and of items."""
        return len(self.users), len(self.items)

    @property
    def nnz(self) -> int:
        """Number of pairs."""
        return len(self.users.indices)


def unsigned(indices: Array) -> Array:
    """Indices as unsigned numbers, not copied: compiled loops then need not test for a negative index."""
    return indices.view(np.dtype(f"u{indices.dtype.itemsize}"))
