"""Degrees and their powers, and sparse matrices scaled by them.

Cells and rows of a sparse matrix, many at once.

A users × items matrix in rows of both, as bare arrays: what kernels that go from items to users and back read.

The arrays may be mapped files: nothing here copies them.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Vector = NDArray[np.float64]
PIECE = 1 << 16  # entries compared at a time


def column_degrees(X: csr_array) -> Vector:
    """How many rows each column has; an empty column counts as one, so that its powers exist."""
    return np.maximum(np.bincount(X.indices, minlength=X.shape[1]).astype(np.float64), 1.0)


def column_squares(X: csr_array) -> Vector:
    """Sums of squares of the columns: their degrees where all values are one; an empty column counts as one."""
    values = values_unless_ones(X)
    if values is None:
        return column_degrees(X)
    squares = np.bincount(X.indices, weights=values.astype(np.float64) ** 2, minlength=X.shape[1])
    return np.where(np.bincount(X.indices, minlength=X.shape[1]) == 0, 1.0, squares)


def values_unless_ones(X: csr_array) -> NDArray[np.float32] | None:
    """The entries of a matrix in single precision; None where all are one: kernels then count, and read no values.

    A kernel that is given None is compiled without what it would do with values.
    """
    ones = all((X.data[at : at + PIECE] == 1).all() for at in range(0, int(X.nnz), PIECE))
    return None if ones else X.data.astype(np.float32, copy=False)


def counted(X: csr_array) -> csr_array:
    """The pattern of a matrix, every entry one; itself where they are."""
    if values_unless_ones(X) is None:
        return X
    return csr_array((np.ones(X.nnz, dtype=np.float32), X.indices, X.indptr), shape=X.shape)


def row_degrees(X: csr_array) -> Vector:
    """How many columns each row has; an empty row counts as one."""
    counts: Vector = np.diff(X.indptr).astype(np.float64)
    return np.maximum(counts, 1.0)


def power(degrees: NDArray[Any], exponent: float) -> Vector:
    """Degrees to a power, in double precision."""
    return np.asarray(degrees, dtype=np.float64) ** exponent


def scaled(X: csr_array, *, rows: Vector | None = None, columns: Vector | None = None) -> csr_array:
    """The matrix with its rows and columns multiplied; shares the pattern, not the values."""
    data = X.data.astype(np.float64)
    if columns is not None:
        data *= columns[X.indices]
    if rows is not None:
        data *= np.repeat(rows, np.diff(X.indptr))
    product = csr_array((data, X.indices, X.indptr), shape=X.shape)
    product.has_sorted_indices = X.has_sorted_indices
    return product


def normalised(R: csr_array, user_exponent: float = 0.5, item_exponent: float = 0.5) -> csr_array:
    """D_U^−a R D_I^−b for the degrees of users and items; an empty row or column counts as one.

    With exponents of ½ this is the symmetric normalisation of the bipartite graph.
    """
    users = power(row_degrees(R), -user_exponent)
    return scaled(R, rows=users, columns=power(column_degrees(R), -item_exponent))


def narrow(X: csr_array) -> csr_array:
    """The matrix in single precision; shares the pattern."""
    return csr_array((X.data.astype(np.float32), X.indices, X.indptr), shape=X.shape)


def is_symmetric(S: csr_array) -> bool:
    """Whether a matrix is its own transpose, bit by bit: both map a vector of odd numbers to the same result.

    The numbers' bits are read as whole numbers, whose sums and products (modulo a power of two) are exact, so that
    any single difference shows; far cheaper than a transposed copy.
    """
    whole = np.dtype(f"u{S.dtype.itemsize}")
    bits = csr_array((S.data.view(whole), S.indices, S.indptr), shape=S.shape)
    probe = np.random.default_rng(0).integers(0, 2**31, S.shape[1]).astype(whole) * whole.type(2) + whole.type(1)
    return np.array_equal(bits @ probe, bits.T @ probe)


def rows_of(X: csr_array) -> NDArray[Any]:
    """Row number of each stored entry."""
    return np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))


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


class Rows(NamedTuple):
    """Compressed rows; `values` is None where all entries are one."""

    indptr: NDArray[Any]
    indices: NDArray[Any]  # unsigned
    values: NDArray[np.float32] | None

    @classmethod
    def of(cls, X: csr_array) -> Self:
        """The rows of a matrix."""
        return cls(X.indptr, unsigned(X.indices), values_unless_ones(X))

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def degrees(self) -> NDArray[np.int64]:
        """How many entries each row has."""
        return np.diff(self.indptr).astype(np.int64)


class Sides(NamedTuple):
    """Items of each user, and users of each item."""

    users: Rows
    items: Rows

    @classmethod
    def of(cls, X: csr_array) -> Self:
        """Both sides of a matrix in rows of users."""
        return cls(Rows.of(X), Rows.of(X.T.tocsr()))

    @property
    def arrays(self) -> tuple[Any, ...]:
        """Both patterns, and both values, as kernels take them: what is None must be an argument of its own."""
        (ptr, items, values), (i_ptr, users, i_values) = self
        return (ptr, items), (i_ptr, users), values, i_values

    @property
    def shape(self) -> tuple[int, int]:
        """Number of users and of items."""
        return len(self.users), len(self.items)

    @property
    def nnz(self) -> int:
        """How many pairs there are."""
        return len(self.users.indices)


def unsigned(indices: NDArray[Any]) -> NDArray[Any]:
    """Indices as unsigned numbers, not copied: compiled loops then need not ask whether one counts from the end."""
    return indices.view(np.dtype(f"u{indices.dtype.itemsize}"))
