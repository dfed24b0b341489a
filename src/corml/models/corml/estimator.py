"""CoRML: Collaborative Residual Metric Learning (SIGIR 2023), the model this package is about."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from corml._runtime import memory
from corml._runtime.progress import Asked
from corml._runtime.settings import (
    Rule,
    Search,
    above,
    at_least,
    between,
    choice,
    described,
    linear,
    log,
    one_of,
    optional,
    setting,
    values_of,
    whole,
    yes_or_no,
)
from corml.data.interactions import Interactions
from corml.data.long_histories import are_degrees, longest_history
from corml.data.requested_ids import row_of
from corml.errors import ModelFileError, UsageError
from corml.linalg.closeness import Closeness
from corml.linalg.sparse import Array, Values, Vector, column_degrees, is_symmetric
from corml.models import fitted
from corml.models.corml.cost import selects_filter
from corml.models.corml.dial import NoveltyDial
from corml.models.corml.fit import fit_as_planned
from corml.models.corml.plan import PAIR_TOL, SELECTED, Plan, make_plan
from corml.models.corml.problem import Filter, Weights
from corml.models.corml.scoring import Scoring
from corml.models.corml.selection import select_filter
from corml.models.corml.sparse.reuse import WarmStart, Workspace
from corml.models.fitted import Outcome, Settings, learned
from corml.models.new_items import degrees_with, metric_with, vectors_with
from corml.models.recommender import FitCall, Recommender
from corml.recommend.score import Lists

Solver = Literal["auto", "admm", "sparse"]
Precision = Literal["single", "double"]
PAPER: dict[str, Any] = {  # what the published problem has where our defaults differ; λ, t, ε, t_u and θ are searched
    "ridge": 0.0,
    "user_balance": 0.0,
    "graph_user_norm": 0.5,
    "graph_item_norm": 0.5,
    "filter_norm": 0.5,
    "filter": "elementwise",
    "rank": 256,
    "adapt": False,
    "longest_history": None,
}


@described
@dataclass(kw_only=True, eq=False)
class CoRML(Recommender):
    """A linear item-item model: a graph filter G, and a learned symmetric H ≥ 0 that is a distance metric.

    Scores are `Y = R D^{-t} H D^{t} + ω(1/λ − 1) R D^{-s} G D^{s}`; H solves problem H (see `problem.py`).
    With weights R is the weighted matrix; D still counts users.
    The defaults are meant to be used. No setting changes another: `CoRML.paper()` has the published problem.
    """

    NAME: ClassVar[str] = "corml"
    CITATION: ClassVar[str] = "Wei, Ma, Chow: Collaborative Residual Metric Learning. SIGIR 2023"
    PLAN: ClassVar[type[fitted.Plan]] = Plan
    LEARNS_WEIGHTS: ClassVar[bool] = True
    _HELD_IN_SEARCH: ClassVar[tuple[str, ...]] = SELECTED

    H_ = learned(csr_array, "items", "items")
    V_ = learned(np.ndarray, "items", None)
    degrees_ = learned(np.ndarray, "items")
    _link_: ClassVar[Any] = learned(csr_array, "items", "items", optional=True)  # of new items

    mix: float = setting(
        0.75, above(0, 1), symbol="λ", search=linear(0.3, 0.95), help="weight of the learned H against the filter G"
    )
    item_norm: float = setting(
        0.1, between(-1, 1), symbol="t", search=linear(-0.2, 0.2), help="lower is more novel, higher more popular"
    )
    scale: float = setting(
        0.8, above(0), symbol="ε", search=log(0.01, 3), help="global scale of the approximated ranking weights"
    )
    user_norm: float = setting(
        0.0, between(0, 2), symbol="t_u", search=choice(0.0, 0.5, 1.0), help="user-degree exponent of those weights"
    )
    l2: float = setting(0.3, at_least(0), symbol="θ", search=log(0.03, 3), help="degree-weighted ridge on H")
    ridge: float | None = setting(
        None, optional(at_least(0), "from the mean item degree"), search=log(5, 500), help="plain ridge on H"
    )
    user_balance: float = setting(
        0.25, between(0, 2), search=linear(0, 1), help="0: interactions count alike, as in the paper; higher: users do"
    )
    rank: int | None = setting(
        None,
        optional(whole(1, 10_000), "from the size of the data"),
        symbol="k",
        search=choice(16, 32, 64, 128, 256, 512),
        help="singular vectors kept in V",
    )
    graph_user_norm: float = setting(
        0.4,
        between(0, 1),
        symbol="a",
        search=linear(0.1, 0.5),
        help="user-degree exponent of the graph of V; ½ in the paper",
    )
    graph_item_norm: float = setting(
        0.4,
        between(0, 1),
        symbol="b",
        search=linear(0.3, 0.5),
        help="item-degree exponent of the graph of V; ½ in the paper",
    )
    filter_norm: float = setting(
        0.4,
        between(0, 1),
        symbol="s",
        search=linear(0.2, 0.6),
        help="item-degree exponent of the filter's part of the scores; ½ in the paper",
    )
    filter_weight: float | None = setting(
        None,
        optional(at_least(0), "1, or selected"),
        symbol="ω",
        search=log(0.2, 2),
        help="weight of the filter in the scores, times 1/λ − 1; 1 in the paper",
    )
    filter_power: float | None = setting(
        None,
        optional(between(0, 4), "0, or selected"),
        symbol="p",
        search=choice(0.0, 0.5, 1.0, 2.0, 4.0),
        help="exponent of the singular values in the scores' filter; 0, all alike, in the paper",
    )
    learn_rank: int | None = setting(
        None,
        optional(whole(1, 10_000), "all of rank"),
        help="singular vectors of the filter given which H is learned; all in the paper",
    )
    filter: Filter = setting(
        "factored", one_of(*get_args(Filter)), help="how G is clipped: by entry, not at all, or mixed"
    )
    adapt: bool = setting(
        True,
        yes_or_no(),
        help="select rank, filter_power and filter_weight on held-out items of some users, if not given",
    )
    solver: Solver = setting(
        "auto", one_of(*get_args(Solver)), help="how problem H is solved: dense, on pairs, or by prediction"
    )
    candidates: int | None = setting(
        None,
        optional(whole(1, 1_000_000), "all co-occurring pairs, if those are not too many"),
        help="pairs of each item the sparse solver begins with, those that co-occur most",
    )
    pair_tol: float = setting(
        PAIR_TOL,
        between(0, 1),
        help="add excluded pairs whose KKT violation is above this share of the largest linear term",
    )
    rho: float | None = setting(
        None, optional(above(0), "from the problem"), symbol="ρ", help="ADMM step length: speed, not the answer"
    )
    max_steps: int = setting(500, whole(1, 1_000_000), help="max steps of the solver")
    tol: float = setting(1e-3, between(0, 1), help="relative residuals to reach; 0 runs exactly max_steps")
    partition_ratio: float = setting(1.0, above(0, 1), help="largest share of the items in one block of H")
    budget: int | None = setting(
        None, optional(whole(1, 10_000), "keep all of H"), symbol="γ", help="prune H to the size of such a factor model"
    )
    max_memory: str | None = setting(
        None, optional(Rule("a size such as '8GB'", memory.is_size, str), "what is free"), help="max memory of a fit"
    )
    longest_history: int | None = longest_history()
    precision: Precision = setting("single", one_of(*get_args(Precision)), help="floating-point numbers of the solver")

    @classmethod
    def paper(cls, **settings: Any) -> Self:
        """The published problem: no plain ridge, every interaction alike, exponents of ½, G clipped entry by entry.

        Its λ, t, ε, t_u and θ are the settings mix, item_norm, scale, user_norm and l2; any setting may be given.
        """
        return cls(**{**PAPER, **settings})

    def _plan(self, X: csr_array) -> Plan:
        """Solver, rank, ridge, pairs, memory and time."""
        return make_plan(X, Settings(values_of(self)))

    def fit(
        self,
        train: Interactions,
        *,
        valid: Interactions | None = None,
        warm_start: "CoRML | None" = None,
        workspace: Workspace | None = None,
        progress: Asked = None,
    ) -> Self:
        """Learn from interactions; settings are checked first, the data are left alone.

        `warm_start` is a fitted CoRML to begin from, which saves time, not accuracy: the sparse solver starts at its H
        (items are matched by id, so the data may have grown), and on the same data its singular vectors are used again.
        `workspace` is for many fits of the same data with other settings: it keeps what they share.
        """
        if workspace is not None and not isinstance(workspace, Workspace):
            raise UsageError("workspace must be a corml.Workspace of the same interactions: Workspace(train).")
        how: dict[str, Any] = {"workspace": workspace}
        if isinstance(train, Interactions):  # anything else is refused by the fit itself
            if workspace is not None:
                workspace.serve(train, self.longest_history)
            how["warm_start"] = None if warm_start is None else WarmStart.of(warm_start, train, self)
        return self._fit_and_keep(train, valid, progress, **how)

    def _fit_again(self, data: Interactions, earlier: Self, progress: Asked) -> Self:
        """Begin from the earlier H."""
        return self.fit(data, warm_start=earlier, progress=progress)

    @classmethod
    def _shared_by_fits(cls, train: Interactions, searched: Mapping[str, Search]) -> dict[str, Any]:
        """A workspace with directions enough for every rank that is searched."""
        rank = searched.get("rank")
        return {"workspace": Workspace(train, rank=1 if rank is None else int(max(rank.values)))}

    def _held_in_search(self, searched: Collection[str]) -> dict[str, Any]:
        """The filter that was selected, except for what is searched; it is not selected again."""
        if not selects_filter(self.fitted_.settings):
            return {}
        chosen = {name: self.settings_[name] for name in SELECTED if name not in searched}
        if "rank" in searched:  # H is learned given all directions of a trial
            chosen.pop("learn_rank", None)
        return {"adapt": False, **chosen}

    @staticmethod
    def dial(train: Interactions, item_norms: Sequence[float] = (-0.2, -0.1, 0.0, 0.1, 0.2), **settings: Any) -> "Dial":
        """Fit one model for the whole popularity–novelty trade-off: recommend(…, novelty=0…1) chooses the point."""
        return Dial(item_norms=tuple(item_norms), of=settings).fit(train)

    def _fit(
        self, call: FitCall, *, warm_start: WarmStart | None = None, workspace: Workspace | None = None
    ) -> Outcome:
        given, R = call.fitted.settings, call.R
        plan = make_plan(R, given)
        if selects_filter(given):
            plan, warm_start = _with_selected_filter(R, call, given, plan, warm_start)
        V, H, certificates = fit_as_planned(
            R,
            settings=plan.resolved(given),
            plan=plan,
            progress=call.progress,
            warm_start=warm_start,
            workspace=workspace,
        )
        arrays = {"H": H, "V": V, "degrees": column_degrees(R)}
        return Outcome(arrays=arrays, plan=plan, certificates=tuple(certificates))

    def _check_state(self) -> None:
        """Refuse an H that is not symmetric, hollow and non-negative, and degrees that are not those of the data."""
        learned = slice(None) if self._link_ is None else np.diff(self._link_.indptr) == 0
        degrees, longest = self.degrees_[learned], self.settings_.longest_history
        if not are_degrees(degrees, self.counts_[learned], self.train_, longest) or (self.degrees_ < 1).any():
            raise ModelFileError("its degrees are not those of its data")
        H = self.H_
        if not issparse(H) or H.data.min(initial=0) < 0 or H.diagonal().any() or not is_symmetric(H):
            raise ModelFileError("its matrix H is not symmetric, hollow and without negative entries")

    def _linked(self, link: csr_array, lift: float) -> dict[str, Any]:
        d, settings = degrees_with(self.degrees_, link), self.settings_
        H = metric_with(self.H_, d, link, settings.item_norm, lift)
        return {"H": H, "V": vectors_with(self.V_, d, link, settings.filter_norm, lift), "degrees": d}

    @property
    def _scoring(self) -> Scoring:
        """H, V and degrees prepared for scoring with the settings of the fit; made once."""
        return self._derive(self._prepare)

    def _prepare(self) -> Scoring:
        settings = self.settings_
        twin: CoRML | None = vars(self).get("_twin")
        like = None if twin is None else twin._scoring
        return Scoring.of(self.H_, self.V_, self.degrees_, Weights.of(settings), settings.filter, like=like)

    def _block_shape(self, X: csr_array) -> tuple[int, int]:
        """Many histories: all of them for a band of items, so that each entry of G is made once."""
        return self._scoring.block_shape(X)

    def score_block(self, users: csr_array, columns: slice) -> Values:
        """Scores of histories for a range of items."""
        return self._scoring.block(users, columns)

    def _top_k(self, users: csr_array, k: int, seen: csr_array | None, allowed: csr_array | None) -> Lists | None:
        """Lists by bounds on the scores, which spare most of the items; None where that would not."""
        return self._scoring.top_k(users, k, seen, allowed)

    def _top_k_of_one(
        self, history: NDArray[np.int64], k: int, seen: NDArray[np.int64], allowed: NDArray[np.int64] | None
    ) -> Lists | None:
        """The list of one history, without matrices; None where G is clipped, which bounds do not know."""
        return self._scoring.top_k_of_one(history, k, seen, allowed)

    def _closeness(self) -> Closeness:
        """How close items are in the learned metric, that of H."""
        return self._scoring.closeness

    def _contributions(self, history: NDArray[np.int64], target: int) -> dict[str, Vector]:
        """What each history item adds to a score: the H and the G part."""
        return dict(zip(("h", "g"), self._scoring.contributions(history, target), strict=True))

    def _user_metric(self) -> csr_array:
        """The metric of H, in which histories are compared."""
        return self._scoring.user_metric()

    def distance(self, history: Sequence[Hashable] | str | int, item: Hashable, *, part: str = "h") -> float:
        """Distance of a user (a history, or a known user's id) to an item in the metric of H or of G."""
        return self._scoring.distance(self._known_history(history)[0], row_of(self.items_, item), part)

    def metric_matrix(self, part: str = "h") -> Array:
        """W, the positive semi-definite matrix of the metric, as a dense array (for small catalogues)."""
        return self._scoring.metric_matrix(part)


def _with_selected_filter(
    R: csr_array, call: FitCall, given: Settings, plan: Plan, warm_start: WarmStart | None
) -> tuple[Plan, WarmStart | None]:
    """The plan with the filter that was selected, and the H learned for it to begin from if there is no better one."""
    selected = select_filter(R, call.train.times_by_row, given=given, plan=plan, progress=call.progress)
    if selected is None:
        return plan, warm_start
    chosen, selection, H = selected
    plan = replace(make_plan(R, Settings({**given, **chosen})), selection=selection)
    norms = given.graph_user_norm, given.graph_item_norm
    return plan, warm_start if warm_start is not None else WarmStart(H, None, norms)


@described
@dataclass(kw_only=True, eq=False)
class Dial(NoveltyDial):
    """CoRML at several points of the popularity–novelty trade-off: one H for each item_norm.

    t enters the problem that H solves, so each operating point has its own H; filter, ids and histories are shared.
    `of` holds the settings that all points share. `recommend(…, novelty=1)` uses the most novel point, 0 the most
    popular one; `at(novelty)` is that point as a CoRML.
    """

    NAME: ClassVar[str] = "corml-dial"
    MEMBER: ClassVar[type[Any]] = CoRML

    def at(self, novelty: float) -> CoRML:
        """The operating point for a novelty between 0 (popular) and 1 (novel), as a CoRML."""
        position = super().at(novelty)
        assert isinstance(position, CoRML)
        return position
