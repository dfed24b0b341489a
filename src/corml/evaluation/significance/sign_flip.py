"""Sign-flip permutation test over users: how often chance alone would give so large a mean difference.

If two models were equally good, each user's difference could as well have the other sign. With few users every
pattern of signs is looked at, which is exact; else signs are drawn, the same ones for all metrics and models. Then the
observed pattern counts as one of the draws, so that p is never 0.
"""

from collections.abc import Hashable, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from corml._runtime.parallel import blas

__all__ = ["DRAWS", "sign_flip"]

EXACT = 20  # differing users up to which all patterns are looked at
DRAWS = 9_999
BLOCK = 1 << 21  # signs alive at once
ROUNDING = 1e-12  # of the sum of all sizes: sums that differ by less are equal

Key = TypeVar("Key", bound=Hashable)
Values = NDArray[np.float64]


def sign_flip(differences: Mapping[Key, Values], *, draws: int = DRAWS, seed: int = 0) -> dict[Key, float]:
    """Two-sided p of each array of differences; all are of the same users in the same order."""
    few = {name: values for name, values in differences.items() if np.count_nonzero(values) <= EXACT}
    many = {name: values for name, values in differences.items() if name not in few}
    p = {name: _exact(values[values != 0]) for name, values in few.items()}
    if many:
        p |= dict(zip(many, _drawn(np.stack(list(many.values()), axis=1), draws, seed), strict=True))
    return {name: p[name] for name in differences}


def _exact(differences: Values) -> float:
    """The share of all patterns whose sum is at least as far from zero; 1 where nobody differs."""
    sums = np.zeros(1)
    for value in differences:
        sums = np.concatenate([sums + value, sums - value])
    return float(np.mean(np.abs(sums) >= _threshold(differences)))


def _drawn(differences: Values, draws: int, seed: int) -> list[float]:
    users, rng = len(differences), np.random.default_rng(seed)
    thresholds, reached = _threshold(differences), np.zeros(differences.shape[1], dtype=np.int64)
    height = max(1, min(draws, BLOCK // users))
    with blas(1):  # a product shared out over threads could differ in its last bits
        for start in range(0, draws, height):
            signs = rng.integers(0, 2, size=(min(height, draws - start), users), dtype=np.int8) * 2.0 - 1
            reached += (np.abs(signs @ differences) >= thresholds).sum(axis=0)
    return [float(p) for p in (reached + 1) / (draws + 1)]


def _threshold(differences: Values) -> Values:
    """How far from zero the observed sum is, less what rounding may cost."""
    threshold: Values = np.abs(differences.sum(axis=0)) - ROUNDING * np.abs(differences).sum(axis=0)
    return threshold
