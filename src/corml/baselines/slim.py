"""SLIM: each item predicted from a few others by a sparse, non-negative regression."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csc_array, csr_array

from corml import memory
from corml.baselines._item_item import ItemItem, chance
from corml.errors import ConvergenceWarning, UsageError
from corml.interactions import Interactions
from corml.linalg.descent import nonnegative_nets
from corml.linalg.pairs import largest_gram, over_pairs
from corml.recommender import Progress
from corml.settings import above, at_least, check, log, optional, setting, whole

__all__ = ["SLIM"]

TIMES_CHANCE = 125


@dataclass(kw_only=True, eq=False)
class SLIM(ItemItem):
    """A non-negative elastic net of each item on all others (Ning and Karypis, ICDM 2011).

    Minimises, for each column w of W, ½‖x_j − Xw‖² + l2/2·‖w‖² + l1·‖w‖₁ subject to w ≥ 0, w_j = 0.

    Only items that met j more than l1 times can have a weight. At the optimum the slope of a positive weight is zero:
    (Xᵀx_j)_i = l1 + l2·w_i + (XᵀXw)_i, and as neither XᵀX nor w has a negative entry, the right side is more than l1.
    So all other pairs are left out before anything is solved, and the answer is the exact one. `candidates` leaves out
    more, the pairs that would gain least by themselves; then it is the exact answer for those that stay.

    Memory: XᵀX as a sparse matrix, 8 bytes for each pair of items that share a user, counted both ways, and three times
    that while it is put together; where a quarter of all pairs do, a dense copy of it as well.
    """

    NAME: ClassVar[str] = "slim"
    CITATION: ClassVar[str] = "Ning and Karypis: SLIM: Sparse Linear Methods for Top-N Recommender Systems. ICDM 2011"

    l1: float = setting(1.0, at_least(0), search=log(0.1, 20), help="weight of Σw: more makes W sparser")
    l2: float | None = setting(
        None, optional(above(0), "from the data"), search=log(3, 1000), help="ridge on the weights"
    )
    candidates: int | None = setting(
        None, optional(whole(1, 1_000_000), "all that can have a weight"), help="most items an item is predicted from"
    )
    tol: float = setting(1e-3, above(0, 1), help="slopes to reach, as a share of the largest at zero")
    max_steps: int = setting(1000, whole(1, 1_000_000), help="most passes over the candidates of an item")

    def fit(
        self,
        train: Interactions,
        *,
        valid: Interactions | None = None,
        start: "SLIM | None" = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from interactions; settings are checked first, the data are left alone.

        `start` is a fitted SLIM to begin from, such as one with a larger l1: it saves time and changes nothing else.
        Items are matched by id, so the data may have grown.
        """
        known = isinstance(train, Interactions)  # what is not is refused by the fit itself
        self._start = _moved(start, train) if start is not None and known else None
        try:
            return super().fit(train, valid=valid, progress=progress)
        finally:
            self._start = None

    def plan(self, train: Interactions) -> dict[str, Any]:
        """Ridge and memory of a fit; refuses what would not fit."""
        check(self)
        return {"l2": self._l2(train.matrix), "predicted bytes": _need_bytes(train.matrix)}

    def _l2(self, X: csr_array) -> float:
        return suggested_l2(X) if self.l2 is None else float(self.l2)

    def _weights(self, X: csr_array) -> csr_array:
        items, l2 = X.shape[1], self._l2(X)
        self.notes_ = {"l2": l2, "predicted bytes": _need_bytes(X)}
        G = over_pairs(X, told=lambda done: self._progress("pairs", done, items))
        found, unfinished = nonnegative_nets(
            G,
            l1=self.l1,
            l2=l2,
            start=csc_array((items, items), dtype=np.float32) if self._start is None else self._start,
            most=self.candidates,
            tol=self.tol,
            max_steps=self.max_steps,
            told=lambda done: self._progress("solve", done, items),
        )
        self.notes_ |= {"unfinished items": unfinished}
        if unfinished:
            warnings.warn(
                f"{unfinished:,} of {items:,} items stopped after {self.max_steps} passes (tol {self.tol:g}): "
                "raise max_steps or tol.",
                ConvergenceWarning,
                stacklevel=5,
            )
        W = csr_array(found.tocsr())
        W.sort_indices()
        return W


def suggested_l2(X: csr_array) -> float:
    """A ridge that grows with what is chance in the data; the factor was chosen on four validation parts."""
    return TIMES_CHANCE * chance(X)


def _need_bytes(X: csr_array) -> int:
    """Bytes of a fit; refuses what would not fit."""
    needed = 24 * largest_gram(X) + 32 * int(X.nnz)
    memory.require(
        needed,
        what=f"SLIM with all pairs of {X.shape[1]:,} items that share a user",
        instead="drop rare items with k_core, or use the model ease with route=local.",
    )
    return needed


def _moved(earlier: object, train: Interactions) -> csc_array:
    """The weights of an earlier model where the items of the data have their places."""
    if not isinstance(earlier, SLIM) or not hasattr(earlier, "weights_"):
        raise UsageError("start must be a fitted SLIM: fit it first, or leave it out.")
    place, W = train.items.find(earlier.items_.labels), earlier.weights_.tocoo()
    rows, columns = place[W.row], place[W.col]
    known = (rows >= 0) & (columns >= 0)
    return csc_array((W.data[known], (rows[known], columns[known])), shape=2 * (len(train.items),))
