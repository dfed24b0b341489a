"""Which pairs of items H may use: all co-occurring pairs, or for each item those that co-occur most.

With a filter that is nowhere negative H is zero on pairs that never share a user, exactly (every term of the gradient
there is ≥ 0), so the co-occurring pairs are all it takes; with the unclipped one H is restricted to them by
definition. Rows are made a chunk at a time: where there are too many pairs to keep, only the selected ones of each row
ever exist together.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.compiled import njit
from corml.linalg.co_occurrence import strongest_pairs
from corml.linalg.scaling import column_degrees, power
from corml.linalg.sides import Sides
from corml.linalg.support import Support
from corml.models.corml.problem import UserWeights

__all__ = ["POPULARITY_EXPONENT", "Candidates", "both_ways", "co_occurring", "gram_rows", "on_support"]

POPULARITY_EXPONENT = 0.3  # candidates are ranked by shared users / d^0.3: of two that share as many, the rarer first

Vector = NDArray[np.float64]
Items = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Candidates:
    """Pairs with RᵀΩR (`gram`) and RᵀΩΦR (`weighted`) on them; `complete` if these are all co-occurring pairs.

    Ω is how much a user's loss counts, Φ the ranking weight. Item weights stay out: P = Ω^{½} R D^{-t} only scales both
    by d_i^{-t} d_j^{-t}, so that fits that differ in t share them.
    """

    support: Support
    gram: NDArray[np.float32]
    weighted: NDArray[np.float32]
    complete: bool


def co_occurring(
    R: csr_array, users: UserWeights, *, max_per_item: int | None = None, numbers: Items | None = None
) -> Candidates:
    """Pairs that share a user; where `max_per_item` is given, about as many for each item, those that share most.

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


def _gram_on(R: csr_array, by_user: Vector, support: Support) -> NDArray[np.float32]:
    """Rᵀ diag(by_user) R on a support: for each pair, over the users that its items share."""
    sides, weights = Sides.of(R), by_user.astype(np.float32)
    return support.filled(lambda out, a, b: gram_rows(sides, weights, support, out, a, b))


def gram_rows(
    sides: Sides, weights: NDArray[np.float32], support: Support, out: NDArray[np.float32], start: int, stop: int
) -> None:
    """Write the rows of items from `start` to `stop` of Rᵀ diag(weights) R on a support, by one thread."""
    row = np.zeros(support.items, dtype=np.float32)
    _rows_on_support(*sides.arrays, weights, support.arrays, out, row, start, stop)


@njit(cache=True, nogil=True)
def _rows_on_support(by_user, by_item, data, i_data, weights, pairs, out, row, start, stop):  # type: ignore[no-untyped-def]
    (ptr, cols), (i_ptr, i_users), (s_ptr, s_cols) = by_user, by_item, pairs
    first = s_ptr[start]
    for item in range(start, stop):
        row[:] = 0
        for at in range(i_ptr[item], i_ptr[item + 1]):
            user = i_users[at]
            for entry in range(ptr[user], ptr[user + 1]):
                if data is None:
                    row[cols[entry]] += weights[user]
                else:  # the product of both values first: the same both ways, to the last bit
                    row[cols[entry]] += weights[user] * (i_data[at] * data[entry])
        for pair in range(s_ptr[item], s_ptr[item + 1]):
            out[pair - first] = row[s_cols[pair]]
