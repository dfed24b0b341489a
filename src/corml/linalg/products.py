"""Sparse rows times a matrix, added onto a dense block; rows are shared out over threads."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.compiled import njit
from corml._runtime.parallel import over_rows

__all__ = ["add_dense_product", "add_sparse_product"]


def add_dense_product(X: csr_array, D: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    """`out += X @ D` for sparse X and dense D."""

    def work(a: int, b: int) -> None:
        _add_dense(X.indptr, X.indices, X.data, D, out, a, b)

    over_rows(work, X.shape[0], smallest=4)


def add_sparse_product(X: csr_array, S: csr_array, out: NDArray[np.float32], *, noise: float = 0) -> None:
    """`out += X @ S` for sparse X and S, without a sparse result in between; sums below `noise` become 0."""

    def work(a: int, b: int) -> None:
        _add_sparse(X.indptr, X.indices, X.data, S.indptr, S.indices, S.data, out, np.float32(noise), a, b)

    over_rows(work, X.shape[0], smallest=16)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_dense(ptr, cols, data, D, out, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        target = out[row]
        for at in range(ptr[row], ptr[row + 1]):
            weight = data[at]
            source = D[cols[at]]
            for c in range(len(target)):
                target[c] += weight * source[c]


@njit(cache=True, nogil=True)
def _add_sparse(ptr, cols, data, s_ptr, s_cols, s_data, out, noise, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        target = out[row]
        for at in range(ptr[row], ptr[row + 1]):
            weight, low, high = data[at], s_ptr[cols[at]], s_ptr[cols[at] + 1]
            columns, values = s_cols[low:high], s_data[low:high]
            for c in range(len(columns)):
                target[np.uintp(columns[c])] += weight * values[c]  # unsigned: no test for a negative index
        if noise > 0:  # now, while the row is near the processor
            for c in range(len(target)):
                if abs(target[c]) < noise:
                    target[c] = 0
