"""How a fit will go, decided before anything is allocated: which solver, how many pairs, how much memory."""

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from corml import memory
from corml.errors import SettingError
from corml.method.plan.memory import dense_bytes, pairs_that_fit, sparse_bytes
from corml.method.plan.pair_count import count_pairs
from corml.method.problem import loss_weights
from corml.parallel import threads

if TYPE_CHECKING:
    from corml.method.estimator import CoRML

__all__ = ["PAIR_TOL", "Plan", "allowed", "plan", "suggested_rank", "suggested_ridge"]

MOST_PAIRS = 4_000_000  # both ways: above it only the strongest pairs of each item are used
STRONGEST = 200  # pairs kept for each item where all pairs would be too many
JOINING = 0.1  # share of the candidates that may join them later
PAIR_TOL = 0.1  # of the strongest pair's pull: above it a pair left out is worth another round of the solver
MOST_FOR_GRAM = 8 << 30  # bytes of a fit that keeps A whole
FEWEST = 20  # with fewer a model is not worth its name: rather refuse
DENSE_RATE, SPARSE_RATE = 4e10, 4e8  # multiplications a second and thread: of GEMM, and of gathering
DENSE_STEPS, SPARSE_STEPS = 40, 15  # that fits usually take


@dataclass(frozen=True)
class Plan:
    """The choices of a fit; `pairs` is the predicted number of pairs, both ways, and 0 for the dense solver."""

    solver: str
    rank: int
    ridge: float
    largest_block: int
    pairs: int
    strongest: int | None
    bytes: int  # beside those the process has already
    seconds: float
    peak: int  # of the whole process
    room: int = 0  # pairs, both ways, up to which those left out may join
    through_gram: bool = False  # whether the sparse solver keeps A whole

    def to_keep(self) -> dict[str, Any]:
        """The report for a model file: equal for equal data, so without what else is in memory."""
        return {**self.report(), "predicted bytes": self.bytes}

    def report(self) -> dict[str, Any]:
        """Plain numbers for a table."""
        made = {"solver": self.solver, "rank": self.rank, "ridge": self.ridge, "predicted bytes": self.peak}
        made |= {"predicted seconds": round(self.seconds, 2)}
        if self.solver == "sparse":
            return made | {"predicted pairs": self.pairs // 2, "strongest per item": self.strongest or "all"}
        return made | {"largest block": self.largest_block}


def plan(X: csr_array, model: "CoRML") -> Plan:
    """Choose by predicted time among what fits in memory; refuse, with advice, where nothing does.

    A setting that only the dense solver has (rho, partition_ratio, double precision) asks for that solver.
    """
    n = X.shape[1]
    if model.partition_ratio < 1 and model.partition_ratio * n <= 1:
        raise SettingError(f"partition_ratio must be above 1/items = {1 / n:.3g}; got {model.partition_ratio:g}.")
    rank = min(model.rank or suggested_rank(X), *X.shape)
    _refuse_contradictions(model)
    asks_for_dense = model.rho is not None or model.partition_ratio < 1 or model.precision == "double"
    if model.solver == "admm" or (model.solver == "auto" and asks_for_dense):
        return _refused_if_too_large(_dense(X, model, rank), X, model)
    sparse = _sparse(X, model, rank)
    if model.solver == "sparse" or model.candidates is not None:
        return _refused_if_too_large(sparse, X, model)
    dense = _dense(X, model, rank)
    fitting = [one for one in (dense, sparse) if one.bytes <= allowed(model)]
    return min(fitting or [_refused_if_too_large(sparse, X, model)], key=lambda one: one.seconds)


def _refuse_contradictions(model: "CoRML") -> None:
    dense = {"rho": model.rho is not None, "partition_ratio": model.partition_ratio < 1}
    dense["precision"] = model.precision == "double"
    used = [name for name, given in dense.items() if given]
    if model.candidates is not None and (used or model.solver == "admm"):
        raise SettingError(
            f"candidates is of the sparse solver: do not combine it with {(used or ['solver=admm'])[0]}."
        )
    if model.solver == "sparse" and used:
        raise SettingError(f"{used[0]} is of the dense solver: leave it out, or set solver=admm.")


def allowed(model: "CoRML") -> int:
    """Bytes a fit may take beside what the process has already: what is free, or up to the limit the model was told."""
    free = memory.budget()
    if model.max_memory is None:
        return free
    return max(0, min(free, memory.read_size(model.max_memory) - memory.resident()))


def suggested_rank(X: csr_array) -> int:
    """Singular vectors worth keeping: more for a catalogue that is large beside a history, fewer for few users.

    The power of two nearest to the least of 2/3 · items / (items of a mean history) and users / 32, from 16 to 256.
    """
    users, items = X.shape
    history = max(X.nnz / max(users, 1), 1.0)
    wish = max(min(items / history / 1.5, users / 32), 1.0)
    return int(2 ** np.clip(np.round(np.log2(wish)), 4, 8))


def ridge_of(X: csr_array, model: "CoRML") -> float:
    """The ridge asked for, or the one the data suggest."""
    return suggested_ridge(X) if model.ridge is None else float(model.ridge)


def suggested_ridge(X: csr_array) -> float:
    """A ridge that grows with the root of the mean item degree: 10·√(interactions per item)."""
    return float(10 * np.sqrt(max(X.nnz, 1) / max(X.shape[1], 1)))


def _dense(X: csr_array, model: "CoRML", rank: int) -> Plan:
    largest = max(1, int(model.partition_ratio * X.shape[1]))
    needed = dense_bytes(X, largest, rank, 4 if model.precision == "single" else 8)
    seconds = DENSE_STEPS * 2.0 * largest**3 / model.partition_ratio / (DENSE_RATE * threads())
    return Plan("admm", rank, ridge_of(X, model), largest, 0, None, needed, seconds, memory.resident() + needed)


def _sparse(X: csr_array, model: "CoRML", rank: int) -> Plan:
    """All pairs, or the strongest of each item where those are too many; fewer of them where memory is short."""
    clip = model.filter != "factored"
    loss = loss_weights(X, model.weights.user_balance)
    found, strongest = count_pairs(X, loss=loss), None
    every = found.pairs
    room = pairs_that_fit(X, rank, allowed(model), clip=clip)
    if model.candidates is not None:
        found, strongest = count_pairs(X, loss=loss, most=model.candidates), model.candidates
    elif found.pairs > min(MOST_PAIRS, room):
        strongest = STRONGEST
        found = count_pairs(X, loss=loss, most=strongest)
        while found.pairs > room and strongest > FEWEST:
            strongest = max(FEWEST, min(strongest - 1, int(0.95 * strongest * room / found.pairs)))
            found = count_pairs(X, loss=loss, most=strongest)
    most = _pairs_at_the_end(found.pairs, every, strongest, room, model.pair_tol)
    needed, work, whole = sparse_bytes(X, most, rank, clip=clip), found.work, 4 * X.shape[1] ** 2
    through_gram = 4 * found.squares < work and whole + needed <= min(allowed(model), MOST_FOR_GRAM)
    if through_gram:
        needed, work = needed + int(1.06 * whole), found.squares
    seconds = SPARSE_STEPS * work / (SPARSE_RATE * threads())
    ridge, peak = ridge_of(X, model), memory.resident() + needed
    return Plan("sparse", rank, ridge, X.shape[1], found.pairs, strongest, needed, seconds, peak, most, through_gram)


def _pairs_at_the_end(pairs: int, every: int, strongest: int | None, room: int, pair_tol: float) -> int:
    """How many pairs there may be when those that gain have joined: a tenth more, or as many as one asks for."""
    if strongest is None or pair_tol >= 1:
        return pairs
    return max(pairs, min(every, room, every if pair_tol < PAIR_TOL else int((1 + JOINING) * pairs)))


def _refused_if_too_large(chosen: Plan, X: csr_array, model: "CoRML") -> Plan:
    if chosen.solver == "sparse":
        what = f"The sparse solver with {chosen.pairs // 2:,} pairs"
        instead = "set candidates to fewer pairs an item." if model.candidates else "free some memory, or lower rank."
    else:
        what = f"The dense solver with {chosen.largest_block:,} items in a block"
        instead = _what_fits(X, chosen.rank, 4 if model.precision == "single" else 8, allowed(model))
    if model.max_memory is not None:
        limit = memory.read_size(model.max_memory)
        memory.require(chosen.peak, what=f"{what}, beside what is in memory,", instead=instead, limit=limit)
    memory.require(chosen.bytes, what=what, instead=instead)
    return chosen


def _what_fits(X: csr_array, rank: int, item_size: int, room: int) -> str:
    """The largest block there is room for, as advice."""
    n = X.shape[1]
    fits = bisect_right(range(1, n + 1), room, key=lambda block: dense_bytes(X, block, rank, item_size))
    ratio = np.floor(1000 * fits / n) / 1000
    if ratio * n <= 1:
        return "free some memory first."
    return f"the largest block that fits has {fits:,} of {n:,} items: set partition_ratio={ratio:g} or less."
