"""A X on a sparse support for small catalogues, where arrays of items × items fit: A = Pᵀ Φ P, in two ways.

`DenseRows` is for a catalogue of which a good part co-occurs. With X spread over an n × n array, each interaction adds
a whole row of n numbers that stand together, which takes less time than a third as many numbers here and there.

`ThroughGram` keeps A whole, for few items that nearly all co-occur. Each row of the support is a small system of its
own: Σ_l A_il X_lj is needed at i and l among the partners of j, so a step costs Σ_j |partners of j|² reads, however
many users there are. Rows with very many partners go through matrix products instead.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.compiled import njit
from corml._runtime.parallel import blas, over_rows
from corml.linalg.products import add_dense_product
from corml.linalg.scaling import narrow, scaled
from corml.linalg.support import Support, unsigned

__all__ = ["WORTH", "DenseRows", "ThroughGram", "dense_rows_pay"]

WORTH = 4  # numbers for each pair that the dense rows may take: no more memory than `Normal` with two threads
LONG = 10  # rows with more than a tenth of all items are faster as matrix products
BAND = 256  # such rows at a time

Vector = NDArray[np.float64]
Values = NDArray[np.float32]


def dense_rows_pay(R: csr_array, support: Support) -> bool:
    """Whether pairs are dense enough."""
    return bool(R.shape[1] * sum(R.shape) <= WORTH * len(support))


class DenseRows:
    """X ↦ Pᵀ Φ P X on a support, for P = R diag(p); takes the place of `Normal`."""

    def __init__(self, R: csr_array, p: Vector, user_weights: Vector, support: Support) -> None:
        self.support, self.P = support, narrow(scaled(R, columns=p))
        by_item = narrow(scaled(R, rows=user_weights, columns=p).T.tocsr())
        self.by_item = by_item.indptr, unsigned(by_item.indices), by_item.data
        self.X = np.zeros((support.items, support.items), dtype=np.float32)
        squares = csr_array((R.data**2, R.indices, R.indptr), shape=R.shape)
        self._diagonal = np.asarray(scaled(squares, rows=user_weights, columns=p**2).sum(axis=0))

    def one_way(self, x: Values) -> Values:
        """Pᵀ Φ P X, as the only row of an array."""
        pairs, of_users, out = self.support.arrays, np.zeros(self.P.shape, dtype=np.float32), np.empty_like(x)
        over_rows(lambda a, b: _spread(*pairs, x, self.X, a, b), self.support.items)
        add_dense_product(self.P, self.X, of_users)
        over_rows(lambda a, b: _read(pairs, self.by_item, of_users, out, a, b), self.support.items)
        return out[None]

    def diagonal(self) -> Vector:
        """diag(Pᵀ Φ P)."""
        return self._diagonal


class ThroughGram:
    """X ↦ A X on a support, for a symmetric n × n array A; takes the place of `Normal`."""

    def __init__(self, A: NDArray[np.float32], support: Support) -> None:
        self.A, self.support = A, support
        long = np.diff(support.indptr) > support.items // LONG
        self.long, self.short = np.flatnonzero(long), np.flatnonzero(~long)

    def one_way(self, x: Values) -> Values:
        """A X, as the only row of an array."""
        out, (ptr, columns) = np.empty_like(x), self.support.arrays

        def work(a: int, b: int) -> None:
            _gathered(self.A, ptr, columns, x, out, self.short, a, b)

        over_rows(work, len(self.short), smallest=16)
        for start in range(0, len(self.long), BAND):
            rows = self.long[start : start + BAND]
            X = np.zeros((len(rows), self.support.items), dtype=np.float32)
            for position, row in enumerate(rows):
                X[position, columns[ptr[row] : ptr[row + 1]]] = x[ptr[row] : ptr[row + 1]]
            with blas(size=self.support.items):
                product = X @ self.A
            for position, row in enumerate(rows):
                out[ptr[row] : ptr[row + 1]] = product[position, columns[ptr[row] : ptr[row + 1]]]
        return out[None]

    def diagonal(self) -> Vector:
        """diag(A)."""
        return np.diag(self.A).astype(np.float64)


@njit(cache=True, nogil=True)
def _spread(ptr, cols, x, X, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        for pair in range(np.uint64(ptr[row]), np.uint64(ptr[row + 1])):
            X[row, cols[pair]] = x[pair]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _read(pairs, by_item, of_users, out, start, stop):  # type: ignore[no-untyped-def]
    (ptr, cols), (i_ptr, i_users, weights) = pairs, by_item
    total = np.empty(of_users.shape[1], np.float32)
    for row in range(start, stop):
        for column in range(len(total)):
            total[column] = 0
        for at in range(np.uint64(i_ptr[row]), np.uint64(i_ptr[row + 1])):
            weight, source = weights[at], of_users[i_users[at]]
            for column in range(len(total)):
                total[column] += weight * source[column]
        for pair in range(np.uint64(ptr[row]), np.uint64(ptr[row + 1])):
            out[pair] = total[cols[pair]]


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _gathered(A, ptr, cols, x, out, rows, start, stop):  # type: ignore[no-untyped-def]
    columns, values = np.empty(A.shape[0], np.uint32), np.empty(A.shape[0], np.float32)
    for number in range(start, stop):
        low, high = np.uint64(ptr[rows[number]]), np.uint64(ptr[rows[number] + 1])
        size = np.uint64(0)
        for entry in range(low, high):  # most pairs are at zero and stay there: only the others are multiplied
            if x[entry] != 0:
                columns[size], values[size] = cols[entry], x[entry]
                size += np.uint64(1)
        for entry in range(low, high):
            line = A[cols[entry]]
            total = np.float32(0)
            for other in range(size):
                total += line[columns[other]] * values[other]
            out[entry] = total
