"""Scores of a fitted CoRML, their contributions, and distances, without ever forming users × items or all of G.

Behind the scores is a metric, a Mahalanobis distance between users and items:

    W = H + ω D^{-2t},   ω = max_i d_i^{2t} Σ_j |H_ij|          positive semi-definite (Gershgorin)      Theorem 3.1
    d(u, i)² = (p_u − q_i)ᵀ W (p_u − q_i)                                                                eq. (13)
    p_u = r_u D^{-t},   q_i = d_i^t e_i                                                                  eq. (9)

Among items a user has not seen, the order of d is exactly the order of the H part of the scores (Conclusion 1 of
the paper, from eq. (17)). G has the same metric with s in place of t. The two together are one metric only if t = s, so
distances are of one of them.

Items are points q_i of the same space, all of the same length √ω, so the order of their distances is that of H:

    d(i, j)² = (q_i − q_j)ᵀ W (q_i − q_j) = 2ω − 2 (d_i d_j)^t H_ij

Diverse lists use it (`linalg/choose.py`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, diags_array

from corml._runtime import memory
from corml._runtime.finite import check_finite, check_moderate
from corml._runtime.parallel import blas
from corml.errors import UsageError, ascii_line
from corml.linalg.bounded import Bounded
from corml.linalg.closeness import Closeness
from corml.linalg.products import add_dense_product, add_sparse_product
from corml.linalg.sparse import Array, Values, Vector, power, rows_of, scaled
from corml.models.corml.problem import Weights, filter_block
from corml.recommend.score import BLOCK_BYTES, Lists, band_of, block_of


@dataclass(frozen=True)
class Metric:
    """A hollow symmetric matrix seen as a distance: its rows are given one band at a time."""

    degrees: Vector
    exponent: float
    omega: float

    @property
    def diagonal(self) -> Vector:
        """diag(W) = ω d^{-2t}."""
        return self.omega * power(self.degrees, -2 * self.exponent)

    def point(self, history: Array) -> Vector:
        """The coordinates p of a user with this history, for its items."""
        return power(self.degrees[history], -self.exponent)

    def between(self, history: Array, target: int, inside: Vector, row: Vector) -> float:
        """Distance from a user with this history to an item.

        `inside` is the hollow matrix among the history items times p, and `row` its row from the history to the target.
        """
        p, own = self.point(history), self.diagonal
        q = float(power(self.degrees[target], self.exponent))
        W_cross = row + np.where(history == target, own[target], 0.0)
        squared = p @ (inside + own[history] * p) - 2 * q * (p @ W_cross) + q * q * own[target]
        return float(np.sqrt(max(squared, 0.0)))  # rounding may leave −1e-17


def gershgorin(row_sums: Array, degrees: Vector, exponent: float) -> float:
    """ω: the smallest weight of the diagonal for which Gershgorin's circles promise W ⪰ 0."""
    return float(np.max(power(degrees, 2 * exponent) * row_sums, initial=0.0))


NOISE = 1e-7  # what rounding leaves of scores that are zero, as between groups of items that never co-occur
MANY = 32  # histories, from which on a product with all items is a matrix product
SMALL = (
    1 << 18
)  # numbers in `right`: with fewer, every item is scored in no time, by kernels an evaluation needs as well
ITEMS_PER_PLACE = 200  # of a list: with fewer, bounds save no work
TRIED, SPARED = 8, 25  # of many histories some are tried: bounds pay if they leave one item in 25 or fewer to score
BAND, BAND_BYTES = 1024, 1 << 27  # rows of G made at a time where they are needed, and bytes of them


