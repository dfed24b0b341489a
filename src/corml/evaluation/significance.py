"""Two models over the same users: three paired tests, effect sizes, and one rule for calling a difference significant.

The rule is the two-sided paired t-test at one level. Wilcoxon's test and the sign-flip permutation test accompany it:
where the three disagree, few users or single large differences decide, and the difference should not be relied on.
"""

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from corml._runtime import html
from corml.evaluation import charts
from corml.evaluation.resampling import Bootstrap, intervals, sign_flip

LEVEL = 0.05  # p below this is called significant
ROUNDING = 1e-12  # smaller differences come from rounding, as in an average of equal values: they are ties
EXACT = 50  # differing users up to which Wilcoxon's distribution is counted exactly

Key = TypeVar("Key", bound=Hashable)
Values = NDArray[np.float64]


@dataclass(frozen=True)
class PValues:
    """Two-sided p of the same difference by three tests."""

    t: float
    wilcoxon: float
    permutation: float


@dataclass(frozen=True)
class EffectSize:
    """Cohen's d_z, the rank-biserial correlation, and shares of users.

    `d_z` is the mean difference in standard deviations of the differences. `rank_biserial` goes from −1 (every
    differing user loses) to 1 (every one gains), large differences counting more. `wins`, `ties` and `losses` are
    shares of all users.
    """

    d_z: float
    rank_biserial: float
    wins: float
    ties: float
    losses: float


@dataclass(frozen=True)
class Comparison:
    """One metric of two models over the users both were evaluated on.

    `difference` is the first mean minus the second, `interval` its paired percentile bootstrap over users, and `p` the
    two-sided paired t-test: how often chance alone would give so large a difference. `tests` has p by all three tests
    and `effect` says how large the difference is. `holm` are the p values corrected for a family of tests; without it
    each metric was tested by itself, and comparing on many metrics requires a smaller p.
    """

    metric: str
    users: int
    means: tuple[float, float]
    difference: float
    interval: tuple[float, float]
    tests: PValues
    effect: EffectSize
    holm: PValues | None = None

    @property
    def p(self) -> float:
        """The paired t-test, corrected if it was one of a family."""
        return self.tests.t if self.holm is None else self.holm.t

    @property
    def significant(self) -> bool:
        """Whether the difference is unlikely to be chance, by the paired t-test."""
        return self.p < LEVEL

    def _repr_html_(self) -> str:
        low, high = self.interval
        row = [self.metric, *self.means, self.difference, low, high, f"{self.p:.2g}", self.users]
        return html.table(["metric", "first", "second", "difference", "low", "high", "p", "users"], [row])

    def plot(self) -> charts.Chart:
        """The difference and its interval next to zero."""
        value = charts.Dots("difference", [(self.difference, self.interval)])
        axis = charts.Axis(f"difference in {self.metric}")
        return charts.dots([value], [self.metric], x=axis, title=f"Difference in {self.metric}", reference=0.0)


def compare(
    paired: Mapping[Key, tuple[Values, Values]], bootstrap: Bootstrap, metric: Callable[[Key], str] = str
) -> dict[Key, Comparison]:
    """Compare two models metric by metric, or several pairs of models, all over the same users in one order.

    `metric` gives the metric of a key. Many comparisons at once share their draws, which saves most of the time.
    """
    differences = {key: np.where(np.abs(a - b) < ROUNDING, 0.0, a - b) for key, (a, b) in paired.items()}
    spans = intervals(differences, bootstrap)
    flipped = sign_flip(differences, seed=bootstrap.seed)
    return {
        key: Comparison(
            metric=metric(key),
            users=len(a),
            means=(float(a.mean()), float(b.mean())),
            difference=float(differences[key].mean()),
            interval=spans[key],
            tests=PValues(paired_t_test(differences[key]), wilcoxon(differences[key]), flipped[key]),
            effect=effect_size(differences[key]),
        )
        for key, (a, b) in paired.items()
    }


