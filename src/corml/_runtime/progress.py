"""Progress of long work: one type for all who report it, and an estimate of how long a solver will still take."""

import math
from collections.abc import Callable, Sequence

Progress = Callable[[str, int, int], None]  # the stage, how much of it is done, and how much there is
Asked = Progress | bool | None  # what callers may ask for: True shows bars, see `console_progress`


def silent(stage: str, done: int, total: int) -> None:
    """Report to nobody."""


def expected_steps(residuals: Sequence[float], tol: float, max_steps: int) -> int:
    """Steps in all at the rate so far, the first residual being the one before any step: they fall geometrically."""
    done, first, now = len(residuals) - 1, residuals[0], residuals[-1]
    if tol <= 0:
        return max_steps
    if now <= tol:
        return done
    if done == 0 or now >= first:
        return max_steps
    return min(max_steps, done + math.ceil(math.log(now / tol) / (math.log(first / now) / done)))
