"""SLIM: each item predicted from a few others by a sparse, non-negative regression."""

import warnings
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from scipy.sparse import csc_array, csr_array

from corml._runtime import memory
from corml._runtime.progress import Asked
from corml._runtime.settings import above, at_least, described, log, optional, setting, whole
from corml.data.interactions import Interactions
from corml.data.long_histories import longest_history
from corml.errors import ConvergenceWarning, UsageError
from corml.linalg.products import largest_gram, over_pairs, row_bounds
from corml.linalg.regressions import nonnegative_nets, solver_bytes
from corml.models.fitted import Certificate, Fitted, Outcome, Plan, on_items
from corml.models.linear._item_item import ItemItem, RidgePlan, ridge
from corml.models.recommender import FitCall

__all__ = ["SLIM"]

TIMES_CHANCE = 125  # the ridge in units of the noise of XᵀX, chosen on four validation sets


@described
@dataclass(kw_only=True, eq=False)
class SLIM(ItemItem):
    """A non-negative elastic net of each item on all others (Ning and Karypis, ICDM 2011).

    Minimises, for each column w of W, ½‖x_j − Xw‖² + l2/2·‖w‖² + l1·‖w‖₁ subject to w ≥ 0, w_j = 0.

    Only items that share more than l1 users with j can have a weight. At the optimum the gradient of a positive weight
    is zero:
    (Xᵀx_j)_i = l1 + l2·w_i + (XᵀXw)_i, and as neither XᵀX nor w has a negative entry, the right side is more than l1.
    So all other pairs are excluded before anything is solved, and the answer is the exact one. `candidates` excludes
    more, the pairs that explain least by themselves; then it is the exact answer for those that stay.

    Memory: XᵀX as a sparse matrix, 8 bytes for each pair of items that share a user, counted both ways, and three times
    that while it is put together; where a quarter of all pairs do, a dense copy of it as well. Each thread keeps rows
    of it for the item it solves: 6 bytes for each pair of candidates, up to 100 MB.
    """

    NAME: ClassVar[str] = "slim"
    PLAN: ClassVar[type[Plan]] = RidgePlan
    LEARNS_WEIGHTS: ClassVar[bool] = True
    CITATION: ClassVar[str] = "Ning and Karypis: SLIM: Sparse Linear Methods for Top-N Recommender Systems. ICDM 2011"

    l1: float = setting(1.0, at_least(0), search=log(0.1, 20), help="weight of Σw: more makes W sparser")
    l2: float | None = setting(
        None, optional(above(0), "from the data"), search=log(3, 1000), help="ridge on the weights"
    )
    candidates: int | None = setting(
        None, optional(whole(1, 1_000_000), "all that can have a weight"), help="max items an item is predicted from"
    )
    tol: float = setting(1e-3, above(0, 1), help="slopes to reach, as a share of the largest at zero")
    max_steps: int = setting(1000, whole(1, 1_000_000), help="max passes over the candidates of an item")
    longest_history: int | None = longest_history()

    def fit(
        self,
        train: Interactions,
        *,
        valid: Interactions | None = None,
        warm_start: "SLIM | None" = None,
        progress: Asked = None,
    ) -> Self:
        """Learn from interactions; settings are checked first, the data are left alone.

        `warm_start` is a fitted SLIM to begin from, such as one with a larger l1: it saves time and changes nothing
        else. Items are matched by id, so the data may have grown.
        """
        is_data = isinstance(train, Interactions)  # anything else is refused by the fit itself
        weights = _weights_on(warm_start, train) if warm_start is not None and is_data else None
        return self._fit_and_keep(train, valid, progress, weights=weights)

    def _plan(self, X: csr_array) -> RidgePlan:
        pairs = largest_gram(X)
        solving = solver_bytes(int(X.shape[1]), pairs, int(row_bounds(X).max(initial=0)), self.candidates)
        needed = max(24 * pairs, solving) + 32 * int(X.nnz)
        memory.require(
            needed,
            what=f"SLIM with all pairs of {X.shape[1]:,} items that share a user",
            instead="drop rare items with k_core, or use the model ease with route=local.",
        )
        return RidgePlan(l2=ridge(self.l2, X, TIMES_CHANCE), predicted_bytes=needed)

    def _fit(self, call: FitCall, *, weights: csc_array | None = None) -> Outcome:
        plan, items = self._plan(call.R), call.R.shape[1]
        G = over_pairs(call.R, progress=lambda done: call.progress("pairs", done, items))
        solved, unfinished = nonnegative_nets(
            G,
            l1=self.l1,
            l2=plan.l2,
            warm_start=csc_array((items, items), dtype=np.float32) if weights is None else weights,
            max_candidates=self.candidates,
            tol=self.tol,
            max_steps=self.max_steps,
            progress=lambda done: call.progress("solve", done, items),
        )
        certificate = Certificate(
            steps=self.max_steps, converged=not unfinished, residual=self.tol, unfinished_items=unfinished
        )
        if unfinished:
            warnings.warn(
                f"{unfinished:,} of {items:,} items stopped after {self.max_steps} passes (tol {self.tol:g}): "
                "raise max_steps or tol.",
                ConvergenceWarning,
                stacklevel=5,
            )
        W = csr_array(solved.tocsr())
        W.sort_indices()
        return Outcome(arrays={"weights": W}, plan=plan, certificates=(certificate,))


def _weights_on(earlier: object, train: Interactions) -> csc_array:
    """The weights of an earlier fit for the items of these data."""
    state: Fitted | None = vars(earlier).get("fitted_") if isinstance(earlier, SLIM) else None
    if state is None:
        raise UsageError("warm_start must be a fitted SLIM: fit it first, or leave it out.")
    return csc_array(on_items(state.arrays["weights"], state.items, train.items))
