"""Step 3, scores: what a model provides, and what boosts and the fallback for cold rows make of it."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.values import nearest
from corml.data.attributes import Attributes
from corml.data.ids import Ids, canonical
from corml.data.requested_ids import rows_or_warn
from corml.errors import UsageError, ascii_line
from corml.recommend.option import LARGEST_BOOST

BLOCK_BYTES = 1 << 27  # scores of a block
BAND_BYTES = 1 << 25  # scores of a band: more, and they are far from the processor when they are ranked

Rows = NDArray[np.int64]
Scores = NDArray[np.float32]
Lists = tuple[Rows, Scores]  # items and scores of each row, best first


class Scorer(Protocol):
    """What ranking needs of a model; it never sees options."""

    def _block_shape(self, X: csr_array) -> tuple[int, int]:
        """How many rows and columns of scores to make at a time for these histories."""

    def _represent(self, X: csr_array, users: Rows | None) -> Any:
        """What stands for these users when scores are made: one row each."""

    def score_block(self, users: Any, columns: slice) -> Scores:
        """Scores of users, as `_represent` gives them, for a range of items."""

    def _top_k(self, users: Any, k: int, seen: csr_array | None, allowed: csr_array | None) -> Lists | None:
        """Exact lists of users by a way of the model's own; None: score every item."""


def block_of(rows: int, columns: int, *, max_rows: int = 1 << 16) -> tuple[int, int]:
    """As many rows as possible, then as many columns as keep a block within BLOCK_BYTES."""
    height = max(1, min(rows, max_rows))
    return height, max(64, min(columns, BLOCK_BYTES // 4 // height))


def band_of(rows: int, columns: int) -> tuple[int, int]:
    """Whole rows: 32 to 512, in steps of 32, within BAND_BYTES if that can be."""
    fitting = BAND_BYTES // 4 // max(columns, 1) // 32 * 32
    return max(1, min(rows, max(32, min(fitting, 512)))), columns


class ListScorer:
    """A model with boosted scores, and popularity for rows without a history."""

    def __init__(self, model: Scorer, popularity: Scores, factors: Scores | None = None) -> None:
        self.model, self.popularity, self.factors = model, popularity, factors

    def _block_shape(self, X: csr_array) -> tuple[int, int]:
        return self.model._block_shape(X)

    def _represent(self, X: csr_array, users: Rows | None) -> tuple[Any, NDArray[np.intp]]:
        return self.model._represent(X, users), np.flatnonzero(np.diff(X.indptr) == 0)

    def _top_k(self, users: Any, k: int, seen: csr_array | None, allowed: csr_array | None) -> Lists | None:
        represented, cold = users
        if self.factors is not None or len(cold):
            return None  # bounds on scores do not hold for these
        return self.model._top_k(represented, k, seen, allowed)

    def score_block(self, users: Any, columns: slice) -> Scores:
        """Scores with boosts."""
        represented, cold = users
        block = np.require(self.model.score_block(represented, columns), requirements="W")
        if len(cold):
            block[cold] = self.popularity[columns]
        if self.factors is not None:
            factors = self.factors[columns]
            pushed = np.flatnonzero(factors != 1)
            block[:, pushed] = boosted(block[:, pushed], factors[pushed])
        return block


def factors_of(boost: Mapping[str, Any], items: Ids, attributes: Attributes) -> Scores:
    """What the score of each item is multiplied by."""
    factors = np.ones(len(items))
    named = {name: factor for name, factor in boost.items() if not isinstance(factor, Mapping)}
    (rows,) = rows_or_warn(items, [list(named)], "boost")
    np.multiply.at(factors, rows[rows >= 0], np.array(list(named.values()), dtype=float)[rows >= 0])
    for name, factor in boost.items():
        if name in named:
            continue
        values, pattern = attributes.values(name), attributes.categories(name).tocsc()
        for value, number in factor.items():
            if canonical(value) not in values:
                where = f"{ascii_line(name)} has no value {ascii_line(value)}"
                raise UsageError(f"boost: {where}{nearest(canonical(value), values)}")
            at = values.index(canonical(value))
            factors[pattern.indices[pattern.indptr[at] : pattern.indptr[at + 1]]] *= number
    return np.clip(factors, 1 / LARGEST_BOOST, LARGEST_BOOST).astype(np.float32)


def boosted(scores: Scores, factors: Scores) -> Scores:
    """Scores above zero are multiplied, scores below zero divided: a factor above 1 never lowers one."""
    return np.asarray(np.where(scores < 0, scores / factors, scores * factors), dtype=np.float32)


def unboosted(scores: Scores, factors: Scores) -> Scores:
    """The scores before the boost, up to rounding."""
    exact = factors.astype(np.float64)
    return np.asarray(np.where(scores < 0, scores * exact, scores / exact), dtype=np.float32)
