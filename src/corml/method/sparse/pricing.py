"""Pairs that met but were not candidates, and what they would gain from a weight.

At zero a pair gains if its slope (MH + HM − B − Bᵀ)_ij is negative. All of them are looked at, item by item, and only
those that gain most are kept: memory does not grow with their number. For a clipped filter, whose part of B cannot be
had pair by pair, that part is left out; it only makes slopes larger, so what is reported is then an upper bound.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.linalg.support import unsigned
from corml.method.sparse.cross_term import Factors
from corml.parallel import over_rows

__all__ = ["LeftOut", "Wanted", "look"]

EVERY = 16  # of so many items one is looked at in full, to tell how many pairs gain; others only for the largest gains

Vector = NDArray[np.float64]
Items = NDArray[np.int32]


@dataclass(frozen=True)
class Wanted:
    """Which of them to bring in: those that gain most, above `gain`, so many for each item and in all."""

    gain: float
    most: int
    in_all: int


@dataclass(frozen=True)
class LeftOut:
    """What the pairs outside the candidates would gain; sizes are in the solver's scaled variables."""

    pairs: int
    gaining: int  # told from one item in sixteen
    worst: float  # the largest gain of a single pair
    norm: float  # of all gains together
    first: Items = field(default_factory=lambda: np.zeros(0, np.int32), repr=False)  # the pairs wanted
    second: Items = field(default_factory=lambda: np.zeros(0, np.int32), repr=False)

    def report(self) -> dict[str, Any]:
        """Plain numbers for a model file or a table."""
        return {"left out": self.pairs, "of these gaining": self.gaining, "worst gain": self.worst}


def look(
    R: csr_array, H: csr_array, p: Vector, loss: Vector, ranking: Vector, curvature: Vector, factors: Factors,
    *, mix: float, scale: float, filter_weight: float, wanted: Wanted,
) -> LeftOut:  # fmt: skip
    """Look at every pair that met and that H has no place for (H keeps explicit zeros for candidates)."""
    by_item, n = R.T.tocsr(), R.shape[1]
    numbers = tuple(x.astype(np.float32) for x in (p, loss, loss * ranking, curvature))
    constants = np.array([1 / mix, scale, scale * filter_weight, wanted.gain, EVERY], dtype=np.float32)
    found, kept = np.zeros((n, 4)), []
    users, items = (R.indptr, unsigned(R.indices)), (by_item.indptr, unsigned(by_item.indices))
    weights = H.indptr, unsigned(H.indices), H.data
    parts = np.hstack([factors.left, factors.right]), factors.own

    def work(a: int, b: int) -> None:
        partners, gains = np.full((b - a, wanted.most), -1, np.int32), np.zeros((b - a, wanted.most), np.float32)
        _look(users, items, weights, numbers, parts, constants, found, partners, gains, a, b)
        rows, places = np.nonzero(partners >= 0)
        kept.append((a, (rows + a).astype(np.int32), partners[rows, places], gains[rows, places]))

    over_rows(work, n)
    pairs, (seen, gaining, _, squares) = found[:, 0].sum(), found[::EVERY].sum(axis=0)
    share = pairs / max(seen, 1)
    kept.sort(key=lambda part: part[0])
    first, second, gain = (np.concatenate([part[which] for part in kept]) for which in (1, 2, 3))
    best = _largest(gain, wanted.in_all)
    worst = float(found[:, 2].max(initial=0.0))
    return LeftOut(int(pairs), int(share * gaining), worst, float(np.sqrt(share * squares)), first[best], second[best])


