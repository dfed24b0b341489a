"""The one rule for calling a difference significant: a two-sided paired t-test over the same users, at one level."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corml.evaluation.bootstrap import Bootstrap, intervals

__all__ = ["LEVEL", "Comparison", "compare", "is_significant", "paired_t_test", "verdict"]

LEVEL = 0.05  # p below this is called significant

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """One metric of two models over the users both were evaluated on.

    `difference` is the first mean minus the second, `interval` its percentile bootstrap over users, and `p` the
    two-sided paired t-test: how often chance alone would give so large a difference. Each metric is tested by
    itself: who compares on many metrics should ask for a smaller p.
    """

    metric: str
    users: int
    means: tuple[float, float]
    difference: float
    interval: tuple[float, float]
    p: float

    @property
    def significant(self) -> bool:
        """Whether the difference is unlikely to be chance, by the rule of this file."""
        return self.p < LEVEL


def compare(paired: Mapping[str, tuple[Values, Values]], bootstrap: Bootstrap) -> dict[str, Comparison]:
    """Compare two models metric by metric; both arrays of a pair hold the values of the same users in one order."""
    spans = intervals({metric: a - b for metric, (a, b) in paired.items()}, bootstrap)
    return {metric: _comparison(metric, a, b, spans[metric]) for metric, (a, b) in paired.items()}


def is_significant(differences: Values) -> bool:
    """Whether the mean of users' differences is unlikely to be zero but for chance."""
    return paired_t_test(differences) < LEVEL


def verdict(*, significant: bool) -> str:
    """Say in words what the test found."""
    if significant:
        return f"The difference is unlikely to be chance (paired t-test over users, p < {LEVEL:g})."
    return f"The difference may be chance (paired t-test over users, p ≥ {LEVEL:g})."


def paired_t_test(differences: Values) -> float:
    """Two-sided p of a mean difference of zero; 1 for fewer than two users or no difference at all."""
    from scipy.special import stdtr  # Student's distribution, without the import time of scipy.stats

    if len(differences) < 2 or not differences.any():
        return 1.0
    standard_error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
    if standard_error == 0:
        return 0.0
    return float(2 * stdtr(len(differences) - 1, -abs(float(differences.mean())) / standard_error))


def _comparison(metric: str, a: Values, b: Values, interval: tuple[float, float]) -> Comparison:
    differences, means = a - b, (float(a.mean()), float(b.mean()))
    return Comparison(metric, len(a), means, float(differences.mean()), interval, paired_t_test(differences))
