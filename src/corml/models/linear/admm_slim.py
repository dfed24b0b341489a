"""ADMM-SLIM: SLIM solved for all items at once, with or without its sign constraint."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from corml._runtime import memory
from corml._runtime.settings import (
    above,
    at_least,
    between,
    described,
    linear,
    log,
    optional,
    setting,
    whole,
    yes_or_no,
)
from corml.data.long_histories import longest_history
from corml.errors import ConvergenceWarning
from corml.linalg import admm
from corml.linalg.products import dense_gram
from corml.linalg.sparse import Array, Vector, column_degrees, power, scaled
from corml.models.fitted import Certificate, Outcome, Plan
from corml.models.linear._item_item import ItemItem, RidgePlan, ridge
from corml.models.linear.slim import TIMES_CHANCE
from corml.models.recommender import FitCall

__all__ = ["ADMMSLIM"]

AN_INTERACTION = 16  # bytes: copies of the data by item
SPARE = 1.05  # of the solver's arrays: and smaller ones
ROWS = 256  # thresholded at a time


@described
@dataclass(kw_only=True, eq=False)
class ADMMSLIM(ItemItem):
    """An elastic net of each item on all others, solved for all at once by ADMM (Steck and others, WSDM 2020).

    Minimises ½‖X − XB‖² + l2/2·‖B‖² + l1·‖B‖₁ subject to diag(B) = 0 and, unless `nonnegative` is off, B ≥ 0. With
    `item_norm` = t the columns of X are divided by (d/mean d)^t first, and scores are x D^{-t} B D^t: the larger t, the
    more alike items count. With t = 0 and B ≥ 0 it is the problem of SLIM; with l1 = 0 and B free it is EASE.

    Memory: six arrays of items × items single-precision numbers, 24 bytes for each pair of items, and a band of one.
    """

    NAME: ClassVar[str] = "admm-slim"
    PLAN: ClassVar[type[Plan]] = RidgePlan
    LEARNS_WEIGHTS: ClassVar[bool] = True
    CITATION: ClassVar[str] = (
        "Steck, Dimakopoulou, Riabov and Jebara: ADMM SLIM: Sparse Recommendations for Many Users. WSDM 2020"
    )

    l1: float = setting(1.0, at_least(0), symbol="λ1", search=log(0.1, 20), help="weight of ‖B‖₁: more makes B sparser")
    l2: float | None = setting(
        None, optional(above(0), "from the data, as SLIM"), symbol="λ2", search=log(3, 1000), help="ridge on B"
    )
    nonnegative: bool = setting(True, yes_or_no(), help="no negative weights, as in SLIM")
    item_norm: float = setting(
        0.0, between(0, 1), symbol="t", search=linear(0, 0.5), help="power of an item's popularity it is divided by"
    )
    rho: float | None = setting(
        None, optional(above(0), "from the problem"), symbol="ρ", help="step length: speed, not the answer"
    )
    max_steps: int = setting(500, whole(1, 1_000_000), help="max steps of the solver")
    tol: float = setting(1e-3, between(0, 1), help="relative residuals to reach; 0 runs exactly max_steps")
    longest_history: int | None = longest_history()

    def _plan(self, X: csr_array) -> RidgePlan:
        items, arrays = int(X.shape[1]), admm.ARRAYS_ALIVE
        needed = int(SPARE * 4 * items * (arrays * items + min(admm.TILE, items))) + AN_INTERACTION * int(X.nnz)
        memory.require(
            needed,
            what=f"ADMM-SLIM with {arrays} dense arrays of {items:,} × {items:,} items",
            instead="use the model slim, which solves the same problem on co-occurring pairs.",
        )
        return RidgePlan(l2=ridge(self.l2, X, TIMES_CHANCE), predicted_bytes=needed)

    def _fit(self, call: FitCall) -> Outcome:
        X, plan = call.R, self._plan(call.R)
        d = column_degrees(X)
        d /= d.mean()
        N = scaled(X, columns=power(d, -self.item_norm)) if self.item_norm else X
        B = dense_gram(N, N, np.float32)
        M = B.copy()
        M[np.diag_indices_from(M)] += np.float32(plan.l2)
        solution = admm.solve(
            M,
            B,
            self._nearest,
            rho=self.rho,
            max_steps=self.max_steps,
            tol=self.tol,
            progress=lambda trace: call.progress("solve", len(trace), self.max_steps),
        )
        self._warn_if_not_converged(solution)
        W = _sparse_if_smaller(solution.H, d, self.item_norm)
        return Outcome(arrays={"weights": W}, plan=plan, certificates=(Certificate.of_admm(solution),))

    def _nearest(self, S: Array, Z: Array, rho: float) -> float:
        """Z ← S with every entry drawn to zero by l1/ρ, negative ones all the way if they may not be."""
        threshold, moved = S.dtype.type(self.l1 / rho), 0.0
        for start in range(0, len(S), ROWS):
            part = S[start : start + ROWS]
            new = np.maximum(part - threshold, 0)
            if not self.nonnegative:
                new += np.minimum(part + threshold, 0)
            moved += admm.norm(new - Z[start : start + ROWS]) ** 2
            Z[start : start + ROWS] = new
        return float(np.sqrt(moved))

    def _warn_if_not_converged(self, solution: admm.Solution) -> None:
        if self.tol > 0 and not solution.converged:
            warnings.warn(
                f"The solver stopped after {solution.steps} steps at a residual of {solution.residual:.1e} "
                f"(tol {self.tol:g}): raise max_steps or tol.",
                ConvergenceWarning,
                stacklevel=6,
            )


def _sparse_if_smaller(B: Array, d: Vector, item_norm: float) -> Any:
    """D^{-t} B D^t, as a sparse matrix where that takes less room."""
    if item_norm:
        B *= power(d, -item_norm).astype(np.float32)[:, None]
        B *= power(d, item_norm).astype(np.float32)
    return csr_array(B) if 2 * np.count_nonzero(B) < B.size else B
