"""A bound-constrained solver of problem H on co-occurring pairs.

Projected gradients with Barzilai–Borwein steps and exact line search, in variables scaled by the square roots of the
curvature (diagonal, or Jacobi, scaling): after that the problem is so well conditioned that ten to twenty steps reach
five digits (docs/solver.md compares it with others).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array

from corml.errors import NumericalError
from corml.fitted import Certificate
from corml.method.sparse.problem import PairProblem, Values
from corml.progress import expected_steps

__all__ = ["Solution", "advance", "scaled_product", "solve"]


@dataclass(frozen=True)
class Solution:
    """H with an entry for every candidate, zeros too, and the certificate of its optimality."""

    H: csr_array = field(repr=False)
    certificate: Certificate


def solve(
    problem: PairProblem,
    *,
    complete: bool,
    start: Values | None = None,
    max_steps: int = 500,
    tol: float = 1e-4,
    progress: Callable[[int, int], None] | None = None,
) -> Solution:
    """Minimise ½⟨H, MH⟩ − ⟨B, H⟩ over symmetric H ≥ 0 on the support; `tol=0` runs exactly `max_steps`."""
    scaling: Values = np.sqrt(problem.curvature())
    linear: Values = problem.linear / scaling
    z: Values = np.zeros_like(linear) if start is None else np.maximum(start * scaling, np.float32(0))
    gradient: Values = scaled_product(problem, z, scaling) - linear if start is not None else -linear
    norm, largest = max(_norm(linear), _TINY), float(linear.max(initial=0.0))
    trace, length, step = [_finite(_projected(z, gradient) / norm, 0)], np.float32(0.5), 0
    while step < max_steps and (tol <= 0 or trace[-1] > tol):
        step += 1
        length = advance(problem, z, gradient, scaling, length, even=step % 2 == 0)
        trace.append(_finite(_projected(z, gradient) / norm, step))
        if progress:
            progress(step, expected_steps(trace, tol, max_steps))
    gradient = scaled_product(problem, z, scaling) - linear  # afresh: updates gather rounding
    residual = _projected(z, gradient) / norm
    certificate = Certificate(
        steps=step,
        converged=bool(tol > 0 and residual <= 2 * tol),
        residual=residual,
        objective=0.25 * (_dot(z, gradient) - _dot(z, linear)),
        pairs=len(problem.support) // 2,
        complete=complete,
        linear_norm=norm,
        linear_max=largest,
        column_generation=1,
        trace=tuple((value,) for value in trace[1:]),
    )
    return Solution(problem.support.matrix(z / scaling, zeros=True), certificate)


_TINY = float(np.finfo(np.float32).tiny)


def advance(
    problem: PairProblem, z: Values, gradient: Values, scaling: Values, length: np.float32, *, even: bool
) -> np.float32:
    """One projected step, in place; returns the length of the next (the two Barzilai–Borwein rules take turns)."""
    direction: Values = np.maximum(z - length * gradient, np.float32(0))
    direction -= z
    product = scaled_product(problem, direction, scaling)
    curvature, descent = _dot(direction, product), -_dot(gradient, direction)
    share = np.float32(min(1.0, max(descent / max(curvature, _TINY), 0.0)))
    z += share * direction
    gradient += share * product
    if even:
        rule = curvature / max(_dot(product, product), _TINY)
    else:
        rule = _dot(direction, direction) / max(curvature, _TINY)
    return np.float32(rule if rule > 0 else 0.5)


def scaled_product(problem: PairProblem, z: Values, scaling: Values) -> Values:
    """The Hessian in scaled variables times z."""
    product = problem.product(z / scaling)
    product /= scaling
    return product


def _projected(z: Values, gradient: Values) -> float:
    """Norm of the projected gradient: of positive pairs all of it, of zero pairs where it is negative."""
    return _norm(np.where(z > 0, gradient, np.minimum(gradient, np.float32(0))))


def _finite(residual: float, step: int) -> float:
    if not np.isfinite(residual):
        raise NumericalError(f"The sparse solver diverged at step {step}: raise `ridge` or `l2`.")
    return residual


def _dot(a: Values, b: Values) -> float:
    """A sum in double precision over pieces summed in single: enough, and no copy."""
    piece = 1 << 16
    return float(sum(float(np.dot(a[at : at + piece], b[at : at + piece])) for at in range(0, len(a), piece)))


def _norm(a: Values) -> float:
    return float(np.sqrt(_dot(a, a)))
