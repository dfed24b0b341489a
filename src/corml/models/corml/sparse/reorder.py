"""Users and items in another order while H is learned: those with the same interests stand together.

Nothing that is learned depends on the order. But what one user reads is then in the cache for the next, so that a step
of the solver takes 40 % less time with 100,000 items.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.linalg.scaling import column_degrees, power

__all__ = ["Reordered"]

ROWS = 4096  # compared at a time
FEW = 50_000  # interactions that are not worth reordering

Order = NDArray[np.int64]


@dataclass(frozen=True)
class Reordered:
    """Interactions with users and items permuted, and the numbers the items had before."""

    X: csr_array
    items: Order

    @classmethod
    def of(cls, X: csr_array, V: NDArray[Any]) -> Self:
        """Order both by their two largest coordinates in V; the first direction is popularity, the same for all.

        Few data stay as they are: they fit in the cache in any order.
        """
        if cls.is_needless(X):
            return cls(X, np.arange(X.shape[1]))
        weighted = power(column_degrees(X), -0.5).astype(np.float32)[:, None] * V[:, 1:]
        users = _by_direction(lambda part: X[part] @ weighted, X.shape[0])
        items = _by_direction(lambda part: V[part, 1:], X.shape[1])
        permuted = csr_array(X[users][:, items])
        permuted.sort_indices()
        return cls(permuted, items)

    @staticmethod
    def is_needless(X: csr_array) -> bool:
        """Whether data stay as they are."""
        return int(X.nnz) <= FEW

    def permute(self, values: NDArray[Any]) -> NDArray[Any]:
        """One value, or row, for each item, in the new order."""
        return np.asarray(values[self.items])

    def unpermute(self, values: NDArray[Any]) -> NDArray[Any]:
        """One value, or row, for each item, in the order they had."""
        return np.asarray(values[np.argsort(self.items)])

    def permute_matrix(self, H: csr_array) -> csr_array:
        """An items × items matrix in the new order."""
        return _reindexed(H, self.items)

    def unpermute_matrix(self, H: csr_array) -> csr_array:
        """An items × items matrix in the order they had."""
        return _reindexed(H, np.argsort(self.items))


def _reindexed(H: csr_array, order: Order) -> csr_array:
    if (np.diff(order) > 0).all():
        return H
    permuted = csr_array(H[order][:, order])
    permuted.sort_indices()
    return permuted


def _by_direction(rows: Callable[[slice], NDArray[Any]], count: int) -> Order:
    """An order in which rows with the same two largest coordinates stand together; `rows` gives a range of them."""
    first, second = np.zeros(count, dtype=np.int32), np.zeros(count, dtype=np.int32)
    for start in range(0, count, ROWS):
        part = slice(start, min(start + ROWS, count))
        coordinates = rows(part)
        if coordinates.shape[1] == 0:
            break
        size = np.abs(coordinates)
        for directions in (first, second):
            largest = size.argmax(axis=1)[:, None]
            directions[part] = (2 * largest + (np.take_along_axis(coordinates, largest, 1) > 0))[:, 0]
            np.put_along_axis(size, largest, -1, 1)
    return np.lexsort((second, first))
