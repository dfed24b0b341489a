"""Resampling of users: bootstrap intervals of means, and the sign-flip permutation test of differences.

All metrics see the same resamples, so their intervals can be compared, and a resample is one row of a matrix of
counts: the means of every metric in a block of resamples are one product. The resamples depend on the seed and on the
number of users, not on the metrics, the machine or the number of threads.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from corml._runtime.parallel import blas
from corml.errors import UsageError, ascii_line

BLOCK = 1 << 21  # counts or signs in memory at once
MAX_RESAMPLES = 1_000_000
EXACT = 20  # differing users up to which all patterns of signs are enumerated
DRAWS = 9_999
ROUNDING = 1e-12  # of the sum of all sizes: sums that differ by less are equal

Key = TypeVar("Key", bound=Hashable)
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Bootstrap:
    """Confidence level, number of resamples and seed of the intervals; there are none unless `enabled`."""

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
    """Percentile interval of each mean: the middle share, `confidence`, of the resampled means."""
    if not per_user or not bootstrap.enabled:
        return {}
    values = np.stack(list(per_user.values()), axis=1)
    users, rng, tail = len(values), np.random.default_rng(bootstrap.seed), (1 - bootstrap.confidence) / 2
    means = _in_blocks(values, bootstrap.resamples, lambda rows: _counts(rng, rows, users)) / users
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    return {label: (float(a), float(b)) for label, a, b in zip(per_user, low, high, strict=True)}


def sign_flip(differences: Mapping[Key, Values], *, draws: int = DRAWS, seed: int = 0) -> dict[Key, float]:
    """Two-sided p of each array of differences, all of the same users in the same order, under random signs.

    If two models were equally good, each user's difference could as well have the other sign. With few users every
    pattern of signs is enumerated, which is exact. Otherwise signs are drawn, the same ones for all metrics and models,
    and the observed pattern counts as one of the draws, so that p is never 0.
    """
    few = {name: values for name, values in differences.items() if np.count_nonzero(values) <= EXACT}
    many = {name: values for name, values in differences.items() if name not in few}
    p = {name: _exact(values[values != 0]) for name, values in few.items()}
    if many:
        p |= dict(zip(many, _drawn(np.stack(list(many.values()), axis=1), draws, seed), strict=True))
    return {name: p[name] for name in differences}


def _exact(differences: Values) -> float:
    """The share of all patterns whose sum is at least as far from zero; 1 if there is no difference."""
    sums = np.zeros(1)
    for value in differences:
        sums = np.concatenate([sums + value, sums - value])
    return float(np.mean(np.abs(sums) >= _threshold(differences)))


def _drawn(differences: Values, draws: int, seed: int) -> list[float]:
    users, rng = len(differences), np.random.default_rng(seed)
    sums = _in_blocks(differences, draws, lambda rows: rng.integers(0, 2, (rows, users), np.int8) * 2.0 - 1)
    reached = (np.abs(sums) >= _threshold(differences)).sum(axis=0)
    return [float(p) for p in (reached + 1) / (draws + 1)]


def _threshold(differences: Values) -> Values:
    """How far from zero the observed sum is, less what rounding may cost."""
    threshold: Values = np.abs(differences.sum(axis=0)) - ROUNDING * np.abs(differences).sum(axis=0)
    return threshold


def _in_blocks(values: Values, draws: int, weights: Callable[[int], Values]) -> Values:
    """Draws × columns: `weights(rows)` draws rows of weights of the users, which are multiplied with the values."""
    height = max(1, min(draws, BLOCK // len(values)))
    with blas(1):  # a product shared out over threads could differ in its last bits
        return np.concatenate(
            [weights(min(height, draws - start)) @ values for start in range(0, draws, height)], axis=0
        )


def _counts(rng: np.random.Generator, draws: int, users: int) -> Values:
    """How often each user was drawn, in each of several draws of as many users as there are."""
    drawn = rng.integers(users, size=(draws, users), dtype=np.int64)
    drawn += np.arange(draws)[:, None] * users
    return np.bincount(drawn.ravel(), minlength=draws * users).reshape(draws, users).astype(np.float64)
