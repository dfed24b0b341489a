"""Two models over the same users: three tests, sizes of the effect, and one rule for calling a difference significant.

The rule is the two-sided paired t-test at one level. Wilcoxon's test and the sign-flip permutation test stand beside
it: where the three disagree, few users or single large differences decide, and the difference is not to be relied on.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from corml._runtime import html
from corml.evaluation import charts
from corml.evaluation.significance.bootstrap import Bootstrap, intervals
from corml.evaluation.significance.effect_size import EffectSize, effect_size
from corml.evaluation.significance.holm import holm
from corml.evaluation.significance.sign_flip import sign_flip
from corml.evaluation.significance.signed_rank import wilcoxon
from corml.evaluation.significance.t_test import paired_t_test

__all__ = ["LEVEL", "Comparison", "PValues", "compare", "corrected", "is_significant", "paired_t_test", "verdict"]

LEVEL = 0.05  # p below this is called significant
ROUNDING = 1e-12  # smaller differences come from rounding, as in an average of equal values: they are ties

Key = TypeVar("Key", bound=Hashable)
Values = NDArray[np.float64]


@dataclass(frozen=True)
class PValues:
    """Two-sided p of the same difference by three tests."""

    t: float
    wilcoxon: float
    permutation: float


@dataclass(frozen=True)
class Comparison:
    """One metric of two models over the users both were evaluated on.

    `difference` is the first mean minus the second, `interval` its paired percentile bootstrap over users, and `p` the
    two-sided paired t-test: how often chance alone would give so large a difference. `tests` has p by all three tests
    and `effect` says how large the difference is. `holm` are the p values corrected for a family of tests; without it
    each metric was tested by itself, and who compares on many should ask for a smaller p.
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

    def _repr_html_(self) -> str:
        low, high = self.interval
        row = [self.metric, *self.means, self.difference, low, high, f"{self.p:.2g}", self.users]
        return html.table(["metric", "first", "second", "difference", "low", "high", "p", "users"], [row])

    def plot(self) -> charts.Chart:
        """The difference and its interval beside zero."""
        value = charts.Dots("difference", [(self.difference, self.interval)])
        axis = charts.Axis(f"difference in {self.metric}")
        return charts.dots([value], [self.metric], x=axis, title=f"Difference in {self.metric}", reference=0.0)

    @property
    def significant(self) -> bool:
        """Whether the difference is unlikely to be chance, by the rule of this file."""
        return self.p < LEVEL


def compare(
    paired: Mapping[Key, tuple[Values, Values]], bootstrap: Bootstrap, metric: Callable[[Key], str] = str
) -> dict[Key, Comparison]:
    """Compare two models metric by metric, or several pairs of models, all over the same users in one order.

    `metric` gives the metric of a key. Many comparisons at once share their draws, which saves most of the time.
    """
    differences = {key: _differences(a, b) for key, (a, b) in paired.items()}
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


def _differences(a: Values, b: Values) -> Values:
    differences: Values = a - b
    return np.where(np.abs(differences) < ROUNDING, 0.0, differences)


def corrected(family: Mapping[Key, Comparison]) -> dict[Key, Comparison]:
    """The same comparisons with p corrected by Holm's method over all of them, for each kind of test by itself."""
    t = holm({key: comparison.tests.t for key, comparison in family.items()})
    ranks = holm({key: comparison.tests.wilcoxon for key, comparison in family.items()})
    flips = holm({key: comparison.tests.permutation for key, comparison in family.items()})
    return {
        key: replace(comparison, holm=PValues(t[key], ranks[key], flips[key])) for key, comparison in family.items()
    }


def is_significant(differences: Values) -> bool:
    """Whether the mean of users' differences is unlikely to be zero but for chance."""
    return paired_t_test(differences) < LEVEL


def verdict(*, significant: bool) -> str:
    """Say in words what the test found."""
    if significant:
        return f"The difference is unlikely to be chance (paired t-test over users, p < {LEVEL:g})."
    return f"The difference may be chance (paired t-test over users, p ≥ {LEVEL:g})."
