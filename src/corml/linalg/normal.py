"""Pᵀ Φ P X on a sparse support, through the users: the one costly step of the sparse solver.

For each user the row w = p_u X is computed once and then read where the support needs it, so a step costs
2 Σ_i d_i |support of i| instead of a product with the n × n matrix PᵀΦP.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.compiled import njit
from corml.linalg.scaling import values_unless_ones
from corml.linalg.support import Support, unsigned
from corml.parallel import threads

__all__ = ["Normal"]

ALL_AT_ONCE = np.uint64(8)  # as many numbers in a row are cleared in the time of one here and there


class Normal:
    """X ↦ Pᵀ Φ P X on a support, for P = R diag(p).

    Users are divided among threads once, by their work; each thread adds into its own array and the arrays are summed
    in order, so results are equal from run to run and, over different numbers of threads, up to rounding.
    """

    def __init__(self, R: csr_array, p: NDArray[Any], user_weights: NDArray[Any], support: Support) -> None:
        self.R, self.support, self.values = R, support, values_unless_ones(R)
        self.p, self.weights = p.astype(np.float32), user_weights.astype(np.float32)
        self.edges = _shares(R, support, threads())
        self.parts = np.empty((len(self.edges) - 1, len(support)), dtype=np.float32)

    def one_way(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """Pᵀ Φ P X as rows that are to be summed, one of each thread; overwritten by the next call."""
        _in_threads(lambda part: self._add(x, part), len(self.parts))
        return self.parts

    def diagonal(self) -> NDArray[np.float64]:
        """diag(Pᵀ Φ P)."""
        weights = np.repeat(self.weights.astype(np.float64), np.diff(self.R.indptr))
        if self.values is not None:
            weights *= self.values.astype(np.float64) ** 2
        sums = np.bincount(self.R.indices, weights=weights, minlength=len(self.p))
        return np.asarray(sums * self.p.astype(np.float64) ** 2)

    def _add(self, x: NDArray[np.float32], part: int) -> None:
        R, s, out = self.R, self.support, self.parts[part]
        out[:] = 0
        row = np.zeros(len(self.p), dtype=np.float32)
        users = self.edges[part], self.edges[part + 1]
        rows, pairs = (R.indptr, unsigned(R.indices), self.values), (s.indptr, unsigned(s.indices))
        _through_users(*rows, self.p, self.weights, *pairs, x, out, row, *users)


def _shares(R: csr_array, support: Support, parts: int) -> list[int]:
    """Consecutive ranges of users with about equal work."""
    per_entry = np.diff(support.indptr)[R.indices].astype(np.float64) + 1
    work = np.concatenate([[0.0], np.cumsum(per_entry)])[R.indptr]
    return [int(np.searchsorted(work, work[-1] * part / parts)) for part in range(parts)] + [R.shape[0]]


def _in_threads(work: Callable[[int], None], parts: int) -> None:
    with ThreadPoolExecutor(parts) as pool:
        for done in [pool.submit(work, part) for part in range(parts)]:
            done.result()


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def _through_users(ptr, cols, data, p, weights, s_ptr, s_cols, x, out, row, start, stop):  # type: ignore[no-untyped-def]
    for user in range(start, stop):
        first, last = np.uint64(ptr[user]), np.uint64(ptr[user + 1])
        if first == last:
            continue
        touched = np.uint64(0)
        for at in range(first, last):
            item = cols[at]
            weight = p[item]
            if data is not None:
                weight *= data[at]
            touched += np.uint64(s_ptr[item + 1]) - np.uint64(s_ptr[item])
            for entry in range(np.uint64(s_ptr[item]), np.uint64(s_ptr[item + 1])):
                row[s_cols[entry]] += weight * x[entry]
        for at in range(first, last):
            item = cols[at]
            weight = p[item] * weights[user]
            if data is not None:
                weight *= data[at]
            for entry in range(np.uint64(s_ptr[item]), np.uint64(s_ptr[item + 1])):
                out[entry] += weight * row[s_cols[entry]]
        if touched * ALL_AT_ONCE >= len(row):
            row[:] = 0
            continue
        for at in range(first, last):  # a short history in a large catalogue leaves most of the row as it was
            item = cols[at]
            for entry in range(np.uint64(s_ptr[item]), np.uint64(s_ptr[item + 1])):
                row[s_cols[entry]] = 0
