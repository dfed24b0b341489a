"""GF-CF: a linear and an ideal low-pass filter of the item graph, without any training."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime import memory
from corml._runtime.parallel import blas
from corml._runtime.settings import at_least, choice, described, linear, one_of, optional, setting, whole
from corml.data.long_histories import LONGEST
from corml.data.strength import capped, of_mean_square_one, with_values
from corml.errors import ModelFileError, UsageError
from corml.linalg import svd
from corml.linalg.products import add_sparse_product, largest_gram, over_pairs
from corml.linalg.sparse import Values, Vector, column_degrees, narrow, normalised
from corml.linalg.svd import right_singular_vectors
from corml.models.fitted import Outcome, Plan, learned
from corml.models.recommender import FitCall, Recommender
from corml.recommend.score import band_of

if TYPE_CHECKING:
    from corml.evaluation.result import Result

__all__ = ["GFCF"]

Route = Literal["auto", "users", "pairs"]
USERS_A_VECTOR = 32
WORTH_PAIRS = 4  # times the work through users that makes a matrix of pairs worth its memory
AN_INTERACTION = 24  # bytes: copies of the data, scaled and by item
A_PAIR = 24  # bytes for each pair, both ways, while their matrix is put together


@dataclass(frozen=True, kw_only=True)
class GFCFPlan(Plan):
    """How NᵀN is applied, and how many singular vectors there are."""

    route: str
    rank: int


@described
@dataclass(kw_only=True, eq=False)
class GFCF(Recommender):
    """Two filters of the graph of users and items (Shen, Wu, Zhang, Shan, Zhang, Letaief and Li, CIKM 2021).

    With N = D_U^{-1/2} R D_I^{-1/2} and V its `rank` top right singular vectors, scores are

        Y = R NᵀN + alpha · R D_I^{-1/2} V Vᵀ D_I^{1/2}

    the linear filter and the ideal low-pass one. Nothing is minimised and nothing learned but V. Any history may stand
    for a row of R.

    Memory: V, and while it is made a few times as much. NᵀN is never dense. Scores go through the training users,
    (R Nᵀ) N, where that is about as fast; where users share most items, NᵀN is kept as a sparse matrix instead.
    """

    NAME: ClassVar[str] = "gf-cf"
    CITATION: ClassVar[str] = (
        "Shen, Wu, Zhang, Shan, Zhang, Letaief and Li: How Powerful is Graph Convolution for Recommendation? CIKM 2021"
    )
    PLAN: ClassVar[type[Plan]] = GFCFPlan
    LEARNS_WEIGHTS: ClassVar[bool] = True

    V_ = learned(np.ndarray, "items", None)
    pairs_: ClassVar[Any] = learned(csr_array, "items", "items", optional=True)

    rank: int | None = setting(
        None,
        optional(whole(1, 10_000), "256 as published, fewer for few users"),
        symbol="k",
        search=choice(32, 64, 128, 256, 512),
        help="singular vectors kept in V",
    )
    alpha: float = setting(0.3, at_least(0), symbol="α", search=linear(0, 1), help="weight of the low-pass filter")
    route: Route = setting(
        "auto", one_of(*get_args(Route)), help="how NᵀN is applied: through users, kept as pairs, or by cost"
    )

    def _plan(self, X: csr_array) -> GFCFPlan:
        rank = min(self.rank or suggested_rank(X), *X.shape) if self.alpha > 0 else 0
        copies = AN_INTERACTION * int(X.nnz)
        vectors = copies + (svd.peak_bytes(X, rank) if rank else 0)
        pairs = copies + 8 * X.shape[1] * rank + A_PAIR * largest_gram(X)
        route = _route(X, pairs) if self.route == "auto" else self.route
        many_pairs = route == "pairs" and pairs > vectors
        needed, what = (pairs, "all pairs") if many_pairs else (vectors, f"{rank:,} singular vectors")
        memory.require(
            needed,
            what=f"gf-cf with {what} of {X.shape[1]:,} items",
            instead="set route=users." if many_pairs else "lower rank.",
        )
        return GFCFPlan(route=route, rank=rank, predicted_bytes=needed)

    def _fit(self, call: FitCall) -> Outcome:
        plan, X, N = self._plan(call.X), call.X, normalised(call.R)
        V = np.zeros((X.shape[1], 0), dtype=np.float32)
        call.progress("filter", 0, 1)
        if self.alpha > 0:
            V = right_singular_vectors(N, plan.rank)[0].astype(np.float32)
        call.progress("filter", 1, 1)
        plan, arrays = replace(plan, rank=V.shape[1]), {"V": V}
        if plan.route == "pairs":
            arrays["pairs"] = over_pairs(narrow(N), progress=lambda done: call.progress("pairs", done, X.shape[1]))
        return Outcome(arrays=arrays, plan=plan)

    def _check_state(self) -> None:
        """Refuse a model whose linear filter is gone."""
        if self.pairs_ is None and not len(self.fitted_.users):
            raise ModelFileError("it scores through the histories of its users, which it does not have")

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        history: bool = True,
        evaluation: "Result | Mapping[str, Any] | None" = None,
    ) -> None:
        """Write the model as one file, atomically; without its users only if it does not score through them."""
        self._check_fitted()
        if not history and self.pairs_ is None:
            raise UsageError("This GFCF scores through its training users: keep them, or fit with route='pairs'.")
        super().save(path, history=history, evaluation=evaluation)

    def _block_shape(self, X: csr_array) -> tuple[int, int]:
        """Bands of whole rows."""
        return band_of(*X.shape)

    @property
    def filters(self) -> "_Filters":
        """V and the data prepared for scoring with the settings of the fit; made once."""
        return self._derive(lambda: _Filters.of(self))

    def score_block(self, users: csr_array, columns: slice) -> Values:
        """Scores of histories for a range of items."""
        filters = self.filters
        with blas(size=min(users.shape)):
            out: Values = (users @ filters.left) @ filters.right[:, columns]
        if filters.first is not None:
            users = csr_array(users @ filters.first)
        whole = out.shape[1] == filters.last.shape[1]
        add_sparse_product(users, filters.last if whole else filters.last[:, columns], out)
        return out

    def _contributions(self, history: NDArray[np.int64], target: int) -> dict[str, Vector]:
        """What each history item adds to a score: the linear and the low-pass part."""
        filters = self.filters
        column = filters.last[:, [target]]  # alone: rows of all pairs of a long history would be its square
        linear = column[history] if filters.first is None else filters.first[history] @ column
        low = filters.left[history].astype(np.float64) @ filters.right[:, target].astype(np.float64)
        return {"linear": linear.toarray()[:, 0].astype(np.float64), "low-pass": low}


@dataclass(frozen=True)
class _Filters:
    """Scores are X left right + X first last; without `first` (through users) it is X last (pairs)."""

    left: Values
    right: Values
    first: csr_array | None
    last: csr_array

    @classmethod
    def of(cls, model: GFCF) -> Self:
        root = np.sqrt(np.maximum(model.counts_, 1)).astype(np.float32)[:, None]
        left = np.asarray(model.V_ / root, dtype=np.float32)
        right = np.ascontiguousarray((np.float32(model.settings_.alpha) * root * model.V_).T)
        if model.pairs_ is not None:
            return cls(left, right, None, model.pairs_)
        learned = with_values(model.fitted_.train, capped(model.fitted_.weights))  # as in the fit
        N = narrow(normalised(of_mean_square_one(learned)))
        return cls(left, right, N.T.tocsr(), N)


def suggested_rank(X: csr_array) -> int:
    """One singular vector for 32 users, from 16 to the published 256: with more, V overfits."""
    return min(max(int(X.shape[0]) // USERS_A_VECTOR, 16), 256)


def _route(X: csr_array, pair_bytes: int) -> str:
    """How to apply NᵀN: of a history item, the items of all its users are read, or the items that co-occur with it.

    The pairs of one very long history are its square, however little the rest is: such data go through users.
    """
    if np.diff(X.indptr).max(initial=0) > LONGEST:
        return "users"
    d = column_degrees(X)
    read = X.T @ np.diff(X.indptr).astype(np.float64)
    saves = float(d @ read) > WORTH_PAIRS * float(d @ np.minimum(read, X.shape[1]))
    return "pairs" if saves and pair_bytes <= memory.budget() else "users"
