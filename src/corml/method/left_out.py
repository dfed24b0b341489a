"""Pairs that met but were not candidates, and what they would gain from a weight.

At zero a pair gains if its slope (MH + HM − B − Bᵀ)_ij is negative. All of them are looked at, item by item, and none
is kept: memory does not grow with their number. For a clipped filter, whose part of B cannot be had pair by pair, that
part is left out; it only makes slopes larger, so what is reported is then an upper bound.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.method.cross import Factors
from corml.parallel import over_rows

__all__ = ["LeftOut", "look"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class LeftOut:
    """What the pairs outside the candidates would gain; sizes are in the solver's scaled variables."""

    pairs: int
    gaining: int
    worst: float  # the largest gain of a single pair
    norm: float  # of all gains together

    def report(self) -> dict[str, Any]:
        """Plain numbers for a model file or a table."""
        return {"left out": self.pairs, "of these gaining": self.gaining, "worst gain": self.worst}


def look(
    R: csr_array, H: csr_array, p: Vector, loss: Vector, ranking: Vector, curvature: Vector, factors: Factors,
    *, mix: float, scale: float, filter_weight: float,
) -> LeftOut:  # fmt: skip
    """Look at every pair that met and that H has no place for (H keeps explicit zeros for candidates)."""
    by_item, n = R.T.tocsr(), R.shape[1]
    numbers = tuple(x.astype(np.float32) for x in (p, loss, loss * ranking, curvature))
    constants = np.array([1 / mix, scale, scale * filter_weight], dtype=np.float32)
    found = np.zeros((n, 4))

    by_rows, by_columns, weights = (
        (R.indptr, R.indices),
        (by_item.indptr, by_item.indices),
        (H.indptr, H.indices, H.data),
    )
    parts = factors.left, factors.right, factors.own

    def work(a: int, b: int) -> None:
        _look(by_rows, by_columns, weights, numbers, parts, constants, found, a, b)

    over_rows(work, n)
    pairs, gaining, _, squares = found.sum(axis=0)
    return LeftOut(int(pairs), int(gaining), float(found[:, 2].max(initial=0.0)), float(np.sqrt(squares)))


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _look(by_rows, by_columns, weights, numbers, factors, constants, found, start, stop):  # type: ignore[no-untyped-def]
    (ptr, cols), (u_ptr, users), (h_ptr, h_cols, h) = by_rows, by_columns, weights
    (p, loss, both, curvature), (left, right, own) = numbers, factors
    n = len(p)
    counts, met, mark = np.zeros(n, np.float32), np.zeros(n, np.float32), np.zeros(n, np.int8)
    heard, order = np.zeros(len(loss), np.float32), np.empty(n, np.int64)
    for j in range(start, stop):
        size = 0
        for at in range(u_ptr[j], u_ptr[j + 1]):  # met = A_j·, counts = (PᵀP)_j·
            user = users[at]
            for place in range(ptr[user], ptr[user + 1]):
                i = cols[place]
                if mark[i] == 0:
                    mark[i] = 1
                    order[size] = i
                    size += 1
                counts[i] += loss[user] * p[i] * p[j]
                met[i] += both[user] * p[i] * p[j]
        for place in range(h_ptr[j], h_ptr[j + 1]):  # heard = P H_j
            i = h_cols[place]
            mark[i] = 2
            weight = p[i] * h[place]
            if weight != 0:
                for at in range(u_ptr[i], u_ptr[i + 1]):
                    heard[users[at]] += weight
        for step in range(size):
            i = order[step]
            if mark[i] == 2 or i <= j:
                continue
            one_way, back = np.float32(0), np.float32(0)
            for at in range(u_ptr[i], u_ptr[i + 1]):
                one_way += both[users[at]] * heard[users[at]]
            for place in range(h_ptr[i], h_ptr[i + 1]):
                back += h[place] * met[h_cols[place]]
            cross = np.float32(0)
            for k in range(left.shape[1]):
                cross += left[i, k] * right[j, k] + left[j, k] * right[i, k]
            if left.shape[1]:
                cross -= met[i] * (own[i] + own[j])
            slope = constants[1] * (p[i] * one_way + back) - constants[0] * counts[i] + constants[2] * cross
            found[j, 0] += 1
            if slope < 0:
                gain = -slope / np.sqrt(curvature[i] + curvature[j])
                found[j, 1] += 1
                found[j, 2] = max(found[j, 2], gain)
                found[j, 3] += gain * gain
        for place in range(h_ptr[j], h_ptr[j + 1]):
            i = h_cols[place]
            mark[i] = 0
            if h[place] != 0:
                for at in range(u_ptr[i], u_ptr[i + 1]):
                    heard[users[at]] = 0
        for step in range(size):
            mark[order[step]] = 0
            counts[order[step]] = 0
            met[order[step]] = 0
