"""A X on a sparse support with A = Pᵀ Φ P kept whole: for few items that nearly all co-occur.

Each row of the support is a small system of its own: Σ_l A_il X_lj is needed at i and l among the partners of j, so
a step costs Σ_j |partners of j|² reads, however many users there are. Rows with very many partners go through matrix
products instead.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.compiled import njit
from corml.linalg.support import Support, unsigned
from corml.parallel import blas, over_rows

__all__ = ["ThroughGram"]

LONG = 10  # rows with more than a tenth of all items are faster as matrix products
BAND = 256  # such rows at a time

Values = NDArray[np.float32]


class ThroughGram:
    """X ↦ A X on a support, for a symmetric n × n array A; stands in for `Normal`."""

    def __init__(self, A: NDArray[np.float32], support: Support) -> None:
        self.A, self.support = A, support
        long = np.diff(support.indptr) > support.items // LONG
        self.long, self.short = np.flatnonzero(long), np.flatnonzero(~long)

    def one_way(self, x: Values) -> Values:
        """A X, as the only row of an array."""
        one_way, s = np.empty_like(x), self.support

        def work(a: int, b: int) -> None:
            _gathered(self.A, s.indptr, unsigned(s.indices), x, one_way, self.short, a, b)

        over_rows(work, len(self.short), smallest=16)
        for start in range(0, len(self.long), BAND):
            self._band(x, self.long[start : start + BAND], one_way)
        return one_way[None]

    def diagonal(self) -> NDArray[np.float64]:
        """diag(A)."""
        return np.diag(self.A).astype(np.float64)

    def _band(self, x: Values, rows: NDArray[Any], out: Values) -> None:
        ptr, columns = self.support.indptr, self.support.indices
        X = np.zeros((len(rows), self.support.items), dtype=np.float32)
        for position, row in enumerate(rows):
            X[position, columns[ptr[row] : ptr[row + 1]]] = x[ptr[row] : ptr[row + 1]]
        with blas(size=self.support.items):
            product = X @ self.A
        for position, row in enumerate(rows):
            out[ptr[row] : ptr[row + 1]] = product[position, columns[ptr[row] : ptr[row + 1]]]


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
