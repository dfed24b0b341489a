"""Percentile bootstrap over users: how far a mean could be off with other users.

All metrics see the same resamples, so their intervals can be compared, and a resample is one row of a matrix of
counts: the means of every metric in a block of resamples are one product. The resamples depend on the seed and on the
number of users, not on the metrics, the machine or the number of threads.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from corml._runtime.parallel import blas
from corml.errors import UsageError, ascii_line

__all__ = ["Bootstrap", "intervals"]

BLOCK = 1 << 21  # counts alive at once
MAX_RESAMPLES = 1_000_000

Key = TypeVar("Key", bound=Hashable)
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Bootstrap:
    """Confidence level, number of resamples and seed of the intervals; not `enabled`, there are none."""

    confidence: float = 0.95
    resamples: int = 1000
    seed: int = 0
    enabled: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise UsageError(f"confidence must be between 0 and 1, such as 0.95; got {ascii_line(self.confidence)}.")
        if not 1 <= self.resamples <= MAX_RESAMPLES:
            raise UsageError(f"resamples must be from 1 to {MAX_RESAMPLES:,}; got {ascii_line(self.resamples)}.")


def intervals(per_user: Mapping[Key, Values], bootstrap: Bootstrap) -> dict[Key, tuple[float, float]]:
    """Percentile interval of each mean: where the given share of the resampled means lies."""
    if not per_user or not bootstrap.enabled:
        return {}
    values = np.stack(list(per_user.values()), axis=1)
    tail = (1 - bootstrap.confidence) / 2
    means = _resampled_means(values, bootstrap.resamples, np.random.default_rng(bootstrap.seed))
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
