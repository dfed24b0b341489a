"""Which pairs of items H may use, and the terms of problem H on them: Gram matrices and the cross term A G'.

With a filter that is nowhere negative H is zero on pairs that never share a user, exactly (every term of the gradient
there is ≥ 0), so the co-occurring pairs suffice; with the unclipped one H is restricted to them by definition. Rows are
made a chunk at a time: where there are too many pairs to keep, only the selected ones of each row ever exist together.

    A = Pᵀ Φ P,   G' = D^{t−s} G D^{s−t},   A G' = D^{-t} C D^{-t},   C = RᵀΩΦR D^{-s} G D^{s}

The cross term is kept as C: it has no t, so that fits that differ in t share it. Ω and Φ come together as weights of
users. Clipped entry by entry, G has no factors: a band of its columns is made, carried through the users and read on
the support, at nnz(R)·n multiplications. Unclipped, G = VVᵀ − diag(VVᵀ) and each pair is one dot product of length k.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from corml._runtime.compiled import njit
from corml._runtime.parallel import blas, over_rows
from corml.linalg.co_occurrence import strongest_pairs
from corml.linalg.pairs import Support
from corml.linalg.products import add_dense_product, entry_of
from corml.linalg.sparse import Array, Rows, Sides, Values, Vector, column_degrees, narrow, power, scaled
from corml.models.corml.problem import UserWeights

POPULARITY_EXPONENT = 0.3  # candidates are ranked by shared users / d^0.3: of two that share as many, the rarer first
COLUMNS = 32  # of V carried through the users at a time
BAND_BYTES = 1 << 26  # of a band of G or of its product with R


@dataclass(frozen=True)
class Candidates:
    """Pairs with RᵀΩR (`gram`) and RᵀΩΦR (`weighted`) on them; `complete` if these are all co-occurring pairs.

    Ω is how much a user's loss counts, Φ the ranking weight. Item weights stay out: P = Ω^{½} R D^{-t} only scales both
    by d_i^{-t} d_j^{-t}, so that fits that differ in t share them.
    """

    support: Support
    gram: Values
    weighted: Values
    complete: bool


def co_occurring(
    R: csr_array, users: UserWeights, *, max_per_item: int | None = None, numbers: Array | None = None
) -> Candidates:
    """Pairs that share a user; with `max_per_item` about as many for each item, those that share most.

    `numbers` are the original numbers of items that are reordered here: they decide between equals.
    """
    strength = power(column_degrees(R), -POPULARITY_EXPONENT).astype(np.float32)
    gram, complete = strongest_pairs(R, users.loss, strength, max_per_item, numbers)
    gram = gram if complete else both_ways(gram)
    support = Support.of(gram)
    weighted = gram.data if users.ranks_alike else _gram_on(R, users.both, support)
    return Candidates(support, gram.data, weighted, complete)


def both_ways(gram: csr_array) -> csr_array:
    """A pair is in if either item selects it."""
    both = gram.maximum(gram.T.tocsr())
    both.sort_indices()
    return both.copy()  # SciPy leaves it in arrays with room for both


def on_support(R: csr_array, users: UserWeights, support: Support) -> Candidates:
    """The pairs of a support as candidates."""
    gram = _gram_on(R, users.loss, support)
    weighted = gram if users.ranks_alike else _gram_on(R, users.both, support)
    return Candidates(support, gram, weighted, complete=False)


def _gram_on(R: csr_array, by_user: Vector, support: Support) -> Values:
    """Rᵀ diag(by_user) R on a support."""
    sides, weights = Sides.of(R), by_user.astype(np.float32)
    return support.filled(lambda out, a, b: gram_rows(sides, weights, support, out, a, b))


def gram_rows(sides: Sides, weights: Values, support: Support, out: Values, start: int, stop: int) -> None:
    """Write the rows of items from `start` to `stop` of Rᵀ diag(weights) R on a support, by one thread."""
    _rows_on_support(sides, weights, support.arrays, out, np.zeros(support.items, dtype=np.float32), start, stop)


@njit(cache=True, nogil=True)
def _rows_on_support(sides, weights, pairs, out, row, start, stop):  # type: ignore[no-untyped-def]
    ((ptr, cols, data), (i_ptr, i_users, i_data)), (s_ptr, s_cols) = sides, pairs
    first = s_ptr[start]
    for item in range(start, stop):
        row[:] = 0
        for at in range(i_ptr[item], i_ptr[item + 1]):
            user = i_users[at]
            for entry in range(ptr[user], ptr[user + 1]):  # the product of values first: symmetric to the last bit
                row[cols[entry]] += weights[user] * (entry_of(i_data, at) * entry_of(data, entry))
        for pair in range(s_ptr[item], s_ptr[item + 1]):
            out[pair - first] = row[s_cols[pair]]


# --- the cross term --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Factors:
    """C = left rightᵀ − RᵀΩΦR·diag(own), unclipped: (RᵀΩΦR D^{-s} V)(D^{s} V)ᵀ with G's diagonal taken off."""

    left: Values
    right: Values
    own: Values

    @classmethod
    def of(cls, R: csr_array, V: Array, user_weights: Vector, filter_norm: float) -> "Factors":
        """Factors for a filter with these singular vectors; without any they are empty."""
        d = column_degrees(R)
        by_item, weighted = narrow(R.T.tocsr()), narrow(scaled(R, rows=user_weights, columns=power(d, -filter_norm)))
        left = np.zeros(V.shape, dtype=np.float32)
        for start in range(0, V.shape[1], COLUMNS):
            columns = slice(start, min(start + COLUMNS, V.shape[1]))
            of_users = np.zeros((R.shape[0], columns.stop - start), dtype=np.float32)
            add_dense_product(weighted, np.ascontiguousarray(V[:, columns], dtype=np.float32), of_users)
            of_items = np.zeros((V.shape[0], of_users.shape[1]), dtype=np.float32)
            add_dense_product(by_item, of_users, of_items)
            left[:, columns] = of_items
        return cls.from_left(left, V, d, filter_norm)

    @classmethod
    def from_left(cls, left: Values, V: Array, d: Vector, filter_norm: float) -> "Factors":
        """The others follow from V."""
        right = (V * power(d, filter_norm)[:, None]).astype(np.float32)
        return cls(left, right, np.einsum("ij,ij->i", V, V).astype(np.float32))