@dataclass(frozen=True)
class Scoring:
    """Y = R D^{-t} H D^{t} + ω(1/λ − 1) R D^{-s} G D^{s}, one block at a time; with ω = 1 eq. (26) divided by λ.

    Scaling by positive numbers commutes with clipping, so the degrees are folded into the two factors of G once:
    `left` = D^{-s} V and `right` = ω(1/λ − 1) D^{s} V. `own` is the diagonal of left·rightᵀ; G has none.
    """

    H: csr_array
    V: Array
    d: Vector
    weights: Weights
    filter: str
    H_scaled: csr_array
    left: Values
    right: Values
    own: Values

    @classmethod
    def of(
        cls,
        H: csr_array,
        V: Array,
        d: Vector,
        weights: Weights,
        filter: str,
        *,
        like: "Scoring | None" = None,
    ) -> Self:
        """Prepare the arrays of a fitted model; one `like` it, that differs in H alone, shares what G needs."""
        t = weights.item_norm
        H_scaled = scaled(H, rows=power(d, -t), columns=power(d, t)).astype(np.float32)
        if like is not None and like.V is V and like._filter_weights == _filter_weights(weights):
            return cls(H, V, d, weights, filter, H_scaled, like.left, like.right, like.own)
        left = (V * power(d, -weights.filter_norm)[:, None]).astype(np.float32)
        right = (V * (weights.score_factor * power(d, weights.filter_norm))[:, None]).astype(np.float32)
        for numbers in (H_scaled.data, left, right):
            check_moderate(numbers, "A list")
        own = np.einsum("ij,ij->i", left, right)
        return cls(H, V, d, weights, filter, H_scaled, left, right, own)

    @property
    def _filter_weights(self) -> tuple[float, float]:
        return _filter_weights(self.weights)

    @property
    def clips_entries(self) -> bool:
        """Whether scores use G clipped entry by entry."""
        return self.filter == "elementwise"

    @property
    def filters(self) -> bool:
        """Whether G counts at all."""
        return self.weights.score_factor > 0 and self.V.shape[1] > 0

    def block_shape(self, X: csr_array) -> tuple[int, int]:
        """Entry-wise clipping wants all histories for a few items; without it bands of whole rows are faster."""
        rows, columns = X.shape
        if not (self.filters and self.clips_entries):
            return band_of(rows, columns)
        height, width = block_of(rows, columns)
        items = max(1, min(X.nnz, columns))  # the band of G has a row for each item of a history
        return height, min(width, max(64, BLOCK_BYTES // 4 // items))

    def block(self, X: csr_array, columns: slice) -> Values:
        """Scores of histories X for a range of items."""
        out = self._filtered(X, columns)
        whole = columns == slice(0, X.shape[1])
        H = self.H_scaled if whole else self._by_column[:, columns].tocsr()
        add_sparse_product(X, H, out, noise=NOISE if self.filters else 0)
        return out

    def top_k(self, X: csr_array, k: int, seen: csr_array | None, allowed: csr_array | None) -> Lists | None:
        """Lists by bounds, where that takes less work than scoring every item."""
        if self.clips_entries or self.filter == "authors" or not self._bounds_pay(X, k, seen, allowed):
            return None
        columns, scores, _ = self._bounded.top_k(X, k, seen, allowed)
        return columns, scores

    def top_k_of_one(self, history: Array, k: int, seen: Array, allowed: Array | None) -> Lists | None:
        """The list of one history by bounds, whatever that saves: here matrices would take most of the time."""
        if self.clips_entries or self.filter == "authors":
            return None
        return self._bounded.one(history, k, seen, allowed)

    def _bounds_pay(self, X: csr_array, k: int, seen: csr_array | None, allowed: csr_array | None) -> bool:
        """Longer lists leave less to exclude, and many histories at a time make full products cheap."""
        rows, items = X.shape
        if self.right.size < SMALL or k * ITEMS_PER_PLACE > items:
            return False
        if rows < MANY:
            return True
        some = (None if matrix is None else matrix[:TRIED] for matrix in (seen, allowed))
        _, _, scored = self._bounded.top_k(X[:TRIED], k, *some)
        return bool(scored.mean() * SPARED <= items)

    @cached_property
    def _bounded(self) -> Bounded:
        return Bounded.of(self.H_scaled, self.left, self.right, self.own, noise=NOISE if self.filters else 0)

    @cached_property
    def _by_column(self) -> Any:
        return self.H_scaled.tocsc()

    def _filtered(self, X: csr_array, columns: slice) -> Values:
        """The part of G in the scores."""
        if not self.filters:
            return np.zeros((X.shape[0], columns.stop - columns.start), dtype=np.float32)
        with blas(size=min(X.shape)):
            if self.clips_entries:
                return self._clipped_by_entry(X, columns)
            scores: Values = (X @ self.left) @ self.right[columns].T
        here = (X.indices >= columns.start) & (X.indices < columns.stop)
        own = X.indices[here]
        scores[rows_of(X)[here], own - columns.start] -= self.own[own] * X.data[here]
        return np.maximum(scores, 0, out=scores) if self.filter == "authors" else scores

    def _clipped_by_entry(self, X: csr_array, columns: slice) -> Values:
        seen, compact = np.unique(X.indices, return_inverse=True)
        band = self.left[seen] @ self.right[columns].T
        targets = np.arange(columns.start, columns.stop)
        _, row, column = np.intersect1d(seen, targets, assume_unique=True, return_indices=True)
        band[row, column] = 0
        scores = np.zeros((X.shape[0], band.shape[1]), dtype=np.float32)
        rows = csr_array((X.data, compact, X.indptr), shape=(X.shape[0], len(seen)))
        add_dense_product(rows, np.maximum(band, 0, out=band), scores)
        return scores

    # --- why, and how far --------------------------------------------------------------------------------------------

    def contributions(self, history: Array, target: int) -> tuple[Vector, Vector]:
        """What each history item adds to the target's score: the H part and the G part."""
        h = self.H_scaled[history][:, [target]].toarray()[:, 0].astype(np.float64)
        g = np.zeros(len(history))
        if self.filters:
            g = self.left[history].astype(np.float64) @ self.right[target].astype(np.float64)
            g[history == target] = 0
            if self.clips_entries:
                g = np.maximum(g, 0)
            elif self.filter == "authors" and g.sum() <= 0:
                g = np.zeros_like(g)
        return h, g

    def distance(self, history: Array, target: int, part: str) -> float:
        """Distance of a history to an item in the metric of one part."""
        metric = self._metric(part)
        p, one = metric.point(history), np.array([target])
        if part == "h":
            among, row = self.H[history], self.H[history][:, one].toarray()[:, 0]
            distance = metric.between(history, target, among[:, history] @ p, row.astype(np.float64))
        else:
            inside = [self._filter(band, history) @ p for band in self._bands(history, len(history))]
            row = self._filter(history, one)[:, 0]
            distance = metric.between(history, target, np.concatenate([np.zeros(0), *inside]), row)
        check_finite(distance, "A distance")
        return distance

    def user_metric(self) -> csr_array:
        """D^{-t} W D^{-t} of the metric of H: x of it and another history is the product of their p in that metric."""
        side, metric = power(self.d, -self.weights.item_norm), self._metric("h")
        diagonal = metric.diagonal if metric.omega > 0 else np.ones(len(self.d))  # without H only shared items count
        return csr_array(scaled(self.H, rows=side, columns=side) + diags_array(diagonal * side**2))

    def metric_matrix(self, part: str) -> Vector:
        """W as a dense array."""
        n = len(self.d)
        memory.require(
            3 * 8 * n * n, what=f"The dense metric of {n:,} items", instead="ask for distance(history, item) instead."
        )
        return self._hollow(np.arange(n), part) + np.diag(self._metric(part).diagonal)

    @cached_property
    def closeness(self) -> Closeness:
        """(d_i d_j)^t H_ij of two items: the higher, the nearer they are in the metric of H."""
        by_row = power(self.d, 2 * self.weights.item_norm).astype(np.float32)  # H_scaled is D^{-t} H D^{t}
        return Closeness(by_row, self.H_scaled)

    def _metric(self, part: str) -> Metric:
        if part == "h":
            exponent, sums = self.weights.item_norm, np.abs(self.H).sum(axis=1)
        elif part == "g":
            exponent, sums = self.weights.filter_norm, self._filter_row_sums
        else:
            raise UsageError(f"part must be 'h' (the learned metric) or 'g' (the filter); got {ascii_line(part)}.")
        return Metric(self.d, exponent, gershgorin(sums, self.d, exponent))

    @cached_property
    def _filter_row_sums(self) -> Vector:
        items = np.arange(len(self.d))
        sums = [np.abs(self._filter(band, items)).sum(axis=1) for band in self._bands(items, len(items))]
        return np.concatenate([np.zeros(0), *sums])

    def _bands(self, items: Array, width: int) -> Iterator[Array]:
        """Some rows of G of this width at a time: all of them may not fit in memory."""
        height = max(1, min(BAND, BAND_BYTES // (8 * max(width, 1))))
        return (items[a : a + height] for a in range(0, len(items), height))

    def _filter(self, rows: Array, columns: Array) -> Vector:
        return filter_block(self.V.astype(np.float64), rows, columns, clip=self.clips_entries)

    def _hollow(self, items: Array, part: str) -> Vector:
        """H or G among some items (an item may occur twice: its entry with itself is zero)."""
        distinct, position = np.unique(items, return_inverse=True)
        if part == "g":
            among = self._filter(distinct, distinct)
        else:
            among = self.H[distinct][:, distinct].toarray().astype(np.float64)
        return among[np.ix_(position, position)]


def _filter_weights(weights: Weights) -> tuple[float, float]:
    """The weights that the part of G depends on."""
    return weights.filter_norm, weights.score_factor
