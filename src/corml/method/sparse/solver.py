"""A bound-constrained solver of problem H on co-occurring pairs.

Projected conjugate gradients with exact line search, in variables scaled by the square roots of the curvature
(diagonal, or Jacobi, scaling): after that the problem is so well conditioned that seven to ten steps reach three
digits, and few pairs ever meet their bound, so that directions stay conjugate (docs/solver.md compares it with
others).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array

from corml.errors import NumericalError
from corml.fitted import Certificate
from corml.linalg.conjugate import Conjugate
from corml.method.sparse.problem import PairProblem, Values
from corml.progress import expected_steps

__all__ = ["Checkpoint", "Point", "Solution", "advance", "solve"]

RENEWALS = 3  # a gradient made afresh may say that it goes on, where single precision is nearly exhausted
SHORTER, LONGER = 0.1, 10.0  # by which the length of steps may change at a time


@dataclass(frozen=True)
class Solution:
    """H with an entry for every candidate, zeros too, and the certificate of its optimality."""

    H: csr_array = field(repr=False)
    certificate: Certificate


class Point(NamedTuple):
    """Where the solver stands: all that the steps to come depend on."""

    x: Values
    gradient: Values
    direction: Values
    numbers: tuple[float, float]  # of the next direction, see `Conjugate`
    residuals: tuple[float, ...]  # before any step, and after each
    renewals: int


class Checkpoint(Protocol):
    """Keeps points, so that a solve that was stopped goes on, and comes to the same end."""

    def load(self) -> Point | None:
        """The last point that was kept."""

    def save(self, make: Callable[[], Point]) -> None:
        """A point is reached; it may be kept."""


def solve(
    problem: PairProblem,
    *,
    complete: bool,
    start: Values | None = None,
    max_steps: int = 500,
    tol: float = 1e-3,
    progress: Callable[[int, int], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Solution:
    """Minimise ½⟨H, MH⟩ − ⟨B, H⟩ over symmetric H ≥ 0 on the support; `tol=0` runs exactly `max_steps`."""
    norm, largest = _size(problem)
    kept = None if checkpoint is None else checkpoint.load()
    if kept is not None:
        x = kept.x
        at = Conjugate(problem.support, problem.item_curvature(), x, kept.gradient, kept.direction, kept.numbers)
        first, *trace = kept.residuals
    else:
        x = np.zeros_like(problem.linear) if start is None else np.maximum(start, np.float32(0))
        at = Conjugate(problem.support, problem.item_curvature(), x, _gradient(problem, x, at_zero=start is None))
        first, trace = _finite(at.move(problem.linear, 0.0) / norm, 0), []
    residual = trace[-1] if trace else first
    for renewals in range(0 if kept is None else kept.renewals, RENEWALS + 1):
        while len(trace) < max_steps and (tol <= 0 or residual > tol):
            residual = _finite(advance(problem, at) / norm, len(trace) + 1)
            trace.append(residual)
            if progress:
                progress(len(trace), expected_steps([first, *trace], tol, max_steps))
            if checkpoint:
                checkpoint.save(
                    lambda: Point(x, at.gradient, at.direction, at.numbers, (first, *trace), renewals)  # noqa: B023
                )
        at.gradient = _gradient(problem, x)  # afresh: updates gather rounding
        residual = at.move(problem.linear, 0.0) / norm
        if len(trace) == max_steps or residual <= 2 * tol:
            break
    certificate = Certificate(
        steps=len(trace),
        converged=bool(tol > 0 and residual <= 2 * tol),
        residual=residual,
        objective=0.25 * (_dot(x, at.gradient) - _dot(x, problem.linear)),
        pairs=len(problem.support) // 2,
        complete=complete,
        linear_norm=norm,
        linear_max=largest,
        column_generation=1,
        trace=tuple((value,) for value in trace),
    )
    return Solution(problem.support.matrix(x, zeros=True), certificate)


_TINY = float(np.finfo(np.float32).tiny)


def advance(problem: PairProblem, at: Conjugate) -> float:
    """One step to the minimum between here and the end of the direction; returns the projected gradient's norm there.

    The next direction is as long as this one would have been best.
    """
    descent = at.turn()
    bent = problem.product(at.direction)
    best = max(descent, 0.0) / max(_dot(at.direction, bent), _TINY)
    at.length *= min(max(best, SHORTER), LONGER)
    return at.move(bent, min(1.0, best))


def _gradient(problem: PairProblem, x: Values, *, at_zero: bool = False) -> Values:
    if at_zero:
        return -problem.linear
    gradient = problem.product(x)
    gradient -= problem.linear
    return gradient


def _size(problem: PairProblem) -> tuple[float, float]:
    """Norm and largest entry of the linear term, in scaled variables."""
    scaling: Values = np.sqrt(problem.curvature())
    linear: Values = problem.linear / scaling
    return max(float(np.sqrt(_dot(linear, linear))), _TINY), float(linear.max(initial=0.0))


def _finite(residual: float, step: int) -> float:
    if not np.isfinite(residual):
        raise NumericalError(f"The sparse solver diverged at step {step}: raise `ridge` or `l2`.")
    return residual


def _dot(a: Values, b: Values) -> float:
    """A sum in double precision over pieces summed in single: enough, and no copy."""
    piece = 1 << 16
    return float(sum(float(np.dot(a[at : at + piece], b[at : at + piece])) for at in range(0, len(a), piece)))
