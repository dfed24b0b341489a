"""Whether one model is better than another for the same users, or only luckier in who was asked."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corml.errors import UsageError
from corml.evaluation.bootstrap import Draw, intervals

if TYPE_CHECKING:
    from corml.evaluation.result import Result

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True)
class Comparison:
    """One metric of two models over the users both were judged on.

    `difference` is the first mean less the second, `interval` its percentile bootstrap over users, and `p` the
    two-sided paired t-test: how often so large a difference would come of chance alone. Each metric is tested by
    itself: whoever looks at many should ask for a smaller p.
    """

    metric: str
    users: int
    means: tuple[float, float]
    difference: float
    interval: tuple[float, float]
    p: float


def compare(one: "Result", other: "Result", draw: Draw) -> dict[str, Comparison]:
    """Compare two results of the same part of the same split, metric by metric."""
    if (one.split, one.part) != (other.split, other.part):
        raise UsageError("These results are not of the same part of the same split: evaluate both models on one split.")
    _, mine, theirs = np.intersect1d(one.users, other.users, assume_unique=True, return_indices=True)
    shared = [label for label in one.per_user if label in other.per_user]
    if not len(mine) or not shared:
        raise UsageError("These results have no user or no metric in common: evaluate both models alike.")
    pairs = {label: (one.per_user[label][mine], other.per_user[label][theirs]) for label in shared}
    spans = intervals({label: a - b for label, (a, b) in pairs.items()}, draw)
    return {label: _comparison(label, a, b, spans[label]) for label, (a, b) in pairs.items()}


def _comparison(label: str, a: NDArray[np.float64], b: NDArray[np.float64], span: tuple[float, float]) -> Comparison:
    gain = a - b
    means = float(a.mean()), float(b.mean())
    return Comparison(label, len(gain), means, float(gain.mean()), span, paired_t_test(gain))


def paired_t_test(gain: NDArray[np.float64]) -> float:
    """Two-sided p of a mean gain of zero; 1 where there is nothing to tell from."""
    from scipy.special import stdtr  # Student's distribution, without the weight of scipy.stats

    if len(gain) < 2 or not gain.any():
        return 1.0
    spread = float(gain.std(ddof=1)) / math.sqrt(len(gain))
    return 0.0 if spread == 0 else float(2 * stdtr(len(gain) - 1, -abs(float(gain.mean())) / spread))
