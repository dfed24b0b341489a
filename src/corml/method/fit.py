"""Fit CoRML as planned: G, then H by the dense solver block by block or by the sparse one, then prune."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml import memory
from corml.errors import ConvergenceWarning, NumericalError
from corml.method import prune
from corml.method.dense import admm
from corml.method.dense.partition import partition
from corml.method.plan.plan import PAIR_TOL, Plan
from corml.method.problem import dense_problem
from corml.method.sparse.column_generation import Rounds
from corml.method.sparse.fit_cache import Workspace
from corml.method.sparse.reorder import Arranged
from corml.method.sparse.warm_start import Start
from corml.method.spectral import singular_vectors

if TYPE_CHECKING:
    from corml.method.estimator import CoRML

__all__ = ["run"]

FEW = 1e-4  # of the pairs: so few more change no list, so they get a round only where a lower pair_tol asks for it

Progress = Callable[[str, int, int], None]
Solved = tuple[csr_array, list[Any]]


def run(
    X: csr_array,
    d: NDArray[np.float64],
    model: "CoRML",
    plan: Plan,
    progress: Progress,
    start: Start | None = None,
    workspace: Workspace | None = None,
) -> tuple[NDArray[np.float32], csr_array, list[Any]]:
    """V, H and how H was solved."""
    progress("filter", 0, 1)
    norms = model.graph_norms
    V = start.vectors(plan.rank, norms) if start else None
    if V is None:
        V = singular_vectors(X, plan.rank, norms) if workspace is None else workspace.vectors(plan.rank, norms)
    memory.release()
    progress("filter", 1, 1)
    if plan.solver == "sparse":
        place = Arranged.of(X, V) if workspace is None else workspace.arranged(V)
        V = place.taken(V)
        H, solutions = _sparse(place, d, V, model, plan, progress, start, workspace)
        V, H = place.back_rows(V), place.back(H)
    else:
        H, solutions = _dense(X, d, V, model, plan, progress)
        if model.budget is not None:
            H = prune.to_budget(H, model.budget, X.shape[0], d)
    if not np.isfinite(H.data).all():
        raise NumericalError("The learned matrix H is not finite: raise `ridge` or `l2`.")
    _warn_if_unfinished(solutions, model)
    return V.astype(np.float32, copy=False), H, solutions


def _sparse(
    place: Arranged,
    d: NDArray[np.float64],
    V: NDArray[Any],
    model: "CoRML",
    plan: Plan,
    progress: Progress,
    start: Start | None,
    workspace: Workspace | None,
) -> Solved:
    """H on the pairs that met, in the order of the place, as V is."""
    weights, limits = replace(model.weights, ridge=plan.ridge), (model.pair_tol, model.tol, model.max_steps)
    X, d = place.X, place.taken(d)
    few = FEW if model.pair_tol >= PAIR_TOL else 0.0
    rounds = Rounds(
        X, d, V, model.filter, weights, plan.strongest, plan.room, plan.through_gram, few, *limits, progress
    )
    solution = rounds.solve(None if start is None else place.there(start.H), workspace)
    H = solution.H.copy()
    H.eliminate_zeros()
    if model.budget is not None:
        kept = prune.to_budget(H, model.budget, X.shape[0], d)
        if kept.nnz < H.nnz:
            solution = rounds.within(kept, solution)
            H = solution.H
            H.eliminate_zeros()
    return H, [_without_matrix(solution)]


def _dense(
    X: csr_array, d: NDArray[np.float64], V: NDArray[Any], model: "CoRML", plan: Plan, progress: Progress
) -> Solved:
    """H block by block."""
    blocks = partition(X, model.partition_ratio)
    parts, solutions = [], []
    for number, block in enumerate(blocks, start=1):
        stage = "solve" if len(blocks) == 1 else f"solve block {number} of {len(blocks)}"
        solution = _solve_block(X, d, V, block, model, plan, lambda a, b, stage=stage: progress(stage, a, b))
        parts.append((block, csr_array(solution.H).astype(np.float32)))
        solutions.append(_without_matrix(solution))
    return _assemble(parts, X.shape[1]), solutions


def _solve_block(
    X: csr_array,
    d: NDArray[np.float64],
    V: NDArray[Any],
    block: NDArray[np.int64],
    model: "CoRML",
    plan: Plan,
    progress: Any,
) -> admm.Solution:
    dtype = np.float32 if model.precision == "single" else np.float64
    if len(block) < X.shape[1]:
        X, d, V = X[:, block], d[block], V[block]
    weights = replace(model.weights, ridge=plan.ridge)
    problem = dense_problem(X, d, V, weights, clip=model.filter != "factored", dtype=dtype)
    return admm.solve(problem, rho=model.rho, max_steps=model.max_steps, tol=model.tol, progress=progress)


def _assemble(parts: list[tuple[NDArray[np.int64], csr_array]], n: int) -> csr_array:
    """Put the blocks where they belong in one n × n matrix."""
    rows = np.concatenate([block[np.repeat(np.arange(len(block)), np.diff(H.indptr))] for block, H in parts])
    columns = np.concatenate([block[H.indices] for block, H in parts])
    data = np.concatenate([H.data for _, H in parts])
    made = csr_array((data, (rows.astype(np.int32), columns.astype(np.int32))), shape=(n, n))
    made.sort_indices()
    return made


def _without_matrix(solution: Any) -> Any:
    """How it was solved, without the answer itself, which the model keeps elsewhere."""
    return type(solution)(**{**vars(solution), "H": None})


def _warn_if_unfinished(solutions: list[Any], model: "CoRML") -> None:
    unfinished = [solution for solution in solutions if not solution.converged]
    if model.tol > 0 and unfinished:
        worst = max(unfinished, key=lambda solution: solution.residual)
        warnings.warn(
            f"The solver stopped after {worst.steps} steps at a residual of {worst.residual:.1e} (tol {model.tol:g}): "
            "raise max_steps or tol, or set tol=0 to ask for a fixed number of steps.",
            ConvergenceWarning,
            stacklevel=5,
        )
