"""ADMM for quadratic problems over hollow matrices, dense: what CoRML and ADMM-SLIM have in common.

    minimise  ½⟨H, M H⟩ − ⟨B, H⟩ + f(H)     subject to   diag(H) = 0

    X = (M + ρI)⁻¹
    H ← X (B + ρ(Z − Γ)),   H ← H − X·diag(diag(H)/diag(X))                                      (h)
    Z ← argmin f(Z) + ρ/2·‖Z − (H + Γ)‖²                                                          (z)
    Γ ← Γ + H − Z                                                                                 (γ)

Further conditions on the answer, f, are the caller's: step (z). Six n × n arrays are alive: X, B, H, Z, Γ and one
for the right-hand side of (h).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from corml._runtime.parallel import blas
from corml.errors import NumericalError
from corml.linalg.sparse import Array
from corml.linalg.spd import spd_inverse

ARRAYS_ALIVE = 6  # n × n arrays at the peak, scratch aside
TILE = 1024  # rows of the scratch

Step = Callable[[Array, Array, float], float]
Trace = list[tuple[float, float]]


@dataclass(frozen=True)
class Solution:
    """The minimum a solver reached, its residuals on the way, and whether they are within the tolerance."""

    H: Array = field(repr=False)
    steps: int
    primal: float  # ‖H − Z‖ / ‖Z‖
    dual: float  # ‖Z − Z_before‖ / max(‖Γ‖, ‖B‖/ρ)
    converged: bool
    rho: float
    trace: tuple[tuple[float, float], ...] = field(default=(), repr=False)

    @property
    def residual(self) -> float:
        """How far from optimal."""
        return max(self.primal, self.dual)


def solve(
    M: Array,
    B: Array,
    nearest: Step,
    *,
    rho: float | None = None,
    max_steps: int = 500,
    tol: float = 1e-4,
    progress: Callable[[Trace], None] | None = None,
) -> Solution:
    """The minimum of the problem above; overwrites M.

    `nearest(S, Z, ρ)` is step (z): it writes into Z the best matrix near S = H + Γ and returns how far Z moved. ρ sets
    the speed; the converged answer does not depend on it. Stops when both residuals are below `tol`; `tol=0` runs
    exactly `max_steps`. ‖H − Z‖ alone is no test: it is small long before the end.
    """
    rho = suggested_rho(M) if rho is None else rho
    M[np.diag_indices_from(M)] += M.dtype.type(rho)
    X = spd_inverse(M)
    H, T, Z, Γ = np.empty_like(B), np.empty_like(B), np.zeros_like(B), np.zeros_like(B)
    trace: Trace = []
    linear = float(np.sqrt(max(norm(B) ** 2 - float(np.sum(np.diag(B).astype(np.float64) ** 2)), 0.0))) / rho
    with blas(size=len(B)):
        for step in range(1, max_steps + 1):
            np.matmul(X, _target(B, Z, Γ, rho, out=T), out=H)
            _zero_diagonal(H, X)  #                                                                       (h)
            Γ += H
            moved = nearest(Γ, Z, rho)  #                                                                 (z)
            Γ -= Z  #                                                                                     (γ)
            trace.append(_residuals(H, Z, Γ, moved, linear=linear, scratch=T))
            if not np.isfinite(trace[-1]).all():
                raise NumericalError(f"ADMM diverged at step {step}: raise `ridge`, `l2` or `rho`.")
            if progress:
                progress(trace)
            if tol > 0 and max(trace[-1]) <= tol:
                return Solution(Z, step, *trace[-1], converged=True, rho=rho, trace=tuple(trace))
    return Solution(Z, max_steps, *trace[-1], converged=False, rho=rho, trace=tuple(trace))


def suggested_rho(M: Array) -> float:
    """√(μ·L), the step length at which ADMM on a quadratic with eigenvalues in [μ, L] contracts fastest.

    L comes from a power iteration; for μ the smallest diagonal entry is used, which is right up to a small factor.
    """
    v = np.ones(len(M), dtype=M.dtype)
    for _ in range(20):
        v /= np.linalg.norm(v)
        v = M @ v
    return float(np.sqrt(float(np.diag(M).min()) * float(np.linalg.norm(v))))


def norm(S: Array) -> float:
    """Frobenius norm; rows are summed in double precision."""
    return float(np.sqrt(np.einsum("ij,ij->i", S, S).sum(dtype=np.float64)))


def _target(B: Array, Z: Array, Γ: Array, rho: float, *, out: Array) -> Array:
    np.subtract(Z, Γ, out=out)
    out *= out.dtype.type(rho)
    out += B
    return out


def _zero_diagonal(H: Array, X: Array) -> None:
    """Take off X·diag(ν), the cheapest change that makes diag(H) vanish."""
    ν = np.diag(H) / np.diag(X)
    for start in range(0, len(H), TILE):
        H[start : start + TILE] -= X[start : start + TILE] * ν
    np.fill_diagonal(H, 0)  # exactly, not up to rounding


def _residuals(H: Array, Z: Array, Γ: Array, moved: float, *, linear: float, scratch: Array) -> tuple[float, float]:
    """‖H − Z‖ against ‖Z‖, and ρ‖Z − Z_before‖, a gradient, against the gradient at zero or ρ‖Γ‖.

    `linear` = ‖B‖/ρ is the norm of the linear term, the gradient at zero, in units of Γ. Where Z is zero,
    the first is measured like the second.
    """
    gap, size, scale = norm(np.subtract(H, Z, out=scratch)), norm(Z), max(norm(Γ), linear)
    tiny = float(np.finfo(np.float32).tiny)
    return gap / max(size or scale, tiny), moved / max(scale, tiny)
