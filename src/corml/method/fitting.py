"""Fit CoRML: decide how, refuse what will not fit, then G → blocks → H → prune."""

import warnings
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml import memory
from corml.errors import ConvergenceWarning, NumericalError, SettingError
from corml.method import admm, prune
from corml.method.partition import partition
from corml.method.problem import dense_problem
from corml.method.spectral import singular_vectors

if TYPE_CHECKING:
    from corml.method.estimator import CoRML

__all__ = ["Plan", "plan", "predicted_bytes", "run", "suggested_rank"]

SCRATCH_COLUMNS = 4096  # bands and tiles beside the n × n arrays
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Plan:
    """How a fit will go, decided before anything is allocated."""

    solver: str
    rank: int
    largest_block: int
    bytes: int

    def report(self) -> dict[str, Any]:
        """Plain numbers for a model file or a table."""
        return {
            "solver": self.solver,
            "rank": self.rank,
            "largest block": self.largest_block,
            "predicted bytes": self.bytes,
        }


def plan(X: csr_array, model: "CoRML") -> Plan:
    """Choose the rank and check that the dense solver fits in memory."""
    n = X.shape[1]
    if model.partition_ratio < 1 and model.partition_ratio * n <= 1:
        raise SettingError(f"partition_ratio must be above 1/items = {1 / n:.3g}; got {model.partition_ratio:g}.")
    rank = min(model.rank or suggested_rank(n), *X.shape)
    largest = max(1, int(model.partition_ratio * n))
    item_size = 4 if model.precision == "single" else 8
    chosen = Plan("admm", rank, largest, predicted_bytes(X, largest, rank, item_size))
    memory.require(
        chosen.bytes,
        what=f"The dense solver with {largest:,} items in a block",
        instead=_what_fits(X, rank, item_size),
    )
    return chosen


def suggested_rank(n_items: int) -> int:
    """More singular vectors for larger catalogues: the power of two nearest to n/100, from 16 to 256."""
    return int(2 ** np.clip(np.round(np.log2(max(n_items, 1) / 100)), 4, 8))


def predicted_bytes(X: csr_array, block: int, rank: int, item_size: int) -> int:
    """Peak of a fit: the solver's square arrays and scratch for one block, V in the making, and the data."""
    square = item_size * block * (admm.ARRAYS_ALIVE * block + min(SCRATCH_COLUMNS, 2 * block))
    return int(square + 24 * sum(X.shape) * rank + 40 * X.nnz)


def run(
    X: csr_array, d: NDArray[np.float64], model: "CoRML", chosen: Plan, progress: Progress
) -> tuple[NDArray[np.float32], csr_array, list[admm.Solution]]:
    """V, H and how H was solved, block by block."""
    progress("filter", 0, 1)
    V = singular_vectors(X, chosen.rank)
    progress("filter", 1, 1)
    blocks = partition(X, model.partition_ratio)
    parts, solutions = [], []
    for number, block in enumerate(blocks, start=1):
        stage = "solve" if len(blocks) == 1 else f"solve block {number} of {len(blocks)}"
        H, solution = _solve_block(X, d, V, block, model, lambda a, b, stage=stage: progress(stage, a, b))
        parts.append((block, H))
        solutions.append(solution)
    H = _assemble(parts, X.shape[1])
    if model.budget is not None:
        H = prune.to_budget(H, model.budget, X.shape[0])
    if not np.isfinite(H.data).all():
        raise NumericalError("The learned matrix H is not finite: raise `ridge` or `l2`.")
    _warn_if_unfinished(solutions, model)
    return V.astype(np.float32), H, solutions


def _solve_block(
    X: csr_array, d: NDArray[np.float64], V: NDArray[Any], block: NDArray[np.int64], model: "CoRML", progress: Any
) -> tuple[csr_array, admm.Solution]:
    dtype = np.float32 if model.precision == "single" else np.float64
    R, whole = X, len(block) == X.shape[1]
    if not whole:
        R, d, V = X[:, block], d[block], V[block]
    problem = dense_problem(R, d, V, model.weights, clip=model.filter != "factored", dtype=dtype)
    solution = admm.solve(problem, rho=model.rho, max_steps=model.max_steps, tol=model.tol, progress=progress)
    H = csr_array(solution.H).astype(np.float32)
    return H, admm.Solution(**{**vars(solution), "H": np.zeros((0, 0))})


def _assemble(parts: list[tuple[NDArray[np.int64], csr_array]], n: int) -> csr_array:
    """Put the blocks where they belong in one n × n matrix."""
    rows = np.concatenate([block[np.repeat(np.arange(len(block)), np.diff(H.indptr))] for block, H in parts])
    columns = np.concatenate([block[H.indices] for block, H in parts])
    data = np.concatenate([H.data for _, H in parts])
    made = csr_array((data, (rows.astype(np.int32), columns.astype(np.int32))), shape=(n, n))
    made.sort_indices()
    return made


def _what_fits(X: csr_array, rank: int, item_size: int) -> str:
    """The largest block the budget allows, as advice."""
    n, allowed = X.shape[1], memory.budget()
    fits = bisect_right(range(1, n + 1), allowed, key=lambda block: predicted_bytes(X, block, rank, item_size))
    ratio = np.floor(1000 * fits / n) / 1000
    if ratio * n <= 1:
        return "free some memory first."
    return f"the largest block that fits has {fits:,} of {n:,} items: set partition_ratio={ratio:g} or less."


def _warn_if_unfinished(solutions: list[admm.Solution], model: "CoRML") -> None:
    unfinished = [s for s in solutions if not s.converged]
    if model.tol > 0 and unfinished:
        worst = max(max(s.primal, s.dual) for s in unfinished)
        warnings.warn(
            f"The solver stopped after {model.max_steps} steps with a residual of {worst:.1e} (tol {model.tol:g}): "
            "raise max_steps, or set tol=0 to ask for a fixed number of steps.",
            ConvergenceWarning,
            stacklevel=5,
        )
