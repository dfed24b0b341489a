"""A small ridge regression for each item, on a few others: for catalogues whose Gram matrix does not fit.

The Gram matrix of an item's candidates is added up through their users.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs
from scipy.sparse import csr_array

from corml._runtime.compiled import njit
from corml._runtime.parallel import each
from corml.errors import NumericalError
from corml.linalg.scaling import column_squares, values_unless_ones

__all__ = ["local_ridge"]

BAND = 256  # items a thread takes at a time


def local_ridge(X: csr_array, candidates: csr_array, l2: float, *, progress: Callable[[int], None]) -> csr_array:
    """Row j: the w on the candidates of j with the smallest ‖x_j − X w‖² + l2·‖w‖².

    Row j of `candidates` names the columns and holds X_Cᵀ x_j; `progress` is called with the number of rows
    that are done.
    """
    by_items, squares = X.T.tocsr(), column_squares(X).astype(np.float32)
    rows = by_items.indptr, by_items.indices, values_unless_ones(by_items)
    weights, (ptr, chosen) = candidates.data.copy(), (candidates.indptr, candidates.indices)
    (posv,) = get_lapack_funcs(("posv",), (weights,))

    def work(number: int) -> int:
        newest = np.full(X.shape[0], -1, dtype=np.int64)
        start, stop = number * BAND, min((number + 1) * BAND, candidates.shape[0])
        for row in range(start, stop):
            here = slice(ptr[row], ptr[row + 1])
            A = _gram(*rows, chosen[here], squares, np.float32(l2), newest)
            weights[here] = _solved(posv, A, weights[here])
        return int(stop)

    for done in each(work, -(-candidates.shape[0] // BAND)):
        progress(done)
    W = csr_array((weights, chosen, ptr), shape=candidates.shape)
    W.has_sorted_indices = candidates.has_sorted_indices
    return W


def _solved(posv: Callable[..., Any], A: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    """A⁻¹b by Cholesky, of which only the lower triangle of A is read."""
    if len(b) == 0:
        return b
    _, x, info = posv(A.T, b, lower=0, overwrite_a=1)  # LAPACK wants columns together: the upper one of the transpose
    if info:
        raise NumericalError("The candidates of an item are not independent in single precision: raise `l2`.")
    return np.asarray(x)


@njit(cache=True, nogil=True)
def _gram(i_ptr, i_users, data, items, squares, l2, newest):  # type: ignore[no-untyped-def]
    """Lower triangle of X_Cᵀ X_C + l2·I for some items.

    Each user has a linked list of the items seen so far, the newest first: a new item shares the user with each of
    them. `newest` is −1 for all users before and after.
    """
    total = 0
    for item in items:
        total += i_ptr[item + 1] - i_ptr[item]
    A = np.zeros((len(items), len(items)), np.float32)
    seen, before = np.empty(total, np.int32), np.empty(total, np.int64)
    value, entry = np.empty(0 if data is None else total, np.float32), 0
    for position in range(len(items)):
        item, line = items[position], A[position]
        for at in range(i_ptr[item], i_ptr[item + 1]):
            user = i_users[at]
            older = newest[user]
            seen[entry], before[entry], newest[user] = position, older, entry
            if data is not None:
                value[entry] = data[at]
            entry += 1
            while older >= 0:
                if data is None:
                    line[seen[older]] += 1
                else:
                    line[seen[older]] += data[at] * value[older]
                older = before[older]
        line[position] = squares[item] + l2
    for item in items:
        for at in range(i_ptr[item], i_ptr[item + 1]):
            newest[i_users[at]] = -1
    return A
