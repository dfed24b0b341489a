"""The paper's solver of problem H: ADMM on dense matrices (`linalg/admm.py`), with H symmetric and nowhere negative.

Z ← max((H + Γ + (H + Γ)ᵀ)/2, 0)                                                                  (z)
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.linalg import admm
from corml.linalg.admm import ARRAYS_ALIVE, Solution, norm
from corml.method.dense.problem import DenseProblem
from corml.progress import expected_steps

__all__ = ["ARRAYS_ALIVE", "Solution", "solve"]

TILE = 1024

Matrix = NDArray[Any]
Report = Callable[[int, int], None]


def solve(
    problem: DenseProblem,
    *,
    rho: float | None = None,
    max_steps: int = 500,
    tol: float = 1e-4,
    progress: Report | None = None,
) -> Solution:
    """Minimise ½⟨H, MH⟩ − ⟨B, H⟩ over symmetric H ≥ 0 with diag(H) = 0; overwrites the problem's M.

    ρ sets the speed; the converged answer does not depend on it. Stops when both residuals are below `tol`;
    `tol=0` runs exactly `max_steps`.
    """

    def report(trace: list[tuple[float, float]]) -> None:
        if progress:
            progress(len(trace), expected_steps([1.0, *map(max, trace)], tol, max_steps))

    return admm.solve(problem.M, problem.B, _project, rho=rho, max_steps=max_steps, tol=tol, progress=report)


def _project(S: Matrix, Z: Matrix, rho: float) -> float:
    """Z ← max((S + Sᵀ)/2, 0), tile by tile; return how far Z moved."""
    moved = 0.0
    for a in range(0, len(S), TILE):
        for b in range(a, len(S), TILE):
            tile = S[a : a + TILE, b : b + TILE] + S[b : b + TILE, a : a + TILE].T
            tile *= S.dtype.type(0.5)
            np.maximum(tile, 0, out=tile)
            change = norm(tile - Z[a : a + TILE, b : b + TILE]) ** 2
            moved += change if a == b else 2 * change
            Z[a : a + TILE, b : b + TILE] = tile
            Z[b : b + TILE, a : a + TILE] = tile.T
    return float(np.sqrt(moved))
