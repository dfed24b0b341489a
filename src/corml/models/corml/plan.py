"""How a fit will go, decided before anything is allocated: which solver, how many pairs, how much memory."""

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from corml._runtime import memory
from corml.errors import SettingError
from corml.linalg.sparse import Array, Sides, row_degrees
from corml.models import fitted
from corml.models.corml.cost import (
    CANDIDATES,
    PairCount,
    Rows,
    Seconds,
    Size,
    count_pairs,
    dense_bytes,
    dense_seconds,
    pairs_that_fit,
    sparse_bytes,
    sparse_seconds,
    with_selection_bytes,
    with_selection_seconds,
)
from corml.models.corml.problem import UserWeights
from corml.models.fitted import Settings

SELECTED = ("rank", "learn_rank", "filter_power", "filter_weight")  # settings that filter selection may choose
MAX_PAIRS = 4_000_000  # both ways: above it the candidates of each item are limited
MAX_PER_ITEM = 200  # candidates of an item where all co-occurring pairs would be too many
MIN_PER_ITEM = 20  # with fewer a fit is refused
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
class Selection:
    """Why a filter was chosen: the trials on held-out items of `users` users; the first has the fixed defaults."""

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
    learn_rank: int
    filter_power: float = 0.0
    filter_weight: float = 1.0
    selection: Selection | None = None  # where the filter was selected on held-out items
    candidates: int | None = None  # pairs of an item to begin with; None: all co-occurring ones
    largest_block: int = 0  # items, for the dense solver
    pairs: int = 0  # predicted, both ways, for the sparse one
    max_pairs: int = 0  # both ways, up to which column generation may add some
    keep_gram: bool = False  # whether the sparse solver keeps A whole
    predicted_seconds: float = 0.0

    def report(self) -> dict[str, Any]:
        """Plain facts for a table; bytes are the peak of the whole process."""
        facts: dict[str, Any] = {"solver": self.solver, "rank": self.rank, "ridge": self.ridge}
        if self.selection is not None:
            best = self.selection.trials[self.selection.chosen]
            facts |= {"learn rank": self.learn_rank, "filter power": self.filter_power}
            facts |= {"filter weight": self.filter_weight, "hold-out users": self.selection.users}
            for where, gain, error in zip(self.selection.groups, best.gain, best.error, strict=True):
                facts |= {f"gain of NDCG@20, {where}": f"{100 * gain:+.1f} % ± {100 * error:.1f}"}
        facts |= {"predicted bytes": memory.resident() + self.predicted_bytes}
        facts |= {"predicted seconds": round(self.predicted_seconds, 2), **self.report_of_data()}
        if self.solver == "sparse":
            return facts | {"predicted pairs": self.pairs // 2, "max pairs per item": self.candidates or "all"}
        return facts | {"largest block": self.largest_block}


def make_plan(X: csr_array, settings: Settings) -> Plan:
    """Choose by predicted time among what fits in memory; refuse, with advice, where nothing does.

    The number of threads does not matter: the same data give the same model.
    A setting that only the dense solver has (rho, partition_ratio, double precision) asks for that solver.
    """
    n, ratio = X.shape[1], settings.partition_ratio
    if ratio < 1 and ratio * n <= 1:
        raise SettingError(f"partition_ratio must be above 1/items = {1 / n:.3g}; got {ratio:g}.")
    asks_for_dense = _settings_of_dense_solver(settings)
    if settings.candidates is not None and (asks_for_dense or settings.solver == "admm"):
        other = (asks_for_dense or ["solver=admm"])[0]
        raise SettingError(f"candidates is of the sparse solver: do not combine it with {other}.")
    if settings.solver == "sparse" and asks_for_dense:
        raise SettingError(f"{asks_for_dense[0]} is of the dense solver: leave it out, or set solver=admm.")
    if settings.solver == "admm" or asks_for_dense:
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


def _settings_of_dense_solver(settings: Settings) -> list[str]:
    """Settings given that only the dense solver has."""
    given = {
        "rho": settings.rho is not None,
        "partition_ratio": settings.partition_ratio < 1,
        "precision": settings.precision == "double",
    }
    return [name for name, is_given in given.items() if is_given]


def allowed_bytes(settings: Settings) -> int:
    """Bytes a fit may take in addition to what the process has: what is free, or up to `max_memory`."""
    free = memory.budget()
    if settings.max_memory is None:
        return free
    return max(0, min(free, memory.read_size(settings.max_memory) - memory.resident()))


# --- what is left to the data ----------------------------------------------------------------------------------------


def resolved_sizes(
    shape: tuple[int, int], interactions: int, item_degrees: Array, settings: Settings
) -> dict[str, Any]:
    """Rank, ridge and filter as they are set, or as the data suggest them.

    The ridge grows with the root of the mean item degree: 10·√(interactions per item that has any).
    """
    rank = int(min(settings.rank or suggested_rank(shape, interactions), *shape))
    used = max(int(np.count_nonzero(item_degrees)), 1)
    return {
        "rank": rank,
        "ridge": float(10 * np.sqrt(max(interactions, 1) / used)) if settings.ridge is None else float(settings.ridge),
        "learn_rank": int(min(settings.learn_rank or rank, *shape)),
        "filter_power": settings.filter_power or 0.0,
        "filter_weight": 1.0 if settings.filter_weight is None else settings.filter_weight,
    }


def suggested_rank(shape: tuple[int, int], interactions: int) -> int:
    """Singular vectors worth keeping: more for a catalogue that is large compared with a history, fewer for few users.

    The power of two nearest to the smaller of 2/3 · items / (items of a mean history) and users / 32, from 16 to 256.
    """
    users, items = shape
    history = max(interactions / max(users, 1), 1.0)
    target = max(min(items / history / 1.5, users / 32), 1.0)
    return int(2 ** np.clip(np.round(np.log2(target)), 4, 8))


def planned_pairs(rows: Rows, settings: Settings, room: float = math.inf) -> tuple[PairCount, int | None, int]:
    """The predicted pairs, the candidates of an item (None: all), and how many pairs co-occur in all."""
    count, candidates = count_pairs(rows), settings.candidates
    every = count.pairs
    if candidates is not None:
        return count_pairs(rows, candidates), candidates, every
    if every <= min(MAX_PAIRS, room):
        return count, None, every
    candidates = MAX_PER_ITEM
    count = count_pairs(rows, candidates)
    while count.pairs > room and candidates > MIN_PER_ITEM:
        candidates = max(MIN_PER_ITEM, min(candidates - 1, int(0.95 * candidates * room / count.pairs)))
        count = count_pairs(rows, candidates)
    return count, candidates, every


def pairs_at_the_end(pairs: int, every: int, candidates: int | None, room: int, pair_tol: float) -> int:
    """How many pairs there may be after column generation: a tenth more, or as many as a low `pair_tol` asks for."""
    if candidates is None or pair_tol >= 1:
        return pairs
    return max(pairs, min(every, room, every if pair_tol < PAIR_TOL else int((1 + ADDED) * pairs)))


# --- the two solvers -------------------------------------------------------------------------------------------------


def _sizes(X: csr_array, settings: Settings) -> tuple[dict[str, Any], int]:
    """Rank, ridge and filter, and the widest filter of the fit."""
    sizes = resolved_sizes(X.shape, int(X.nnz), np.bincount(X.indices, minlength=1), settings)
    return sizes, max(sizes["rank"], sizes["learn_rank"])


def _dense(X: csr_array, settings: Settings) -> tuple[Plan, Seconds]:
    block, (sizes, widest) = max(1, int(settings.partition_ratio * X.shape[1])), _sizes(X, settings)
    needed = dense_bytes(X, block, widest, _item_size(settings))
    pairs = min(X.shape[1], 2 * CANDIDATES) * X.shape[1]
    seconds = dense_seconds(Size.of(X), widest, block, settings.partition_ratio)
    plan = Plan(
        solver="admm",
        **sizes,
        largest_block=block,
        predicted_bytes=with_selection_bytes(X, needed, pairs, widest, settings),
        predicted_seconds=with_selection_seconds(seconds.with_threads(), settings),
    )
    return plan, seconds


def _sparse(X: csr_array, settings: Settings) -> tuple[Plan, Seconds]:
    """All co-occurring pairs, or a limit for each item where these are too many or memory is short."""
    clip, allowed, (sizes, widest) = settings.filter != "factored", allowed_bytes(settings), _sizes(X, settings)
    room = pairs_that_fit(X, widest, allowed, clip=clip)
    loss = UserWeights.of(row_degrees(X), user_balance=settings.user_balance).loss
    count, candidates, every = planned_pairs(Rows.of(Sides.of(X), loss), settings, room)
    max_pairs = pairs_at_the_end(count.pairs, every, candidates, room, settings.pair_tol)
    needed, whole = sparse_bytes(X, max_pairs, widest, clip=clip), 4 * X.shape[1] ** 2
    keep_gram = 4 * count.squares < count.work and whole + needed <= min(allowed, MAX_GRAM_BYTES)
    if keep_gram:
        needed += int(1.06 * whole)
    how = {"keep_gram": keep_gram, "excluding": candidates is not None, "clip": clip}
    seconds = sparse_seconds(Size.of(X), widest, count, every, **how)
    plan = Plan(
        solver="sparse",
        **sizes,
        candidates=candidates,
        pairs=count.pairs,
        max_pairs=max_pairs,
        keep_gram=keep_gram,
        predicted_bytes=with_selection_bytes(X, needed, count.pairs, widest, settings),
        predicted_seconds=with_selection_seconds(seconds.with_threads(), settings),
    )
    return plan, seconds


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
        memory.require(peak, what=f"{what}, in addition to what is in memory,", instead=instead, limit=limit)
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