def _largest(values: NDArray[np.float32], most: int) -> NDArray[np.int64]:
    """Where the largest values stand, in order of place."""
    if len(values) <= most:
        return np.arange(len(values))
    return np.sort(np.argpartition(values, len(values) - most)[len(values) - most :]) if most else np.arange(0)


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _look(by_rows, by_columns, weights, numbers, factors, constants, found, partners, gains, start, stop):  # type: ignore[no-untyped-def]
    (ptr, cols), (u_ptr, users), (h_ptr, h_cols, h) = by_rows, by_columns, weights
    (p, loss, both, curvature), (left_right, own) = numbers, factors
    n, rank = len(p), left_right.shape[1] // 2
    counts, met, mark = np.zeros(n, np.float32), np.zeros(n, np.float32), np.zeros(n, np.int8)
    heard, order, right_left = np.zeros(len(loss), np.float32), np.empty(n, np.uint32), np.empty(2 * rank, np.float32)
    best, every = np.float32(0), int(constants[4])
    for j in range(start, stop):
        size, whole = 0, j % every == 0
        for at in range(np.uint64(u_ptr[j]), np.uint64(u_ptr[j + 1])):  # counts = (RᵀΩR)_j·, met = (RᵀΩΦR D^{-t})_j·
            user = users[at]
            for place in range(np.uint64(ptr[user]), np.uint64(ptr[user + 1])):
                i = cols[place]
                if mark[i] == 0:
                    mark[i] = 1
                    order[size] = i
                    size += 1
                counts[i] += loss[user]
                met[i] += both[user] * p[i]
        for place in range(np.uint64(h_ptr[j]), np.uint64(h_ptr[j + 1])):  # heard = Φ P H_j
            i = h_cols[place]
            mark[i] = 2
            weight = p[i] * h[place]
            if weight != 0:
                for at in range(np.uint64(u_ptr[i]), np.uint64(u_ptr[i + 1])):
                    heard[users[at]] += weight * both[users[at]]
        right_left[:rank] = left_right[j, rank:]
        right_left[rank:] = left_right[j, :rank]
        for step in range(size):
            i = order[step]
            if mark[i] == 2 or i <= j:
                continue
            found[j, 0] += 1
            one_way, back, cross = np.float32(0), np.float32(0), np.float32(0)
            mine = left_right[i]
            for k in range(2 * rank):
                cross += mine[k] * right_left[k]
            if rank:
                cross -= met[i] / p[i] * (own[i] + own[j])
            pull = p[i] * p[j] * (constants[0] * counts[i] - constants[2] * cross)
            root = np.sqrt(curvature[i] + curvature[j])
            if not whole and pull <= min(best, constants[3]) * root:  # H and A are not negative: it gains no more
                continue
            for at in range(np.uint64(u_ptr[i]), np.uint64(u_ptr[i + 1])):
                one_way += heard[users[at]]
            for place in range(np.uint64(h_ptr[i]), np.uint64(h_ptr[i + 1])):
                back += h[place] * met[h_cols[place]]
            slope = constants[1] * (p[i] * one_way + p[j] * back) - pull
            if slope < 0:
                gain = -slope / root
                best = max(best, gain)
                found[j, 1] += 1
                found[j, 2] = max(found[j, 2], gain)
                found[j, 3] += gain * gain
                if gain > constants[3]:
                    _keep(partners[j - start], gains[j - start], i, gain)
        for place in range(np.uint64(h_ptr[j]), np.uint64(h_ptr[j + 1])):
            i = h_cols[place]
            mark[i] = 0
            if h[place] != 0:
                for at in range(np.uint64(u_ptr[i]), np.uint64(u_ptr[i + 1])):
                    heard[users[at]] = 0
        for step in range(size):
            mark[order[step]] = 0
            counts[order[step]] = 0
            met[order[step]] = 0


@njit(cache=True, nogil=True)
def _keep(partners, gains, item, gain):  # type: ignore[no-untyped-def]
    """Put an item in the place of the one that gains least, if it gains more."""
    if len(gains) == 0:
        return
    least = 0
    for place in range(len(gains)):
        if gains[place] < gains[least]:
            least = place
        if gains[least] == 0:
            break
    if gain > gains[least]:
        gains[least] = gain
        partners[least] = item
