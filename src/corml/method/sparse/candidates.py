"""Which pairs of items H may use: those that met, or the strongest of them for each item.

With a filter that is nowhere negative H is zero on pairs that never share a user, exactly (every term of the gradient
there is ≥ 0), so the co-occurring pairs are all it takes; with the unclipped one H is restricted to them by
definition. Rows are made a chunk at a time: where there are too many pairs to keep, only the strongest of each row
ever exist together.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.linalg.pairs import over_pairs, strongest
from corml.linalg.scaling import column_degrees, narrow, power
from corml.linalg.support import Support
from corml.parallel import over_rows

__all__ = ["TASTE", "Candidates", "co_occurring", "on_pairs"]

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
    strength = power(column_degrees(R), -TASTE).astype(np.float32)
    left_out: list[int] = []  # pairs of each chunk

    def kept(rows: csr_array, first: int) -> csr_array:
        items = np.arange(first, first + rows.shape[0], dtype=rows.indices.dtype)
        itself = rows.indices == np.repeat(items, np.diff(rows.indptr))
        values = rows.data * strength[rows.indices]
        values[itself] = 0
        found = strongest(rows, most, values)
        left_out.append(rows.nnz - int(itself.sum()) - found.nnz)
        return found

    gram = over_pairs(narrow(R), kept, weights=loss)
    complete = not any(left_out)
    if not complete:  # a pair is in if it is among the strongest of either item
        gram = gram.maximum(gram.T.tocsr())
    gram.sort_indices()
    support = Support.of(gram)
    weighted = gram.data if _alike(ranking) else _on_support(R, loss * ranking, support)
    return Candidates(support, gram.data, weighted, complete)


def on_pairs(R: csr_array, loss: Vector, ranking: Vector, support: Support) -> Candidates:
    """The pairs of a support as candidates."""
    gram = _on_support(R, loss, support)
    weighted = gram if _alike(ranking) else _on_support(R, loss * ranking, support)
    return Candidates(support, gram, weighted, complete=False)


def _alike(ranking: Vector) -> bool:
    """Whether every user has ranking weight 1."""
    return bool((ranking == 1).all())


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
