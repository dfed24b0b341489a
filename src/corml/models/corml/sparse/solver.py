"""Problem H (see `problem.py`) on a support of pairs, and its solver: no n × n array.

Over pairs x = H_ij it is a quadratic with bounds, x ≥ 0, and

    gradient_ij = (MH + HM − B − Bᵀ)_ij,     M = εA + diag(l2·d + ridge)

It is solved by projected conjugate gradients with exact line search, in variables scaled by the square roots of the
curvature (diagonal, or Jacobi, scaling): after that the problem is so well conditioned that seven to ten steps reach
three digits, and few pairs ever meet their bound, so that directions stay conjugate (docs/solver.md compares it with
other methods).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, Self

import numpy as np
from scipy.sparse import csr_array

from corml._runtime.progress import expected_steps
from corml.errors import NumericalError
from corml.linalg.pairs import Conjugate, Support
from corml.linalg.sparse import Values, Vector, power
from corml.models.corml.problem import Weights
from corml.models.corml.sparse.pairs import Candidates
from corml.models.fitted import Certificate

RENEWALS = 3  # a gradient made afresh may ask for more steps, where single precision is nearly exhausted
SHORTER, LONGER = 0.1, 10.0  # by which the length of steps may change at a time


class Product(Protocol):
    """X ↦ A X on a support."""

    def one_way(self, x: Values) -> Values:
        """A X, as rows that are to be summed."""

    def diagonal(self) -> Vector:
        """diag(A)."""


@dataclass(frozen=True, kw_only=True)
class PairProblem:
    """Problem H on a support: `linear` is B + Bᵀ, `ridge` is l2·d + ridge for each item."""

    support: Support
    normal: Product
    scale: float
    ridge: Vector
    linear: Values

    @classmethod
    def through(cls, normal: Product, d: Vector, pairs: Candidates, *, cross: Values | None, weights: Weights) -> Self:
        """The problem for these weights on some candidates, where the product with A is made this way.

        `cross` is the cross term on the candidates; None where the filter does not count.
        """
        linear = pairs.gram / np.float32(weights.mix)  # 1/2λ, for B and for Bᵀ
        if cross is not None:
            linear -= np.float32(weights.cross_factor) * cross
        linear *= pairs.support.product_of(power(d, -weights.item_norm))
        ridge = weights.diagonal(d)
        return cls(support=pairs.support, normal=normal, scale=weights.scale, ridge=ridge, linear=linear)

    def item_curvature(self) -> Vector:
        """Diagonal of M."""
        return self.scale * self.normal.diagonal() + self.ridge

    def curvature(self) -> Values:
        """Second derivative for each pair: M_ii + M_jj."""
        return self.support.sum_of(self.item_curvature())

    def product(self, x: Values) -> Values:
        """MH + HM on the support."""
        return self.support.both_ways(self.normal.one_way(x), self.scale, self.ridge, x)


@dataclass(frozen=True)
class Solution:
    """H, symmetric to the last bit, with an entry for every candidate, zeros too; and how near it is to the optimum."""

    H: csr_array = field(repr=False)
    certificate: Certificate


class Point(NamedTuple):
    """The state of the solver: all that later steps depend on."""

    x: Values
    gradient: Values
    direction: Values
    numbers: tuple[float, float]  # of the next direction, see `Conjugate`
    residuals: tuple[float, ...]  # before any step, and after each
    renewals: int


class Checkpoint(Protocol):
    """Keeps points, so that a solve that was stopped resumes, and ends the same."""

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
    problem.support.mirror(x)
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