def cross_term(
    R: csr_array, V: Array, user_weights: Vector, filter_norm: float, pairs: Candidates, *, clip: bool
) -> Values:
    """C + Cᵀ on the support of the candidates."""
    support = pairs.support
    if V.shape[1] == 0:
        return np.zeros(len(support), dtype=np.float32)
    if clip:
        one_way = _clipped(R, V, user_weights, filter_norm, support)
    else:
        factors = Factors.of(R, V, user_weights, filter_norm)
        one_way = support.filled(lambda out, a, b: dot_rows(support, factors.left, factors.right, out, a, b))
        one_way -= pairs.weighted * factors.own[support.indices]
    both: Values = one_way[support.twin]
    both += one_way
    return both


def dot_rows(support: Support, left: Values, right: Values, out: Values, start: int, stop: int) -> None:
    """Write left_i · right_j for the pairs of the rows from `start` to `stop`, by one thread."""
    _dots((support.indptr, support.indices), left, right, out, start, stop)


def _clipped(R: csr_array, V: Array, user_weights: Vector, s: float, support: Support) -> Values:
    """RᵀΩΦ (R D^{-s} G D^{s}), a band of columns at a time."""
    d = column_degrees(R)
    left = np.ascontiguousarray(V * power(d, -s)[:, None], dtype=np.float32)
    right = np.ascontiguousarray(V * power(d, s)[:, None], dtype=np.float32)
    by_item, weights, pairs = Rows.of(R.T.tocsr()), user_weights.astype(np.float32), (support.indptr, support.indices)
    cross = np.zeros(len(support), dtype=np.float32)
    width = band_width(R)
    for start in range(0, support.items, width):
        stop = min(start + width, support.items)
        with blas(size=support.items):
            G = left @ right[start:stop].T
        np.maximum(G, 0, out=G)
        G[np.arange(start, stop), np.arange(stop - start)] = 0
        W = np.zeros((R.shape[0], stop - start), dtype=np.float32)
        add_dense_product(R, G, W)
        over_rows(lambda a, b: _gather(pairs, by_item, weights, (W, start), cross, a, b), support.items)  # noqa: B023
    return cross


def band_width(R: csr_array) -> int:
    """How many columns of G exist at a time."""
    return int(min(R.shape[1], max(16, BAND_BYTES // 4 // max(R.shape))))


@njit(cache=True, nogil=True, fastmath=True)
def _dots(pairs, left, right, out, start, stop):  # type: ignore[no-untyped-def]
    ptr, cols = pairs
    first = ptr[start]
    for row in range(start, stop):
        a = left[row]
        for pair in range(ptr[row], ptr[row + 1]):
            b = right[cols[pair]]
            total = np.float32(0)
            for k in range(len(a)):
                total += a[k] * b[k]
            out[pair - first] = total


@njit(cache=True, nogil=True)
def _gather(pairs, by_item, weights, band, out, start, stop):  # type: ignore[no-untyped-def]
    (ptr, cols), (i_ptr, users, values), (W, first) = pairs, by_item, band
    for row in range(start, stop):
        low = ptr[row] + np.searchsorted(cols[ptr[row] : ptr[row + 1]], first)
        high = ptr[row] + np.searchsorted(cols[ptr[row] : ptr[row + 1]], first + W.shape[1])
        if low == high:
            continue
        for at in range(i_ptr[row], i_ptr[row + 1]):
            user = users[at]
            weight = weights[user] * entry_of(values, at)
            for pair in range(low, high):
                out[pair] += weight * W[user, cols[pair] - first]
