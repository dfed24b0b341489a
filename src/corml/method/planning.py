"""How a fit will go, decided before anything is allocated: which solver, how many pairs, how much memory."""

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from corml import memory
from corml.errors import SettingError
from corml.method import admm, cross
from corml.method.forecast import count_pairs
from corml.method.problem import loss_weights
from corml.parallel import threads

if TYPE_CHECKING:
    from corml.method.estimator import CoRML

__all__ = ["Plan", "allowed", "dense_bytes", "plan", "sparse_bytes", "suggested_rank", "suggested_ridge"]

SCRATCH_COLUMNS = 4096  # of the dense solver: bands and tiles beside the n × n arrays
BYTES_A_PAIR = 56  # of the sparse solver: fourteen numbers for each pair, both ways, and one a thread
MOST_PAIRS = 4_000_000  # both ways: above it only the strongest pairs of each item are used
STRONGEST = 200  # pairs kept for each item where all pairs would be too many
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
    bytes: int
    seconds: float
    room: int = 0  # pairs, both ways, that the sparse solver has memory for

    def report(self) -> dict[str, Any]:
        """Plain numbers for a model file or a table."""
        made = {"solver": self.solver, "rank": self.rank, "ridge": self.ridge, "predicted bytes": self.bytes}
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
    """Bytes a fit may take: what is free, or less where the model was told so."""
    free = memory.budget()
    return free if model.max_memory is None else min(free, memory.read_size(model.max_memory))


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


def dense_bytes(X: csr_array, block: int, rank: int, item_size: int) -> int:
    """Peak of the dense solver: its square arrays and scratch for one block, V in the making, and the data."""
    square = item_size * block * (admm.ARRAYS_ALIVE * block + min(SCRATCH_COLUMNS, 2 * block))
    return int(square + _filter_bytes(X, rank))


def sparse_bytes(X: csr_array, pairs: int, rank: int) -> int:
    """Peak of the sparse solver: its numbers for each pair, V in the making, and the data."""
    bands = 4 * sum(X.shape) * cross.band_width(X)
    return int(_pair_bytes() * pairs + bands + _filter_bytes(X, rank))


def _pair_bytes() -> int:
    return BYTES_A_PAIR + 4 * threads()


def _filter_bytes(X: csr_array, rank: int) -> int:
    return int(24 * sum(X.shape) * rank + 40 * X.nnz)


def _dense(X: csr_array, model: "CoRML", rank: int) -> Plan:
    largest = max(1, int(model.partition_ratio * X.shape[1]))
    needed = dense_bytes(X, largest, rank, 4 if model.precision == "single" else 8)
    seconds = DENSE_STEPS * 2.0 * largest**3 / model.partition_ratio / (DENSE_RATE * threads())
    return Plan("admm", rank, ridge_of(X, model), largest, 0, None, needed, seconds)


def _sparse(X: csr_array, model: "CoRML", rank: int) -> Plan:
    found = count_pairs(X)
    strongest = model.candidates or (STRONGEST if found.pairs > MOST_PAIRS else None)
    if strongest is not None:
        found = count_pairs(X, loss=loss_weights(X, model.weights.user_balance), most=strongest)
    needed, seconds = sparse_bytes(X, found.pairs, rank), SPARSE_STEPS * found.work / (SPARSE_RATE * threads())
    room = int((allowed(model) - sparse_bytes(X, 0, rank)) // _pair_bytes())
    return Plan("sparse", rank, ridge_of(X, model), X.shape[1], found.pairs, strongest, needed, seconds, room)


def _refused_if_too_large(chosen: Plan, X: csr_array, model: "CoRML") -> Plan:
    if chosen.solver == "sparse":
        what, instead = f"The sparse solver with {chosen.pairs // 2:,} pairs", "set candidates to fewer pairs an item."
    else:
        what = f"The dense solver with {chosen.largest_block:,} items in a block"
        instead = _what_fits(X, chosen.rank, 4 if model.precision == "single" else 8, allowed(model))
    memory.require(chosen.bytes, what=what, instead=instead, limit=allowed(model))
    return chosen


def _what_fits(X: csr_array, rank: int, item_size: int, room: int) -> str:
    """The largest block there is room for, as advice."""
    n = X.shape[1]
    fits = bisect_right(range(1, n + 1), room, key=lambda block: dense_bytes(X, block, rank, item_size))
    ratio = np.floor(1000 * fits / n) / 1000
    if ratio * n <= 1:
        return "free some memory first."
    return f"the largest block that fits has {fits:,} of {n:,} items: set partition_ratio={ratio:g} or less."
