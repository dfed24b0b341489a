"""How close two items are, from numbers that are at hand anyway: an array of items × items never exists."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.compiled import inner, njit
from corml.linalg.scaling import power, scaled
from corml.parallel import over_rows

__all__ = ["Closeness", "close"]

Array = NDArray[Any]
NO_PAIRS = csr_array((1, 1), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Closeness:
    """Closeness of items i and j:  a_i S_ij + w_i·w_j,  higher is closer; a part that is not given is 0.

    `pairs` is S, items × items and sparse, with the factors a by row; `profiles` are sparse rows w. Columns are sorted.
    """

    by_row: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, dtype=np.float32))
    pairs: csr_array = field(default_factory=lambda: NO_PAIRS)
    profiles: csr_array = field(default_factory=lambda: NO_PAIRS)

    @classmethod
    def by_users(cls, train: csr_array) -> Self:
        """Cosine of the users of two items: |U_i ∩ U_j| / √(|U_i| |U_j|); `train` is a pattern of users × items."""
        by_item = csr_array((np.ones(train.nnz), train.indices, train.indptr), shape=train.shape).T.tocsr()
        by_item.sort_indices()
        lengths = power(np.maximum(np.diff(by_item.indptr), 1), -0.5)
        return cls(profiles=scaled(by_item, rows=lengths).astype(np.float32))

    def between(self, left: Array, right: Array) -> NDArray[np.float64]:
        """Closeness of each item on the left with the one beside it on the right."""
        values, arrays = np.zeros(len(left)), self.arrays()
        one, other = (np.ascontiguousarray(side, dtype=np.int64) for side in (left, right))
        over_rows(lambda a, b: _between(one, other, *arrays, values, a, b), len(values))
        return values

    def arrays(self) -> tuple[Any, ...]:
        """What kernels take for it, after the numbers of two items."""
        return self.by_row, *_parts(self.pairs), *_parts(self.profiles)


def _parts(matrix: csr_array) -> tuple[Array, Array, Array]:
    return matrix.indptr, matrix.indices, matrix.data


@inner()
def close(i, j, by_row, s_ptr, s_cols, s_data, w_ptr, w_cols, w_data):  # type: ignore[no-untyped-def]
    """Closeness of two items, added up in double precision."""
    total = 0.0
    if len(by_row):
        at = _place(s_cols, np.int64(s_ptr[i]), np.int64(s_ptr[i + 1]), j)
        if at >= 0:
            total += np.float64(by_row[i]) * np.float64(s_data[at])
    if len(w_data):
        total += _sparse_product(i, j, w_ptr, w_cols, w_data)
    return total


@inner()
def _sparse_product(i, j, ptr, cols, data):  # type: ignore[no-untyped-def]
    """The shorter row is read, the longer one searched: each search begins where the last one ended."""
    if ptr[i + 1] - ptr[i] > ptr[j + 1] - ptr[j]:
        i, j = j, i
    product, low, high = 0.0, np.int64(ptr[j]), np.int64(ptr[j + 1])
    for at in range(ptr[i], ptr[i + 1]):
        low = _first_from(cols, low, high, cols[at])
        if low == high:
            break
        if cols[low] == cols[at]:
            product += np.float64(data[at]) * np.float64(data[low])
    return product


@inner()
def _place(cols, low, high, wanted):  # type: ignore[no-untyped-def]
    """Where in sorted columns one stands; −1 if it does not."""
    at = _first_from(cols, low, high, wanted)
    return at if at < high and cols[at] == wanted else -1


@inner()
def _first_from(cols, low, high, least):  # type: ignore[no-untyped-def]
    """Where in sorted columns the first stands that is not below `least`."""
    while low < high:
        middle = (low + high) // 2
        if cols[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _between(left, right, by_row, s_ptr, s_cols, s_data, w_ptr, w_cols, w_data, values, start, stop):  # type: ignore[no-untyped-def]
    for at in range(start, stop):
        values[at] = close(left[at], right[at], by_row, s_ptr, s_cols, s_data, w_ptr, w_cols, w_data)
