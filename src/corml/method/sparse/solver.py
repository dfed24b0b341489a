"""A sparse solver of problem H: no n × n array, only pairs that met.

Over pairs x = H_ij the problem is a quadratic with bounds, x ≥ 0. It is solved by projected gradients with
Barzilai–Borwein steps and exact line search, in variables scaled by the roots of the curvature: after that scaling
the problem is so well conditioned that ten to twenty steps reach five digits (docs/solver.md compares it with others).

    slope_ij = (MH + HM − B − Bᵀ)_ij,     M = εA + diag(l2·d + ridge)
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.errors import NumericalError
from corml.linalg.gram import dense_gram
from corml.linalg.normal import Normal
from corml.linalg.scaling import power, scaled
from corml.linalg.support import Support
from corml.linalg.through_gram import ThroughGram
from corml.method.problem import Weights, loss_weights, user_weights
from corml.method.sparse.candidates import Candidates
from corml.method.sparse.pricing import LeftOut
from corml.progress import expected_steps

__all__ = ["Certificate", "PairProblem", "Solution", "solve"]

Values = NDArray[np.float32]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class PairProblem:
    """Problem H on a support: `pull` is B + Bᵀ, `ridge` is l2·d + ridge for each item."""

    support: Support
    normal: Normal | ThroughGram
    scale: float
    ridge: NDArray[np.float64]
    pull: Values

    @classmethod
    def of(
        cls,
        R: csr_array,
        d: NDArray[np.float64],
        pairs: Candidates,
        explained: Values | None,
        weights: Weights,
        *,
        through_gram: bool = False,
    ) -> Self:
        """The problem for these weights on some candidates; `explained` is the cross term on them.

        `through_gram` keeps A = PᵀΦP whole, for few items that nearly all meet each other.
        """
        support, p = pairs.support, power(d, -weights.item_norm)
        pull = pairs.gram / np.float32(weights.mix)
        if explained is not None:
            pull -= np.float32(weights.scale * weights.filter_weight) * explained
        pull *= support.product_of(p)
        by_user = loss_weights(R, weights.user_balance) * user_weights(R, weights.user_norm)
        normal: Normal | ThroughGram
        if through_gram:
            P = scaled(R, columns=p)
            normal = ThroughGram(dense_gram(scaled(P, rows=by_user), P, np.float32), support)
        else:
            normal = Normal(R, p, by_user, support)
        return cls(support, normal, weights.scale, weights.l2 * d + weights.ridge, pull)

    def item_curvature(self) -> NDArray[np.float64]:
        """Diagonal of M."""
        return self.scale * self.normal.diagonal() + self.ridge

    def curvature(self) -> Values:
        """Second derivative for each pair: M_ii + M_jj."""
        return self.support.sum_of(self.item_curvature())

    def product(self, x: Values) -> Values:
        """MH + HM on the support."""
        made = self.normal(x)
        made *= np.float32(self.scale)
        made += self.ridge_sum * x
        return made

    @cached_property
    def ridge_sum(self) -> Values:
        """Ridges of both items of each pair."""
        return self.support.sum_of(self.ridge)


@dataclass(frozen=True)
class Certificate:
    """How optimal an answer is, and over which pairs that was checked."""

    objective: float
    residual: float  # ‖projected slope‖ / ‖pull‖, both in scaled variables
    pairs: int
    complete: bool  # whether these are all pairs that met, so that the answer solves problem H itself
    size: float  # ‖pull‖ in scaled variables, the measure of residuals
    largest: float  # pull of a single pair in scaled variables, the measure of gains


@dataclass(frozen=True)
class Solution:
    """What the sparse solver found, and its certificate."""

    H: csr_array = field(repr=False)  # with a place for every candidate, zeros too
    steps: int
    converged: bool
    certificate: Certificate
    trace: tuple[tuple[float], ...] = field(default=(), repr=False)
    left_out: LeftOut | None = None
    rounds: int = 1
    pruned: int = 0  # pairs that went to stay within a budget

    @property
    def residual(self) -> float:
        """How far from optimal."""
        return self.certificate.residual

    def report(self) -> dict[str, Any]:
        """Plain numbers for a model file or a table."""
        outside = {} if self.left_out is None else self.left_out.report()
        head = {"rounds": self.rounds, "steps": self.steps, "converged": self.converged}
        gone = {"pruned": self.pruned} if self.pruned else {}
        return {**head, **vars(self.certificate), **outside, **gone}


def solve(
    problem: PairProblem,
    *,
    complete: bool,
    start: Values | None = None,
    max_steps: int = 500,
    tol: float = 1e-4,
    progress: Progress | None = None,
) -> Solution:
    """Minimise ½⟨H, MH⟩ − ⟨B, H⟩ over symmetric H ≥ 0 on the support; `tol=0` runs exactly `max_steps`."""
    root: Values = np.sqrt(problem.curvature())
    pull: Values = problem.pull / root
    z: Values = np.zeros_like(pull) if start is None else np.maximum(start * root, np.float32(0))
    slope: Values = _scaled_product(problem, z, root) - pull if start is not None else -pull
    size, largest = max(_norm(pull), _TINY), float(pull.max(initial=0.0))
    trace, length, step = [_finite(_projected(z, slope) / size, 0)], np.float32(0.5), 0
    while step < max_steps and (tol <= 0 or trace[-1] > tol):
        step += 1
        length = _advance(problem, z, slope, root, length, even=step % 2 == 0)
        trace.append(_finite(_projected(z, slope) / size, step))
        if progress:
            progress(step, expected_steps(trace, tol, max_steps))
    slope = _scaled_product(problem, z, root) - pull  # afresh: updates gather rounding
    residual = _projected(z, slope) / size
    objective = 0.25 * (_dot(z, slope) - _dot(z, pull))
    certificate = Certificate(objective, residual, len(problem.support) // 2, complete, size, largest)
    H = problem.support.matrix(z / root, zeros=True)
    steps = tuple((value,) for value in trace[1:])
    return Solution(H, step, bool(tol > 0 and residual <= 2 * tol), certificate, steps)


_TINY = float(np.finfo(np.float32).tiny)


def _advance(
    problem: PairProblem, z: Values, slope: Values, root: Values, length: np.float32, *, even: bool
) -> np.float32:
    """One projected step, in place; returns the length of the next (the two Barzilai–Borwein rules take turns)."""
    move: Values = np.maximum(z - length * slope, np.float32(0))
    move -= z
    bent = _scaled_product(problem, move, root)
    bend, descent = _dot(move, bent), -_dot(slope, move)
    share = np.float32(min(1.0, max(descent / max(bend, _TINY), 0.0)))
    z += share * move
    slope += share * bent
    rule = bend / max(_dot(bent, bent), _TINY) if even else _dot(move, move) / max(bend, _TINY)
    return np.float32(rule if rule > 0 else 0.5)


def _scaled_product(problem: PairProblem, z: Values, root: Values) -> Values:
    made = problem.product(z / root)
    made /= root
    return made


def _projected(z: Values, slope: Values) -> float:
    """Norm of the slopes that could still gain: of positive pairs all, of zero pairs the negative ones."""
    return _norm(np.where(z > 0, slope, np.minimum(slope, np.float32(0))))


def _finite(residual: float, step: int) -> float:
    if not np.isfinite(residual):
        raise NumericalError(f"The sparse solver left the finite numbers at step {step}: raise `ridge` or `l2`.")
    return residual


def _dot(a: Values, b: Values) -> float:
    """A sum in double precision over pieces summed in single: enough, and no copy."""
    piece = 1 << 16
    return float(sum(float(np.dot(a[at : at + piece], b[at : at + piece])) for at in range(0, len(a), piece)))


def _norm(a: Values) -> float:
    return float(np.sqrt(_dot(a, a)))
