"""How far an average over users could be off: users drawn again and again, with replacement.

All metrics see the same draws, so their intervals can be compared, and a draw is one row of a matrix of counts: the
averages of every metric in a block of draws are one product. What is drawn depends on the seed and on the number of
users, not on the metrics, the machine or the number of threads.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corml.errors import UsageError, ascii_line
from corml.parallel import blas

__all__ = ["Draw", "intervals"]

BLOCK = 1 << 21  # counts alive at once
MOST = 1_000_000  # resamples

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Draw:
    """How sure an interval should be, how often users are drawn for it, and from which seed; `wanted` or not at all."""

    confidence: float = 0.95
    resamples: int = 1000
    seed: int = 0
    wanted: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise UsageError(f"confidence must be between 0 and 1, such as 0.95; got {ascii_line(self.confidence)}.")
        if not 1 <= self.resamples <= MOST:
            raise UsageError(f"resamples must be from 1 to {MOST:,}; got {ascii_line(self.resamples)}.")


def intervals(per_user: Mapping[str, Values], draw: Draw) -> dict[str, tuple[float, float]]:
    """Percentile interval of each mean: where the given share of the resampled means lies."""
    if not per_user or not draw.wanted:
        return {}
    values = np.stack(list(per_user.values()), axis=1)
    tail = (1 - draw.confidence) / 2
    means = _resampled_means(values, draw.resamples, np.random.default_rng(draw.seed))
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    return {label: (float(a), float(b)) for label, a, b in zip(per_user, low, high, strict=True)}


def _resampled_means(values: Values, resamples: int, rng: np.random.Generator) -> Values:
    users = len(values)
    height = max(1, min(resamples, BLOCK // users))
    means = np.empty((resamples, values.shape[1]))
    with blas(1):  # a product shared out over threads could differ in its last bits
        for start in range(0, resamples, height):
            stop = min(start + height, resamples)
            means[start:stop] = _draws(rng, stop - start, users) @ values / users
    return means


def _draws(rng: np.random.Generator, draws: int, users: int) -> Values:
    """How often each user was drawn, in each of several draws of as many users as there are."""
    drawn = rng.integers(users, size=(draws, users), dtype=np.int64)
    drawn += np.arange(draws)[:, None] * users
    return np.bincount(drawn.ravel(), minlength=draws * users).reshape(draws, users).astype(np.float64)
