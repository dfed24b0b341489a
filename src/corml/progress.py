"""How long a solver will still take, for people who wait."""

import math
from collections.abc import Sequence

__all__ = ["expected_steps"]


def expected_steps(residuals: Sequence[float], tol: float, most: int) -> int:
    """Steps in all at the pace so far, the first residual being the one before any step: they fall geometrically."""
    done, first, now = len(residuals) - 1, residuals[0], residuals[-1]
    if tol <= 0:
        return most
    if now <= tol:
        return done
    if done == 0 or now >= first:
        return most
    return min(most, done + math.ceil(math.log(now / tol) / (math.log(first / now) / done)))
