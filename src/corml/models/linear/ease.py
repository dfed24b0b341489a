"""EASE: each item predicted from all others by ridge regression, in closed form."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from scipy.sparse import csr_array

from corml._runtime import memory
from corml._runtime.parallel import threads
from corml._runtime.progress import Progress
from corml._runtime.settings import above, choice, described, log, one_of, optional, setting, whole
from corml.data.long_histories import longest_history
from corml.linalg.products import dense_gram, largest_gram, over_pairs, strongest
from corml.linalg.regressions import local_ridge
from corml.linalg.sparse import column_squares, rows_of
from corml.linalg.spd import TILE, spd_inverse
from corml.models.fitted import Outcome, Plan
from corml.models.linear._item_item import ItemItem, RidgePlan, largest_of_columns, ridge
from corml.models.recommender import FitCall

__all__ = ["EASE"]

SPARE = 1.1  # of the dense route's one array: and panels and tiles
ALWAYS, MANY = 1 << 25, 10_000  # bytes of threads, compiled code and tiles, for more than so many interactions
A_TILED = 9  # bytes of each entry of a tile, where those are counted alone
A_WEIGHT = 28  # bytes for each candidate of an item on the local route
A_KEPT = 56  # bytes for each weight kept of the dense route: in bands, put together, and sorted
TIMES_CHANCE = 200  # the ridge in units of the noise of XᵀX, chosen on four validation sets
MAX_DENSE_ITEMS = 20_000  # beyond, the inverse takes minutes, and the local route gives lists as good in one
Route = Literal["auto", "dense", "local"]


@dataclass(frozen=True, kw_only=True)
class EASEPlan(RidgePlan):
    """Which route, and with which ridge."""

    route: str


@described
@dataclass(kw_only=True, eq=False)
class EASE(ItemItem):
    """Ridge regression of each item on all others (Steck, WWW 2019).

    Minimises ‖X − XW‖² + l2·‖W‖² subject to diag(W) = 0, whose answer is W_ij = −P_ij / P_jj for i ≠ j with
    P = (XᵀX + l2·I)⁻¹. With weights X is the weighted matrix.

    Memory: the dense route works in one array of items × items single-precision numbers, 4 bytes each, and keeps it
    unless `neighbours` says how many weights of each item to keep. The local route solves the same regression on the
    `candidates` of each item alone, those that would explain most of it by themselves, and keeps only their weights.
    """

    NAME: ClassVar[str] = "ease"
    PLAN: ClassVar[type[Plan]] = EASEPlan
    CITATION: ClassVar[str] = "Steck: Embarrassingly Shallow Autoencoders for Sparse Data. WWW 2019"

    LEARNS_WEIGHTS: ClassVar[bool] = True

    l2: float | None = setting(
        None, optional(above(0), "from the data"), symbol="λ", search=log(10, 5000), help="ridge on the weights"
    )
    route: Route = setting(
        "auto", one_of(*get_args(Route)), help="dense: all items at once; local: on the candidates of each; or by size"
    )
    candidates: int = setting(400, whole(1, 10_000), help="items each item is predicted from on the local route")
    neighbours: int | None = setting(
        None,
        optional(whole(1, 1_000_000), "keep all"),
        search=choice(None, 100, 400),
        help="weights kept for each item, the largest in size",
    )
    longest_history: int | None = longest_history()

    def _plan(self, X: csr_array) -> EASEPlan:
        route: str = self.route
        if route == "auto":
            fits = dense_bytes(X, self.neighbours) <= memory.budget()
            route = "dense" if X.shape[1] <= MAX_DENSE_ITEMS and fits else "local"
        dense = route == "dense"
        needed = dense_bytes(X, self.neighbours) if dense else local_bytes(X, self.candidates)
        memory.require(
            needed,
            what=f"EASE of {X.shape[1]:,} items on the {route} route",
            instead="set route=local." if dense else "set fewer candidates.",
        )
        return EASEPlan(route=route, l2=ridge(self.l2, X, TIMES_CHANCE), predicted_bytes=needed)

    def _fit(self, call: FitCall) -> Outcome:
        plan = self._plan(call.R)
        W = (self._dense if plan.route == "dense" else self._local)(call.R, plan.l2, call.progress)
        return Outcome(arrays={"weights": W}, plan=plan)

    def _dense(self, X: csr_array, l2: float, progress: Progress) -> Any:
        progress("invert", 0, 1)
        P = dense_gram(X, X, np.float32)
        P[np.diag_indices_from(P)] += np.float32(l2)
        W = spd_inverse(P)
        W /= -np.diag(W).copy()
        np.fill_diagonal(W, 0)
        progress("invert", 1, 1)
        return W if self.neighbours is None else largest_of_columns(W, self.neighbours)

    def _local(self, X: csr_array, l2: float, progress: Progress) -> csr_array:
        explained = 1 / (column_squares(X) + l2).astype(np.float32)  # an item alone explains c_ij² / 2(d_i + l2)

        def best(rows: csr_array, first: int) -> csr_array:
            value = rows.data**2 * explained[rows.indices]
            value[rows.indices == first + rows_of(rows)] = 0
            return strongest(rows, self.candidates, by=value)

        items = X.shape[1]
        chosen = over_pairs(X, best, progress=lambda done: progress("candidates", done, items))
        W = local_ridge(X, chosen, l2, progress=lambda done: progress("solve", done, items))
        if self.neighbours is not None and self.neighbours < self.candidates:
            W = strongest(W, self.neighbours, by=np.abs(W.data))
        transposed = csr_array(W.T.tocsr())
        transposed.eliminate_zeros()
        return transposed


def dense_bytes(X: csr_array, neighbours: int | None = None) -> int:
    """Peak of the dense route in addition to the data: one array, tiles of it, and the weights kept."""
    n = int(X.shape[1])
    kept = 0 if neighbours is None else A_KEPT * n * min(neighbours, n)
    return (ALWAYS if X.nnz > MANY else A_TILED * min(TILE, n) ** 2) + int(SPARE * 4 * n**2) + kept


def local_bytes(X: csr_array, candidates: int) -> int:
    """Peak of the local route in addition to the data: candidates and weights, and a system for each thread."""
    entries = min(candidates * int(X.shape[1]), largest_gram(X))
    return A_WEIGHT * entries + 2 * threads() * 4 * candidates**2
