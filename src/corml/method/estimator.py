"""CoRML: Collaborative Residual Metric Learning (SIGIR 2023), the model this package is about."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from corml import memory
from corml.errors import ModelFileError, UsageError
from corml.interactions import Interactions
from corml.linalg.scaling import column_degrees, is_symmetric
from corml.method import fit
from corml.method.plan import plan as planner
from corml.method.problem import Weights
from corml.method.scoring import Scoring
from corml.method.sparse.fit_cache import Workspace
from corml.method.sparse.warm_start import Start
from corml.method.spectral import FILTERS, Norms
from corml.recommender import Progress, Recommender
from corml.settings import Rule, above, at_least, between, check, choice, linear, log, one_of, optional, setting, whole

if TYPE_CHECKING:
    from corml.method.dial import Dial

__all__ = ["CoRML"]

# Where the ridge is left to the data these are ours; who gives a ridge gets the paper's problem and its filter.
BALANCE = 0.25
GRAPH_NORMS = 0.4, 0.4
FILTER_NORM = 0.4
PAPERS = 0.5  # each of the last three
OURS = "where the ridge is left to the data, else 0.5 as in the paper"
SOLVERS = ("auto", "admm", "sparse")


@dataclass(kw_only=True, eq=False)
class CoRML(Recommender):
    """A linear item-item model: a graph filter G, and a learned symmetric H ≥ 0 that is a distance metric.

    Scores are `Y = R D^{-t} H D^{t} + (1/λ − 1) R D^{-s} G D^{s}`; H solves problem H (see `method/problem.py`).
    The defaults are meant to be used; the paper's symbol stands beside each setting.
    """

    NAME: ClassVar[str] = "corml"
    CITATION: ClassVar[str] = "Wei, Ma, Chow: Collaborative Residual Metric Learning. SIGIR 2023"
    STATE: ClassVar[Mapping[str, tuple[str | None, ...]]] = {
        "H": ("items", "items"),
        "V": ("items", None),
        "degrees": ("items",),
    }

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
    l2: float = setting(0.3, at_least(0), symbol="θ", search=log(0.01, 1), help="degree-weighted ridge on H")
    ridge: float | None = setting(
        None, optional(at_least(0), "from the mean item degree"), search=log(5, 500), help="plain ridge on H"
    )
    user_balance: float | None = setting(
        None,
        optional(between(0, 2), "0.25 where the ridge is left to the data, else 0 as in the paper"),
        search=linear(0, 1),
        help="0 counts every interaction alike; higher, users more alike",
    )
    rank: int | None = setting(
        None,
        optional(whole(1, 10_000), "from the size of the data"),
        symbol="k",
        search=choice(16, 32, 64, 128, 256),
        help="singular vectors kept in V",
    )
    graph_user_norm: float | None = setting(
        None,
        optional(between(0, 1), f"{GRAPH_NORMS[0]} {OURS}"),
        symbol="a",
        search=linear(0.1, 0.5),
        help="user-degree exponent of the graph of V",
    )
    graph_item_norm: float | None = setting(
        None,
        optional(between(0, 1), f"{GRAPH_NORMS[1]} {OURS}"),
        symbol="b",
        search=linear(0.3, 0.5),
        help="item-degree exponent of the graph of V",
    )
    filter_norm: float | None = setting(
        None,
        optional(between(0, 1), f"{FILTER_NORM} {OURS}"),
        symbol="s",
        search=linear(0.2, 0.6),
        help="item-degree exponent of the filter's part of the scores",
    )
    filter: str = setting("factored", one_of(*FILTERS), help="how G is clipped: by entry, not at all, or mixed")
    solver: str = setting("auto", one_of(*SOLVERS), help="how problem H is solved: dense, on pairs, or by prediction")
    candidates: int | None = setting(
        None,
        optional(whole(1, 1_000_000), "all pairs that met, if those are not too many"),
        help="pairs the sparse solver may use for each item, the strongest",
    )
    pair_tol: float = setting(
        planner.PAIR_TOL,
        between(0, 1),
        help="bring in pairs left out that would gain more than this share of the strongest pair's pull",
    )
    rho: float | None = setting(
        None, optional(above(0), "from the problem"), symbol="ρ", help="ADMM step length: speed, not the answer"
    )
    max_steps: int = setting(500, whole(1, 1_000_000), help="most steps of the solver")
    tol: float = setting(1e-4, between(0, 1), help="relative residuals to reach; 0 runs exactly max_steps")
    partition_ratio: float = setting(1.0, above(0, 1), help="largest share of the items in one block of H")
    budget: int | None = setting(
        None, optional(whole(1, 10_000), "keep all of H"), symbol="γ", help="prune H to the size of such a factor model"
    )
    max_memory: str | None = setting(
        None, optional(Rule("a size such as '8GB'", memory.is_size, str), "what is free"), help="most memory of a fit"
    )
    precision: str = setting("single", one_of("single", "double"), help="floating-point numbers of the solver")

    @property
    def weights(self) -> Weights:
        """The numbers of problem H; a ridge left to the data is filled in by the plan of a fit.

        Ridge and balance are ours and go together: who gives a ridge (0 for the paper's problem) gets the paper's loss.
        """
        norms = self.item_norm, self.scale, self.user_norm
        balance = self._ours(self.user_balance, BALANCE, 0.0)
        return Weights(
            self.mix,
            *norms,
            self.l2,
            self.ridge or 0.0,
            balance,
            self._ours(self.filter_norm, FILTER_NORM, PAPERS),
        )

    @property
    def graph_norms(self) -> Norms:
        """Exponents of user and item degrees in the graph whose singular vectors V are."""
        users, items = GRAPH_NORMS
        return self._ours(self.graph_user_norm, users, PAPERS), self._ours(self.graph_item_norm, items, PAPERS)

    def _ours(self, given: float | None, ours: float, papers: float) -> float:
        if given is not None:
            return given
        return ours if self.ridge is None else papers

    def plan(self, train: Interactions) -> dict[str, Any]:
        """How a fit would go: solver, rank, pairs, memory and time; refuses what would not fit."""
        check(self)
        return planner.plan(train.matrix, self).report()

    def fit(
        self,
        train: Interactions,
        *,
        valid: Interactions | None = None,
        start: "CoRML | None" = None,
        workspace: Workspace | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from interactions; settings are checked first, the data are left alone.

        `start` is a fitted CoRML to begin from, which saves time, not accuracy: the sparse solver starts at its H
        (items are matched by id, so the data may have grown), and on the same data its singular vectors are used again.
        `workspace` is for many fits of the same data with other settings: it keeps what they share.
        """
        known = isinstance(train, Interactions)  # what is not is refused by the fit itself
        if workspace is not None and not isinstance(workspace, Workspace):
            raise UsageError("workspace must be a corml.Workspace of the same interactions: Workspace(train).")
        if workspace is not None and known:
            workspace.check_is_of(train)
        self._start, self._workspace = (Start.of(start, train) if start is not None and known else None), workspace
        try:
            return super().fit(train, valid=valid, progress=progress)
        finally:
            self._start = self._workspace = None

    @staticmethod
    def dial(train: Interactions, item_norms: Sequence[float] = (-0.2, -0.1, 0.0, 0.1, 0.2), **settings: Any) -> "Dial":
        """Fit the whole dial between novel and popular: one model, to be turned by recommend(…, novelty=0…1)."""
        from corml.method.dial import Dial

        return Dial(item_norms=tuple(item_norms), of=settings).fit(train)

    def _fit(self, X: csr_array) -> None:
        plan = planner.plan(X, self)
        self.degrees_ = column_degrees(X)
        found = fit.run(X, self.degrees_, self, plan, self._progress, self._start, self._workspace)
        self.V_, self.H_, self.solutions_ = found
        self.notes_ = {"plan": plan.to_keep(), "solver": [solution.report() for solution in self.solutions_]}

    def check_state(self) -> None:
        """Refuse an H that is not symmetric, hollow and non-negative, and degrees that are not those of the data."""
        if not np.array_equal(self.degrees_, np.maximum(self.counts_, 1)):
            raise ModelFileError("its degrees are not those of its data")
        H = self.H_
        if not issparse(H) or H.data.min(initial=0) < 0 or H.diagonal().any() or not is_symmetric(H):
            raise ModelFileError("its matrix H is not symmetric, hollow and without negative entries")

    @property
    def scoring(self) -> Scoring:
        """H, V and degrees arranged for scoring; made once for the arrays it was made from."""
        self.check_fitted()
        made: Scoring | None = getattr(self, "_scoring", None)
        if made is None or not made.is_of(self.H_, self.V_, self.weights, self.filter):
            made = Scoring.of(self.H_, self.V_, self.degrees_, self.weights, self.filter)
            self._scoring = made
        return made

    def block_shape(self, X: csr_array) -> tuple[int, int]:
        """Many histories: all of them for a band of items, so that each entry of G is made once."""
        return self.scoring.block_shape(X)

    def score_block(self, people: csr_array, columns: slice) -> NDArray[np.float32]:
        """Scores of histories for a range of items."""
        return self.scoring.block(people, columns)

    def contributions(self, history: NDArray[np.int64], target: int) -> dict[str, NDArray[np.float64]]:
        """What each history item adds to a score: the H and the G part."""
        return dict(zip(("h", "g"), self.scoring.contributions(history, target), strict=True))

    def distance(self, history: Sequence[Hashable] | str | int, item: Hashable, *, part: str = "h") -> float:
        """Distance of a person (a history, or a known user's id) to an item in the metric of H or of G."""
        known, _ = self.known_history(history)
        return self.scoring.distance(known, int(self.items.rows([item])[0]), part)

    def metric_matrix(self, part: str = "h") -> NDArray[Any]:
        """W, the positive semi-definite matrix of the metric, as a dense array (for small catalogues)."""
        self.check_fitted()
        return self.scoring.metric_matrix(part)
