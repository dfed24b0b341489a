"""Pᵀ Φ P X on a sparse support by way of dense rows: for a small catalogue of which a good part co-occurs.

With X spread over an n × n array, each interaction adds a whole row of n numbers that stand together, which takes less
time than a third as many numbers here and there.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.compiled import njit
from corml.linalg.products import add_dense_product
from corml.linalg.scaling import narrow, scaled
from corml.linalg.support import Support, unsigned
from corml.parallel import over_rows

__all__ = ["DenseRows", "pays"]

WORTH = 4  # numbers for each pair that the dense rows may take: no more memory than `Normal` with two threads

Vector = NDArray[np.float64]
Values = NDArray[np.float32]


def pays(R: csr_array, support: Support) -> bool:
    """Whether pairs are dense enough."""
    return bool(R.shape[1] * sum(R.shape) <= WORTH * len(support))


class DenseRows:
    """X ↦ Pᵀ Φ P X on a support, for P = R diag(p); stands in for `Normal`."""

    def __init__(self, R: csr_array, p: Vector, user_weights: Vector, support: Support) -> None:
        self.support, self.P = support, narrow(scaled(R, columns=p))
        self.by_item = narrow(scaled(R, rows=user_weights, columns=p).T.tocsr())
        self.X = np.zeros((support.items, support.items), dtype=np.float32)
        squares = csr_array((R.data**2, R.indices, R.indptr), shape=R.shape)
        self._diagonal = np.asarray(scaled(squares, rows=user_weights, columns=p**2).sum(axis=0))

    def one_way(self, x: Values) -> Values:
        """Pᵀ Φ P X, as the only row of an array."""
        s, of_users, out = self.support, np.zeros(self.P.shape, dtype=np.float32), np.empty_like(x)
        pairs = s.indptr, unsigned(s.indices)
        over_rows(lambda a, b: _spread(*pairs, x, self.X, a, b), s.items)
        add_dense_product(self.P, self.X, of_users)
        by_item = self.by_item.indptr, unsigned(self.by_item.indices), self.by_item.data
        over_rows(lambda a, b: _read(*pairs, *by_item, of_users, out, a, b), s.items)
        return out[None]

    def diagonal(self) -> Vector:
        """diag(Pᵀ Φ P)."""
        return self._diagonal


@njit(cache=True, nogil=True)
def _spread(ptr, cols, x, X, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        for pair in range(np.uint64(ptr[row]), np.uint64(ptr[row + 1])):
            X[row, cols[pair]] = x[pair]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _read(ptr, cols, i_ptr, i_users, weights, of_users, out, start, stop):  # type: ignore[no-untyped-def]
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
