"""Pᵀ Φ P X on a sparse support, through the users: the one costly step of the sparse solver.

For each user the row w = p_u X is computed once and then read where the support needs it, so a step costs
2 Σ_i d_i |support of i| instead of a product with the n × n matrix PᵀΦP.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.compiled import njit
from corml.linalg.scaling import values_unless_ones
from corml.linalg.sides import Rows
from corml.linalg.support import Support, unsigned
from corml.parallel import each, threads

__all__ = ["RANGES", "Normal", "through_users"]

RANGES = 8  # of users: the same for any number of threads, and as many of these can work
ALL_AT_ONCE = np.uint64(8)  # as many numbers in a row are cleared in the time of one here and there

Values = NDArray[np.float32]


class Normal:
    """X ↦ Pᵀ Φ P X on a support, for P = R diag(p).

    Users are divided into ranges once, by their work. The sums of the ranges are added in order, so results are equal
    from run to run and for any number of threads, to the last bit; each thread has one array to work in.
    """

    def __init__(self, R: csr_array, p: NDArray[Any], user_weights: NDArray[Any], support: Support) -> None:
        self.R, self.support, self.values = R, support, values_unless_ones(R)
        self.p, self.weights = p.astype(np.float32), user_weights.astype(np.float32)
        self.edges = _shares(R, support)
        self.total = np.empty(len(support), dtype=np.float32)
        self.parts = np.empty((min(threads(), RANGES), len(support)), dtype=np.float32)

    def one_way(self, x: Values) -> Values:
        """Pᵀ Φ P X as the only row of an array; overwritten by the next call."""
        self.total[:] = 0
        for part in each(lambda number: self._sum(x, number), RANGES, ahead=len(self.parts)):
            self.total += part
        return self.total[None]

    def diagonal(self) -> NDArray[np.float64]:
        """diag(Pᵀ Φ P)."""
        weights = np.repeat(self.weights.astype(np.float64), np.diff(self.R.indptr))
        if self.values is not None:
            weights *= self.values.astype(np.float64) ** 2
        sums = np.bincount(self.R.indices, weights=weights, minlength=len(self.p))
        return np.asarray(sums * self.p.astype(np.float64) ** 2)

    def _sum(self, x: Values, number: int) -> Values:
        """What one range of users adds, in an array whose last content is in the total already."""
        R, s = self.R, self.support
        out: Values = self.parts[number % len(self.parts)]
        out[:] = 0
        users = Rows(R.indptr, unsigned(R.indices), self.values)
        through_users(users, self.p, self.weights, s, x, out, self.edges[number], self.edges[number + 1])
        return out


def through_users(
    users: Rows, p: Values, by_user: Values, support: Support, x: Values, out: Values, start: int, stop: int
) -> None:
    """Add what the users from `start` to `stop` have of Pᵀ diag(by_user) P X for P = R diag(p), by one thread."""
    row = np.zeros(len(p), dtype=np.float32)
    pairs = support.indptr, unsigned(support.indices)
    _through_users(*users, p, by_user, *pairs, x, out, row, start, stop)


def _shares(R: csr_array, support: Support) -> list[int]:
    """Consecutive ranges of users with about equal work."""
    per_entry = np.diff(support.indptr)[R.indices].astype(np.float64) + 1
    work = np.concatenate([[0.0], np.cumsum(per_entry)])[R.indptr]
    return [int(np.searchsorted(work, work[-1] * part / RANGES)) for part in range(RANGES)] + [R.shape[0]]


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
