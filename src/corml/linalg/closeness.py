"""Closeness of two items, from arrays that a model has anyway: a matrix of items × items never exists."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from corml._runtime.compiled import inner, njit
from corml._runtime.parallel import over_rows
from corml.linalg.sparse import Array, Values, Vector, power, scaled
from corml.linalg.topk import first_from

NO_PAIRS = csr_array((1, 1), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Closeness:
    """Closeness of items i and j:  a_i S_ij + w_i·w_j,  higher is closer; a term that is not given is 0.

    `pairs` is S, sparse items × items, with the factors a by row; `profiles` are sparse rows w. Columns are sorted.
    """

    by_row: Values = field(default_factory=lambda: np.zeros(0, dtype=np.float32))
    pairs: csr_array = field(default_factory=lambda: NO_PAIRS)
    profiles: csr_array = field(default_factory=lambda: NO_PAIRS)

    @classmethod
    def by_users(cls, train: csr_array) -> Self:
        """Cosine of the users of two items: |U_i ∩ U_j| / √(|U_i| |U_j|); `train` is a pattern of users × items."""
        by_item = csr_array((np.ones(train.nnz), train.indices, train.indptr), shape=train.shape).T.tocsr()
        by_item.sort_indices()
        lengths = power(np.maximum(np.diff(by_item.indptr), 1), -0.5)
        return cls(profiles=scaled(by_item, rows=lengths).astype(np.float32))

    def between(self, left: Array, right: Array) -> Vector:
        """Closeness of each item on the left to its counterpart on the right."""
        values, arrays = np.zeros(len(left)), self.arrays()
        one, other = (np.ascontiguousarray(side, dtype=np.int64) for side in (left, right))
        over_rows(lambda a, b: _between(one, other, arrays, values, a, b), len(values))
        return values

    def arrays(self) -> tuple[Any, ...]:
        """The arguments of kernels: the factors a, S, and w."""
        return self.by_row, *((one.indptr, one.indices, one.data) for one in (self.pairs, self.profiles))


@inner()
def close(i, j, closeness):  # type: ignore[no-untyped-def]
    """Closeness of two items, added up in double precision."""
    by_row, (s_ptr, s_cols, s_data), (w_ptr, w_cols, w_data) = closeness
    total = 0.0
    if len(by_row):
        end = np.int64(s_ptr[i + 1])
        at = first_from(s_cols, np.int64(s_ptr[i]), end, j)
        if at < end and s_cols[at] == j:
            total += np.float64(by_row[i]) * np.float64(s_data[at])
    if len(w_data):
        total += _sparse_product(i, j, w_ptr, w_cols, w_data)
    return total


@inner()
def _sparse_product(i, j, ptr, cols, data):  # type: ignore[no-untyped-def]
    """w_i·w_j: the shorter row is read, and the longer one searched from where the last search ended."""
    if ptr[i + 1] - ptr[i] > ptr[j + 1] - ptr[j]:
        i, j = j, i
    product, low, high = 0.0, np.int64(ptr[j]), np.int64(ptr[j + 1])
    for at in range(ptr[i], ptr[i + 1]):
        low = first_from(cols, low, high, cols[at])
        if low == high:
            break
        if cols[low] == cols[at]:
            product += np.float64(data[at]) * np.float64(data[low])
    return product


@njit(cache=True, nogil=True)
def _between(left, right, closeness, values, start, stop):  # type: ignore[no-untyped-def]
    for at in range(start, stop):
        values[at] = close(left[at], right[at], closeness)