def corrected(family: Mapping[Key, Comparison]) -> dict[Key, Comparison]:
    """The same comparisons with p corrected by Holm's method over all of them, separately for each test."""
    by_test = [
        holm({key: getattr(comparison.tests, test) for key, comparison in family.items()})
        for test in ("t", "wilcoxon", "permutation")
    ]
    return {key: replace(one, holm=PValues(*(p[key] for p in by_test))) for key, one in family.items()}


def holm(p: Mapping[Key, float]) -> dict[Key, float]:
    """Holm's correction of a family of tests: the smallest p times all tests, the next times one less, and so on.

    None falls below the one before it, and none is above 1. A false alarm anywhere in the family stays as rare as in a
    single test.
    """
    corrected, floor = {}, 0.0
    for left, key in zip(range(len(p), 0, -1), sorted(p, key=lambda key: p[key]), strict=True):
        floor = max(floor, min(1.0, left * p[key]))
        corrected[key] = floor
    return {key: corrected[key] for key in p}


def paired_t_test(differences: Values) -> float:
    """Two-sided p of a mean difference of zero; 1 for fewer than two users or no difference at all."""
    from scipy.special import stdtr  # Student's distribution, without the import time of scipy.stats

    if len(differences) < 2 or not differences.any():
        return 1.0
    standard_error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
    if standard_error == 0:
        return 0.0
    return float(2 * stdtr(len(differences) - 1, -abs(float(differences.mean())) / standard_error))


def wilcoxon(differences: Values) -> float:
    """Two-sided p of Wilcoxon's signed-rank test: whether large differences lean to one side; 1 without a difference.

    With few differing users the distribution of the statistic is counted exactly, ties included; with many it is
    practically normal.
    """
    ranks, gains = _signed_ranks(differences)
    if not len(ranks):
        return 1.0
    return _exact(ranks, gains) if len(ranks) <= EXACT else _normal(ranks, gains)


def effect_size(differences: Values) -> EffectSize:
    """Effect sizes of users' differences; all are 0 where there is no difference."""
    ranks, gains = _signed_ranks(differences)
    won, lost = float(ranks[gains].sum()), float(ranks[~gains].sum())
    mean = float(differences.mean())
    deviation = float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
    return EffectSize(
        d_z=mean / deviation if deviation else float(np.copysign(np.inf, mean)) if mean else 0.0,
        rank_biserial=(won - lost) / (won + lost) if won + lost else 0.0,
        wins=float(np.mean(differences > 0)),
        ties=float(np.mean(differences == 0)),
        losses=float(np.mean(differences < 0)),
    )


def _signed_ranks(differences: Values) -> tuple[Values, NDArray[np.bool_]]:
    """Ranks of the sizes of all differences but zeros, from 1, equal ones sharing their mean; and which are gains."""
    differing = differences[differences != 0]
    _, which, counts = np.unique(np.abs(differing), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[which], differing > 0


def _exact(ranks: Values, gains: NDArray[np.bool_]) -> float:
    """Count the sign patterns by their sum of ranks; doubled, mean ranks are whole numbers."""
    doubled = np.rint(2 * ranks).astype(np.int64)
    ways = np.zeros(int(doubled.sum()) + 1)  # below 2⁵³ in all, so that float64 counts exactly
    ways[0] = 1
    for rank in doubled:
        ways[rank:] = ways[rank:] + ways[:-rank]  # a new array first: each rank is used once
    observed = int(doubled[gains].sum())
    tail = float(min(ways[: observed + 1].sum(), ways[observed:].sum()))
    return min(1.0, float(2 * tail / 2.0 ** len(doubled)))


def _normal(ranks: Values, gains: NDArray[np.bool_]) -> float:
    from scipy.special import ndtr

    users = len(ranks)
    _, ties = np.unique(ranks, return_counts=True)
    variance = users * (users + 1) * (2 * users + 1) / 24 - float((ties.astype(float) ** 3 - ties).sum()) / 48
    distance = abs(float(ranks[gains].sum()) - users * (users + 1) / 4) / math.sqrt(variance)
    return float(2 * ndtr(-distance))
