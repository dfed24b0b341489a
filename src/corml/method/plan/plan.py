"""How a fit will go, decided before anything is allocated: which solver, how many pairs, how much memory."""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml import fitted, memory
from corml.errors import SettingError
from corml.fitted import Settings
from corml.linalg.sides import Sides
from corml.method.plan.look_cost import CANDIDATES, LOOK_SHARE, look_bytes, looks, start_bytes
from corml.method.plan.memory import dense_bytes, pairs_that_fit, sparse_bytes
from corml.method.plan.pair_count import PairCount, count_pairs
from corml.method.plan.seconds import Seconds, dense_seconds, sparse_seconds
from corml.method.problem import UserWeights

__all__ = [
    "LOOKED_AT",
    "MAX_PAIRS",
    "MAX_PER_ITEM",
    "PAIR_TOL",
    "Look",
    "Plan",
    "Trial",
    "allowed_bytes",
    "make_plan",
    "pairs_at_the_end",
    "rank_for",
    "ridge_for",
    "suggested_rank",
    "suggested_ridge",
]

LOOKED_AT = ("rank", "learn_rank", "filter_power", "filter_weight")  # settings that may be chosen by looking
MAX_PAIRS = 4_000_000  # both ways: above it each item has so many candidates only
MAX_PER_ITEM = 200  # candidates of an item where all co-occurring pairs would be too many
MIN_PER_ITEM = 20  # with fewer a model is not worth its name: rather refuse
ADDED = 0.1  # share of the candidates that column generation may add
PAIR_TOL = 0.1  # of the largest linear term: a KKT violation above it is worth solving again
CHOSEN_FOR = 2  # threads, for which the faster solver is chosen
MAX_GRAM_BYTES = 8 << 30  # of a fit that keeps A whole


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A filter that was compared: NDCG@20 on held-out items, its relative gain over the default, and that gain's error.

    Two figures each: of users whose items were held out at random, and of those whose items belong together.
    """

    rank: int
    filter_power: float
    filter_weight: float
    ndcg: tuple[float, float]
    gain: tuple[float, float]
    error: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Look:
    """Why a filter was chosen: the trials on held-out items of so many users; the first has the fixed defaults."""

    users: int
    chosen: int
    by_time: bool  # whether the items that belong together are the latest ones
    trials: tuple[Trial, ...] = field(repr=False)

    @property
    def groups(self) -> tuple[str, str]:
        """What was held out of the first and of the second half of the users."""
        return "items at random", "latest items" if self.by_time else "related items"


@dataclass(frozen=True, kw_only=True)
class Plan(fitted.Plan):
    """The choices of a fit, and what they will cost."""

    solver: str
    rank: int
    ridge: float
    learn_rank: int | None = None  # of the filter beside which H is learned; None in files of before: all of rank
    filter_power: float = 0.0
    filter_weight: float = 1.0
    look: Look | None = None  # where settings were chosen by looking
    candidates: int | None = None  # pairs of an item to begin with; None: all co-occurring ones
    largest_block: int = 0  # items, for the dense solver
    pairs: int = 0  # predicted, both ways, for the sparse one
    max_pairs: int = 0  # both ways, up to which column generation may add some
    keep_gram: bool = False  # whether the sparse solver keeps A whole
    predicted_seconds: float = 0.0

    def report(self) -> dict[str, Any]:
        """Plain facts for a table; bytes are the peak of the whole process."""
        facts: dict[str, Any] = {"solver": self.solver, "rank": self.rank, "ridge": self.ridge}
        if self.look is not None:
            best = self.look.trials[self.look.chosen]
            facts |= {"learn rank": self.learn_rank, "filter power": self.filter_power}
            facts |= {"filter weight": self.filter_weight, "users looked at": self.look.users}
            for where, gain, error in zip(self.look.groups, best.gain, best.error, strict=True):
                facts |= {f"gain of NDCG@20, {where}": f"{100 * gain:+.1f} % ± {100 * error:.1f}"}
        facts |= {"predicted bytes": memory.resident() + self.predicted_bytes}
        facts |= {"predicted seconds": round(self.predicted_seconds, 2), **self.report_left_out()}
        if self.solver == "sparse":
            return facts | {"predicted pairs": self.pairs // 2, "max pairs per item": self.candidates or "all"}
        return facts | {"largest block": self.largest_block}


def make_plan(X: csr_array, settings: Settings) -> Plan:
    """Choose by predicted time among what fits in memory; refuse, with advice, where nothing does.

    The number of threads has no say: with any of them the same data give the same model.
    A setting that only the dense solver has (rho, partition_ratio, double precision) asks for that solver.
    """
    n, ratio = X.shape[1], settings.partition_ratio
    if ratio < 1 and ratio * n <= 1:
        raise SettingError(f"partition_ratio must be above 1/items = {1 / n:.3g}; got {ratio:g}.")
    _refuse_contradictions(settings)
    if settings.solver == "admm" or (settings.solver == "auto" and _of_dense_solver(settings)):
        return _refused_if_too_large(_dense(X, settings)[0], X, settings)
    sparse, sparse_takes = _sparse(X, settings)
    if settings.solver == "sparse" or settings.candidates is not None:
        return _refused_if_too_large(sparse, X, settings)
    dense, dense_takes = _dense(X, settings)
    if dense.predicted_bytes > allowed_bytes(settings):
        return _refused_if_too_large(sparse, X, settings)
    if sparse.predicted_bytes > allowed_bytes(settings):
        return dense
    faster = sparse_takes.with_threads(CHOSEN_FOR) < dense_takes.with_threads(CHOSEN_FOR)
    return sparse if faster else dense


def _of_dense_solver(settings: Settings) -> list[str]:
    """Settings given that only the dense solver has."""
    given = {
        "rho": settings.rho is not None,
        "partition_ratio": settings.partition_ratio < 1,
        "precision": settings.precision == "double",
    }
    return [name for name, is_given in given.items() if is_given]


def _refuse_contradictions(settings: Settings) -> None:
    dense = _of_dense_solver(settings)
    if settings.candidates is not None and (dense or settings.solver == "admm"):
        raise SettingError(
            f"candidates is of the sparse solver: do not combine it with {(dense or ['solver=admm'])[0]}."
        )
    if settings.solver == "sparse" and dense:
        raise SettingError(f"{dense[0]} is of the dense solver: leave it out, or set solver=admm.")


def allowed_bytes(settings: Settings) -> int:
    """Bytes a fit may take beside what the process has already: what is free, or up to `max_memory`."""
    free = memory.budget()
    if settings.max_memory is None:
        return free
    return max(0, min(free, memory.read_size(settings.max_memory) - memory.resident()))


# --- what is left to the data ----------------------------------------------------------------------------------------


def _rank(X: csr_array, settings: Settings) -> int:
    return int(min(settings.rank or suggested_rank(X), *X.shape))


def _learn_rank(X: csr_array, settings: Settings) -> int:
    return int(min(settings.learn_rank or _rank(X, settings), *X.shape))


def _ridge(X: csr_array, settings: Settings) -> float:
    return suggested_ridge(X) if settings.ridge is None else float(settings.ridge)


def suggested_rank(X: csr_array) -> int:
    """Singular vectors worth keeping: more for a catalogue that is large beside a history, fewer for few users.

    The power of two nearest to the smaller of 2/3 · items / (items of a mean history) and users / 32, from 16 to 256.
    """
    return rank_for(X.shape, int(X.nnz))


def rank_for(shape: tuple[int, int], interactions: int) -> int:
    """The same from the numbers of users, items and interactions."""
    users, items = shape
    history = max(interactions / max(users, 1), 1.0)
    target = max(min(items / history / 1.5, users / 32), 1.0)
    return int(2 ** np.clip(np.round(np.log2(target)), 4, 8))


def suggested_ridge(X: csr_array) -> float:
    """A ridge that grows with the root of the mean item degree: 10·√(interactions per item that has any)."""
    return ridge_for(int(X.nnz), np.bincount(X.indices, minlength=1))


def ridge_for(interactions: int, degrees: NDArray[np.integer[Any]]) -> float:
    """The same from the degrees of items."""
    return float(10 * np.sqrt(max(interactions, 1) / max(int(np.count_nonzero(degrees)), 1)))


# --- the two solvers -------------------------------------------------------------------------------------------------


def _dense(X: csr_array, settings: Settings) -> tuple[Plan, Seconds]:
    largest, rank = max(1, int(settings.partition_ratio * X.shape[1])), _rank(X, settings)
    learn_rank = _learn_rank(X, settings)
    widest = max(rank, learn_rank)
    needed = dense_bytes(X, largest, widest, _item_size(settings))
    seconds = dense_seconds(X, widest, largest, settings.partition_ratio)
    plan = Plan(
        solver="admm",
        rank=rank,
        ridge=_ridge(X, settings),
        learn_rank=learn_rank,
        filter_power=settings.filter_power or 0.0,
        filter_weight=1.0 if settings.filter_weight is None else settings.filter_weight,
        largest_block=largest,
        predicted_bytes=_bytes_with_look(X, needed, min(X.shape[1], 2 * CANDIDATES) * X.shape[1], widest, settings),
        predicted_seconds=_seconds_with_look(seconds.with_threads(), settings),
    )
    return plan, seconds


def _sparse(X: csr_array, settings: Settings) -> tuple[Plan, Seconds]:
    """All co-occurring pairs, or so many candidates of each item where those are too many or memory is short."""
    clip, rank, allowed = settings.filter != "factored", _rank(X, settings), allowed_bytes(settings)
    learn_rank = _learn_rank(X, settings)
    widest = max(rank, learn_rank)
    room = pairs_that_fit(X, widest, allowed, clip=clip)
    count, candidates, every = _candidates(X, settings, room)
    max_pairs = pairs_at_the_end(count.pairs, every, candidates, room, settings.pair_tol)
    needed, whole = sparse_bytes(X, max_pairs, widest, clip=clip), 4 * X.shape[1] ** 2
    keep_gram = 4 * count.squares < count.work and whole + needed <= min(allowed, MAX_GRAM_BYTES)
    if keep_gram:
        needed += int(1.06 * whole)
    seconds = sparse_seconds(X, widest, count, every, keep_gram=keep_gram, excluding=candidates is not None, clip=clip)
    plan = Plan(
        solver="sparse",
        rank=rank,
        ridge=_ridge(X, settings),
        learn_rank=learn_rank,
        filter_power=settings.filter_power or 0.0,
        filter_weight=1.0 if settings.filter_weight is None else settings.filter_weight,
        candidates=candidates,
        pairs=count.pairs,
        max_pairs=max_pairs,
        keep_gram=keep_gram,
        predicted_bytes=_bytes_with_look(X, needed, count.pairs, widest, settings),
        predicted_seconds=_seconds_with_look(seconds.with_threads(), settings),
    )
    return plan, seconds


def _bytes_with_look(X: csr_array, needed: int, pairs: int, rank: int, settings: Settings) -> int:
    """The peak of a fit, or of the look before it where that is higher."""
    if not looks(settings):
        return needed
    return max(needed + start_bytes(X, pairs, rank), look_bytes(X, pairs, rank))


def _seconds_with_look(seconds: float, settings: Settings) -> float:
    return (1 + LOOK_SHARE) * seconds if looks(settings) else seconds


def _candidates(X: csr_array, settings: Settings, room: int) -> tuple[PairCount, int | None, int]:
    """The predicted pairs, the candidates of an item (None: all), and how many pairs co-occur in all."""
    loss = UserWeights.of(X, user_balance=settings.user_balance, user_norm=0.0).loss
    sides = Sides.of(X)
    count = count_pairs(sides, loss=loss)
    every, candidates = count.pairs, settings.candidates
    if candidates is not None:
        return count_pairs(sides, loss=loss, max_per_item=candidates), candidates, every
    if every <= min(MAX_PAIRS, room):
        return count, None, every
    candidates = MAX_PER_ITEM
    count = count_pairs(sides, loss=loss, max_per_item=candidates)
    while count.pairs > room and candidates > MIN_PER_ITEM:
        candidates = max(MIN_PER_ITEM, min(candidates - 1, int(0.95 * candidates * room / count.pairs)))
        count = count_pairs(sides, loss=loss, max_per_item=candidates)
    return count, candidates, every


def pairs_at_the_end(pairs: int, every: int, candidates: int | None, room: int, pair_tol: float) -> int:
    """How many pairs there may be after column generation: a tenth more, or as many as a low `pair_tol` asks for."""
    if candidates is None or pair_tol >= 1:
        return pairs
    return max(pairs, min(every, room, every if pair_tol < PAIR_TOL else int((1 + ADDED) * pairs)))


def _item_size(settings: Settings) -> int:
    return 4 if settings.precision == "single" else 8


def _refused_if_too_large(plan: Plan, X: csr_array, settings: Settings) -> Plan:
    if plan.solver == "sparse":
        what = f"The sparse solver with {plan.pairs // 2:,} pairs"
        instead = (
            "set candidates to fewer pairs an item."
            if settings.candidates
            else "free some memory, lower rank, or set adapt=False."
        )
    else:
        what = f"The dense solver with {plan.largest_block:,} items in a block"
        instead = _what_fits(X, plan.rank, _item_size(settings), allowed_bytes(settings))
    if settings.max_memory is not None:
        peak, limit = memory.resident() + plan.predicted_bytes, memory.read_size(settings.max_memory)
        memory.require(peak, what=f"{what}, beside what is in memory,", instead=instead, limit=limit)
    memory.require(plan.predicted_bytes, what=what, instead=instead)
    return plan


def _what_fits(X: csr_array, rank: int, item_size: int, room: int) -> str:
    """The largest block there is room for, as advice."""
    n = X.shape[1]
    fits = bisect_right(range(1, n + 1), room, key=lambda block: dense_bytes(X, block, rank, item_size))
    ratio = np.floor(1000 * fits / n) / 1000
    if ratio * n <= 1:
        return "free some memory first."
    return f"the largest block that fits has {fits:,} of {n:,} items: set partition_ratio={ratio:g} or less."
