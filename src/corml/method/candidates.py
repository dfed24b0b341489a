"""Which pairs of items H may use: those that met, or the strongest of them for each item.

With a filter that is nowhere negative H is zero on pairs that never share a user, exactly (every term of the gradient
there is ≥ 0), so the co-occurring pairs are all it takes; with the unclipped one H is restricted to them by
definition. Rows are made a chunk at a time: where there are too many pairs to keep, only the strongest of each row
ever exist together.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from corml.linalg.scaling import column_degrees, power, scaled
from corml.linalg.support import Support
from corml.parallel import each, over_rows, threads

__all__ = ["TASTE", "Candidates", "co_occurring", "on_pairs"]

CHUNK = 1 << 22  # entries of rows that are made at a time, by all threads together
TASTE = 0.3  # of two items met as often by an item's users, the rarer is the stronger candidate, by d^-0.3

Vector = NDArray[np.float64]
Items = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Candidates:
    """Pairs with RᵀΩR (`gram`) and RᵀΩΦR (`weighted`) on them; `complete` if they are all pairs that met.

    Ω is how much a user's loss counts, Φ the ranking weight. Item weights stay out: P = Ω^{½} R D^{-t} only scales both
    by d_i^{-t} d_j^{-t}, so that fits that differ in t share them.
    """

    support: Support
    gram: NDArray[np.float32]
    weighted: NDArray[np.float32]
    complete: bool


def co_occurring(R: csr_array, loss: Vector, ranking: Vector, *, most: int | None = None) -> Candidates:
    """Pairs that share a user; at most about `most` of the strongest for each item, where given."""
    left = scaled(R, rows=loss).astype(np.float32).T.tocsr()
    right = R.astype(np.float32)
    strength = power(column_degrees(R), -TASTE).astype(np.float32)

    def work(start: int, stop: int) -> tuple[csr_array, bool]:
        rows = (left[start:stop] @ right).tocsr()
        rows.sort_indices()
        chosen = _chosen(rows, start, most, strength)
        return _only(rows, chosen), bool(
            chosen.sum() == rows.nnz - (np.diff(rows.indptr) > 0).sum()
        )  # all but the diagonal

    chunks = _chunks(R)
    parts = list(each(lambda number: work(*chunks[number]), len(chunks)))
    complete = all(every for _, every in parts)
    kept = [rows for rows, _ in parts]
    del parts
    strongest = vstack(kept, format="csr")
    kept.clear()
    gram = strongest if complete else strongest.maximum(strongest.T.tocsr())
    gram.sort_indices()
    support = Support.of(gram)
    weighted = gram.data if _alike(ranking) else _on_support(R, loss * ranking, support)
    return Candidates(support, gram.data, weighted, complete)


def on_pairs(R: csr_array, loss: Vector, ranking: Vector, support: Support) -> Candidates:
    """The pairs of a support as candidates."""
    gram = _on_support(R, loss, support)
    weighted = gram if _alike(ranking) else _on_support(R, loss * ranking, support)
    return Candidates(support, gram, weighted, complete=False)


def _chunks(R: csr_array) -> list[tuple[int, int]]:
    """Ranges of items whose rows together have at most CHUNK entries, or single items."""
    longest = np.minimum(R.T @ np.diff(R.indptr).astype(np.float64), R.shape[1])
    most = max(CHUNK // threads(), 1)
    edges, size = [0], 0.0
    for item, entries in enumerate(longest):
        if size + entries > most and item > edges[-1]:
            edges.append(item)
            size = 0.0
        size += entries
    return list(pairwise([*edges, R.shape[1]])) if R.shape[1] else []


def _alike(ranking: Vector) -> bool:
    """Whether every user has ranking weight 1."""
    return bool((ranking == 1).all())


def _chosen(rows: csr_array, first: int, most: int | None, strength: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Which entries of a chunk of rows to keep: all but the diagonal, or the strongest of each row."""
    chosen = np.ones(rows.nnz, dtype=bool)
    values = rows.data if most is None else rows.data * strength[rows.indices]
    _mark(rows.indptr, rows.indices, values, first, -1 if most is None else most, chosen)
    return chosen


def _only(rows: csr_array, chosen: NDArray[np.bool_]) -> csr_array:
    counts = np.add.reduceat(np.append(chosen, False).astype(np.int64), rows.indptr[:-1]) * (np.diff(rows.indptr) > 0)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(rows.indptr.dtype)
    return csr_array((rows.data[chosen], rows.indices[chosen], indptr), shape=rows.shape)


@njit(cache=True, nogil=True)
def _mark(ptr, cols, data, first, most, chosen):  # type: ignore[no-untyped-def]
    for row in range(len(ptr) - 1):
        start, stop = ptr[row], ptr[row + 1]
        threshold, ties = np.float32(-1.0), stop - start
        if most >= 0 and stop - start > most + 1:
            others = data[start:stop][cols[start:stop] != first + row]
            threshold = np.partition(others, len(others) - most)[len(others) - most]
            ties = most - (others > threshold).sum()
        for place in range(start, stop):
            equal = data[place] == threshold
            chosen[place] = cols[place] != first + row and (data[place] > threshold or (equal and ties > 0))
            ties -= chosen[place] and equal


def _on_support(R: csr_array, by_user: Vector, support: Support) -> NDArray[np.float32]:
    """Rᵀ diag(by_user) R on a support: for each pair, over the users of the first item who met the second."""
    made = np.zeros(len(support), dtype=np.float32)
    by_item = R.T.tocsr()
    weights = by_user.astype(np.float32)

    def work(a: int, b: int) -> None:
        row = np.zeros(support.items, dtype=np.float32)
        _rows_on_support(
            by_item.indptr, by_item.indices, R.indptr, R.indices, weights, support.indptr, support.indices, made,
            row, a, b,
        )  # fmt: skip

    over_rows(work, support.items)
    return made


@njit(cache=True, nogil=True)
def _rows_on_support(i_ptr, i_users, ptr, cols, weights, s_ptr, s_cols, out, row, start, stop):  # type: ignore[no-untyped-def]
    for item in range(start, stop):
        row[:] = 0
        for at in range(i_ptr[item], i_ptr[item + 1]):
            user = i_users[at]
            for place in range(ptr[user], ptr[user + 1]):
                row[cols[place]] += weights[user]
        for place in range(s_ptr[item], s_ptr[item + 1]):
            out[place] = row[s_cols[place]]
