"""How a fit will go, decided before anything is allocated: which solver, how many pairs, how much memory."""

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from corml import memory
from corml.errors import SettingError
from corml.method import admm
from corml.method.candidates import PairCount, count_pairs
from corml.parallel import threads

if TYPE_CHECKING:
    from corml.method.estimator import CoRML

__all__ = ["Plan", "allowed", "dense_bytes", "plan", "sparse_bytes", "suggested_rank"]

SCRATCH_COLUMNS = 4096  # of the dense solver: bands and tiles beside the n × n arrays
BYTES_A_PAIR = 64  # of the sparse solver: sixteen numbers for each pair, both ways
STRONGEST = 200  # pairs kept for each item where all pairs would be too many
MOST_WORK = 4e9  # multiplications a step above which all pairs are too many
DENSE_RATE, SPARSE_RATE = 4e10, 4e8  # multiplications a second and thread: of GEMM, and of gathering
DENSE_STEPS, SPARSE_STEPS = 40, 15  # that fits usually take


@dataclass(frozen=True)
class Plan:
    """The choices of a fit; `pairs` is the predicted number of pairs, both ways, and 0 for the dense solver."""

    solver: str
    rank: int
    largest_block: int
    pairs: int
    strongest: int | None
    bytes: int
    seconds: float

    def report(self) -> dict[str, Any]:
        """Plain numbers for a model file or a table."""
        made = {"solver": self.solver, "rank": self.rank, "predicted bytes": self.bytes}
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
    rank = min(model.rank or suggested_rank(n), *X.shape)
    asks_for_dense = model.rho is not None or model.partition_ratio < 1 or model.precision == "double"
    if model.solver == "admm" or (model.solver == "auto" and asks_for_dense):
        return _refused_if_too_large(_dense(X, model, rank), X, model)
    sparse = _sparse(X, model, rank)
    if model.solver == "sparse":
        return _refused_if_too_large(sparse, X, model)
    dense = _dense(X, model, rank)
    fitting = [one for one in (dense, sparse) if one.bytes <= allowed(model)]
    return min(fitting or [_refused_if_too_large(sparse, X, model)], key=lambda one: one.seconds)


def allowed(model: "CoRML") -> int:
    """Bytes a fit may take: what is free, or less where the model was told so."""
    free = memory.budget()
    return free if model.max_memory is None else min(free, memory.read_size(model.max_memory))


def suggested_rank(n_items: int) -> int:
    """More singular vectors for larger catalogues: the power of two nearest to n/100, from 16 to 256."""
    return int(2 ** np.clip(np.round(np.log2(max(n_items, 1) / 100)), 4, 8))


def dense_bytes(X: csr_array, block: int, rank: int, item_size: int) -> int:
    """Peak of the dense solver: its square arrays and scratch for one block, V in the making, and the data."""
    square = item_size * block * (admm.ARRAYS_ALIVE * block + min(SCRATCH_COLUMNS, 2 * block))
    return int(square + _filter_bytes(X, rank))


def sparse_bytes(X: csr_array, pairs: int, rank: int) -> int:
    """Peak of the sparse solver: its numbers for each pair, V in the making, and the data."""
    return int(BYTES_A_PAIR * pairs + _filter_bytes(X, rank))


def _filter_bytes(X: csr_array, rank: int) -> int:
    return int(24 * sum(X.shape) * rank + 40 * X.nnz)


def _dense(X: csr_array, model: "CoRML", rank: int) -> Plan:
    largest = max(1, int(model.partition_ratio * X.shape[1]))
    item_size = 4 if model.precision == "single" else 8
    work = DENSE_STEPS * 2.0 * largest**3 / model.partition_ratio
    return Plan(
        "admm", rank, largest, 0, None, dense_bytes(X, largest, rank, item_size), work / (DENSE_RATE * threads())
    )


def _sparse(X: csr_array, model: "CoRML", rank: int) -> Plan:
    found = count_pairs(X)
    strongest = model.candidates if model.candidates is not None else _strongest(found, allowed(model))
    if strongest is not None:
        found = count_pairs(X, most=strongest)
    seconds = SPARSE_STEPS * found.work / (SPARSE_RATE * threads())
    return Plan("sparse", rank, X.shape[1], found.pairs, strongest, sparse_bytes(X, found.pairs, rank), seconds)


def _strongest(found: PairCount, room: int) -> int | None:
    """All pairs where a step over them is quick and they fit in memory, else the strongest of each item."""
    quick = found.work <= MOST_WORK
    return None if quick and BYTES_A_PAIR * found.pairs <= room / 2 else STRONGEST


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
