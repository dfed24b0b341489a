"""Item neighbours: items that share users with an item."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from corml._runtime import memory
from corml._runtime.settings import at_least, choice, described, log, setting, whole
from corml.data.long_histories import longest_history
from corml.linalg.products import CHUNK, largest_gram, over_pairs, strongest
from corml.linalg.sparse import column_squares, rows_of
from corml.models.fitted import Outcome, Plan
from corml.models.linear._item_item import ItemItem
from corml.models.recommender import FitCall

__all__ = ["ItemKNN"]

A_VOTE = 16  # bytes: a neighbour's number and cosine, in its chunk and in W
A_PAIR = 28  # bytes for each entry of the rows of XᵀX that are being made
AN_INTERACTION = 16  # bytes: copies of the data by item


@described
@dataclass(kw_only=True, eq=False)
class ItemKNN(ItemItem):
    """Each item of a history votes for its nearest neighbours, by the cosine of their users (Deshpande and Karypis).

    W_ij = c_ij / (√(d_i d_j) + shrink) for the `neighbours` items j nearest to i, where c_ij users have both and d_i
    have i; with weights c_ij = Σ_u r_ui r_uj and d_i = Σ_u r_ui². Nothing is minimised. Shrinkage holds back pairs of
    rare items, whose cosine is large by chance.

    Memory: neighbours · items entries, and a chunk of rows of XᵀX while they are made.
    """

    NAME: ClassVar[str] = "item-knn"
    CITATION: ClassVar[str] = "Deshpande and Karypis: Item-Based Top-N Recommendation Algorithms. ACM TOIS 2004"

    LEARNS_WEIGHTS: ClassVar[bool] = True

    neighbours: int = setting(
        400, whole(1, 1_000_000), search=choice(50, 100, 200, 400, 1000), help="items each item votes for"
    )
    shrink: float = setting(
        30.0, at_least(0), search=log(1, 200), help="added to the denominator of the cosine, in users"
    )
    longest_history: int | None = longest_history()

    def _plan(self, X: csr_array) -> Plan:
        votes = min(self.neighbours * int(X.shape[1]), largest_gram(X))
        needed = A_VOTE * votes + A_PAIR * min(CHUNK, largest_gram(X)) + AN_INTERACTION * int(X.nnz)
        memory.require(
            needed,
            what=f"item-knn with up to {min(self.neighbours, X.shape[1]):,} neighbours of each of {X.shape[1]:,} items",
            instead="set fewer neighbours.",
        )
        return Plan(predicted_bytes=needed)

    def _fit(self, call: FitCall) -> Outcome:
        X, plan = call.R, self._plan(call.R)
        root = np.sqrt(column_squares(X)).astype(np.float32)

        def votes(rows: csr_array, first: int) -> csr_array:
            items = first + rows_of(rows)
            rows.data /= root[items] * root[rows.indices] + np.float32(self.shrink)
            rows.data[rows.indices == items] = 0
            return strongest(rows, self.neighbours)

        W = over_pairs(X, votes, progress=lambda done: call.progress("neighbours", done, X.shape[1]))
        return Outcome(arrays={"weights": W}, plan=plan)
