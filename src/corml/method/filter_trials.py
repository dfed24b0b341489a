"""NDCG@20 of many filters at once, on the held-out items of users.

Filters differ in how they weigh the directions of V and in how much they count beside H. Each of them only reorders the
best items of a user, so these are found twice, with a weak and a strong filter, and every filter is computed on them
alone. Where interactions have weights, a hit gains the weight of the held-out pair.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.linalg.products import add_sparse_product
from corml.linalg.scaling import power, rows_of, scaled, values_unless_ones
from corml.linalg.topk import TopK
from corml.method.hold_out import HeldOut
from corml.method.problem import Weights
from corml.parallel import blas

__all__ = ["Combination", "ndcg_of"]

DEPTH = 20  # NDCG@20 compares
PILOT, PILOT_WEIGHTS = 80, (0.4, 1.2)  # best items of a user with a weak and a strong filter: what is reordered
BAND, BAND_BYTES = 64, 1 << 26  # users at a time, and bytes of their scores

Matrix = NDArray[np.float32]
Vector = NDArray[np.float64]


class Combination(NamedTuple):
    """One filter to compare."""

    rank: int
    filter_power: float
    filter_weight: float


def ndcg_of(
    held: HeldOut,
    V: Matrix,
    sigma: Vector,
    H: csr_array,
    combinations: list[Combination],
    weights: Weights,
    d: Vector,
) -> Vector:
    """NDCG@20 of each user (rows) with each combination (columns); `d` are the degrees of items in what stayed."""
    X, trials = held.train[held.users], _Trials(d, V, sigma, H, combinations, weights)
    X.sort_indices()
    height = int(max(1, min(BAND, BAND_BYTES // 4 // X.shape[1])))
    values = np.zeros((X.shape[0], len(combinations)))
    for start in range(0, X.shape[0], height):
        rows = slice(start, min(start + height, X.shape[0]))
        values[rows] = trials.of(X[rows], held.targets[rows])
    return values


class _Trials:
    """What the combinations share: H and the factors of the filter with the degrees folded in."""

    def __init__(
        self, d: Vector, V: Matrix, sigma: Vector, H: csr_array,
        combinations: list[Combination], weights: Weights,
    ) -> None:  # fmt: skip
        t, s = weights.item_norm, weights.filter_norm
        self.H = scaled(H, rows=power(d, -t), columns=power(d, t)).astype(np.float32)
        self.left = (V * power(d, -s)[:, None]).astype(np.float32)
        self.right = (V * (weights.filter_factor * power(d, s))[:, None]).astype(np.float32)
        self.combinations, self.rank = combinations, combinations[0].rank
        self.shapes = list(dict.fromkeys((one.rank, one.filter_power) for one in combinations))
        self.filters = np.stack([_shape(sigma, *shape) for shape in self.shapes], axis=1).astype(np.float32)

    def of(self, X: csr_array, targets: csr_array) -> Vector:
        """NDCG@20 of some histories (rows) with each combination (columns)."""
        with blas(size=min(self.left.shape)):
            of_users = X @ self.left
            flat = of_users[:, : self.rank] @ self.right[:, : self.rank].T
        h = np.zeros(flat.shape, dtype=np.float32)
        add_sparse_product(X, self.H, h)
        items = np.sort(np.concatenate([_best(flat, h, weight, X) for weight in PILOT_WEIGHTS], axis=1), axis=1)
        valid = (items >= 0) & (np.diff(items, axis=1, prepend=-1) > 0)  # each once
        items = np.where(valid, items, 0)
        g = np.matmul(self.right[items], of_users[:, :, None] * self.filters)
        h = np.where(valid, np.take_along_axis(h, items, axis=1), np.float32(-np.inf))
        gain = np.where(valid, np.take_along_axis(targets.toarray(), items, axis=1), 0)
        hits, ideal = np.nonzero(gain), _ideal(targets)
        values = np.zeros((X.shape[0], len(self.combinations)))
        for column, one in enumerate(self.combinations):
            shape = self.shapes.index((one.rank, one.filter_power))
            scores = h + np.float32(one.filter_weight) * g[:, :, shape]
            np.add.at(values[:, column], hits[0], _gains(scores, hits) * gain[hits])
        return values / ideal[:, None]


def _best(flat: Matrix, h: Matrix, weight: float, seen: csr_array) -> NDArray[np.int64]:
    """The best items that a user does not have, with this weight of the flat filter."""
    best = TopK(h.shape[0], min(PILOT, h.shape[1]), seen)
    best.add(h + np.float32(weight) * flat, 0)
    return best.columns


def _shape(sigma: Vector, rank: int, filter_power: float) -> Vector:
    """The weight of each direction; none beyond the rank."""
    weights = (sigma / sigma[0]) ** filter_power
    weights[rank:] = 0
    return np.asarray(weights / weights[:rank].mean())


def _gains(scores: Matrix, hits: tuple[NDArray[Any], ...]) -> Vector:
    """What each hit adds to the DCG@20 of its user; only hits need a rank, so nothing is sorted."""
    row, column = hits
    rank = (scores[row] > scores[row, column][:, None]).sum(axis=1)
    return np.where(rank < DEPTH, 1 / np.log2(rank + 2), 0)


def _ideal(targets: csr_array) -> Vector:
    """The DCG@20 of lists that begin with the targets, those that weigh most first."""
    counts, discounts = np.diff(targets.indptr), 1 / np.log2(np.arange(2, DEPTH + 2))
    if values_unless_ones(targets) is None:
        return np.asarray(np.concatenate([[0.0], np.cumsum(discounts)])[np.minimum(counts, DEPTH)])
    order = np.lexsort((-targets.data, rows_of(targets)))
    place = np.arange(targets.nnz) - np.repeat(targets.indptr[:-1], counts)
    gains = np.where(place < DEPTH, targets.data[order] * discounts[np.minimum(place, DEPTH - 1)], 0)
    return np.asarray(np.bincount(rows_of(targets), weights=gains, minlength=targets.shape[0]), dtype=np.float64)
