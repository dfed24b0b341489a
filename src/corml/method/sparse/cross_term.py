"""The cross term A G' on a support: what the filter already explains of each pair.

    A = Pᵀ Φ P,   G' = D^{t−s} G D^{s−t},   A G' = D^{-t} C D^{-t},   C = RᵀΩΦR D^{-s} G D^{s}

What is made here is C: it has no t, so that fits that differ in t share it. Ω and Φ come together as weights of users.
Clipped entry by entry, G has no factors: a band of its columns is made, carried through the users and read on the
support, at nnz(R)·n multiplications. Unclipped, G = VVᵀ − diag(VVᵀ) and each pair is one dot product of length k.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.compiled import njit
from corml.linalg.products import add_dense_product
from corml.linalg.scaling import narrow, power, scaled, values_unless_ones
from corml.linalg.support import Support
from corml.method.sparse.candidates import Candidates
from corml.parallel import blas, over_rows

__all__ = ["COLUMNS", "Factors", "band_width", "cross_term", "dot_rows"]

COLUMNS = 32  # of V carried through the users at a time
BAND_BYTES = 1 << 26  # of a band of G or of its product with R

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Factors:
    """C = left rightᵀ − RᵀΩΦR·diag(own), unclipped: (RᵀΩΦR D^{-s} V)(D^{s} V)ᵀ with G's diagonal taken off."""

    left: NDArray[np.float32]
    right: NDArray[np.float32]
    own: NDArray[np.float32]

    @classmethod
    def of(cls, R: csr_array, d: Vector, V: NDArray[Any], user_weights: Vector, filter_norm: float) -> "Factors":
        """Factors for a filter with these singular vectors; without any they are empty."""
        by_item, weighted = narrow(R.T.tocsr()), narrow(scaled(R, rows=user_weights, columns=power(d, -filter_norm)))
        left = np.zeros(V.shape, dtype=np.float32)
        for start in range(0, V.shape[1], COLUMNS):
            columns = slice(start, min(start + COLUMNS, V.shape[1]))
            of_users = np.zeros((R.shape[0], columns.stop - start), dtype=np.float32)
            add_dense_product(weighted, np.ascontiguousarray(V[:, columns], dtype=np.float32), of_users)
            of_items = np.zeros((V.shape[0], of_users.shape[1]), dtype=np.float32)
            add_dense_product(by_item, of_users, of_items)
            left[:, columns] = of_items
        right = (V * power(d, filter_norm)[:, None]).astype(np.float32)
        return cls(left, right, np.einsum("ij,ij->i", V, V).astype(np.float32))


def cross_term(
    R: csr_array, d: Vector, V: NDArray[Any], user_weights: Vector, filter_norm: float, pairs: Candidates, *, clip: bool
) -> NDArray[np.float32]:
    """C + Cᵀ on the support of the candidates."""
    if V.shape[1] == 0:
        return np.zeros(len(pairs.support), dtype=np.float32)
    one_way = (_clipped if clip else _factored)(R, d, V, user_weights, filter_norm, pairs)
    both: NDArray[np.float32] = one_way[pairs.support.twin]
    both += one_way
    return both


def _factored(
    R: csr_array, d: Vector, V: NDArray[Any], user_weights: Vector, s: float, pairs: Candidates
) -> NDArray[np.float32]:
    """One dot product for each pair, less RᵀΩΦR·diag(VVᵀ)."""
    parts = Factors.of(R, d, V, user_weights, s)
    support, cross = pairs.support, np.empty(len(pairs.support), dtype=np.float32)
    over_rows(lambda a, b: dot_rows(support, parts.left, parts.right, cross, a, b), support.items)
    cross -= pairs.weighted * parts.own[support.indices]
    return cross


def dot_rows(
    support: Support,
    left: NDArray[np.float32],
    right: NDArray[np.float32],
    out: NDArray[np.float32],
    start: int,
    stop: int,
    *,
    shift: int = 0,
) -> None:
    """left_i · right_j for the pairs of the rows from `start` to `stop`, by one thread.

    `shift` is the entry of the support that the first place of `out` stands for.
    """
    _dots(support.indptr, support.indices, left, right, out, shift, start, stop)


def _clipped(
    R: csr_array, d: Vector, V: NDArray[Any], user_weights: Vector, s: float, pairs: Candidates
) -> NDArray[np.float32]:
    """RᵀΩΦ (R D^{-s} G D^{s}), a band of columns at a time."""
    left = np.ascontiguousarray(V * power(d, -s)[:, None], dtype=np.float32)
    right = np.ascontiguousarray(V * power(d, s)[:, None], dtype=np.float32)
    support, by_item, weights = pairs.support, R.T.tocsr(), user_weights.astype(np.float32)
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
        _read_band(support, by_item, weights, W, start, cross)
    return cross


def band_width(R: csr_array) -> int:
    """How many columns of G to have alive at a time."""
    return int(min(R.shape[1], max(16, BAND_BYTES // 4 // max(R.shape))))


def _read_band(
    support: Support, by_item: csr_array, weights: NDArray[Any], W: NDArray[Any], first: int, out: NDArray[Any]
) -> None:
    pairs, rows = (support.indptr, support.indices), (by_item.indptr, by_item.indices)
    entries = values_unless_ones(by_item)

    def work(a: int, b: int) -> None:
        _gather(*pairs, *rows, entries, weights, W, first, out, a, b)

    over_rows(work, support.items)


@njit(cache=True, nogil=True, fastmath=True)
def _dots(ptr, cols, left, right, out, shift, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        a = left[row]
        for pair in range(ptr[row], ptr[row + 1]):
            b = right[cols[pair]]
            total = np.float32(0)
            for k in range(len(a)):
                total += a[k] * b[k]
            out[pair - shift] = total


@njit(cache=True, nogil=True)
def _gather(ptr, cols, u_ptr, users, data, weights, W, first, out, start, stop):  # type: ignore[no-untyped-def]
    width = W.shape[1]
    for row in range(start, stop):
        low = ptr[row] + np.searchsorted(cols[ptr[row] : ptr[row + 1]], first)
        high = ptr[row] + np.searchsorted(cols[ptr[row] : ptr[row + 1]], first + width)
        if low == high:
            continue
        for at in range(u_ptr[row], u_ptr[row + 1]):
            user = users[at]
            weight = weights[user]
            if data is not None:
                weight *= data[at]
            for pair in range(low, high):
                out[pair] += weight * W[user, cols[pair] - first]
