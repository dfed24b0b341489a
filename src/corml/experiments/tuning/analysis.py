"""Which hyperparameters of a search mattered."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

GROUPS = 4  # of values of a number, alike in size


def importance(values: Mapping[str, Sequence[object]], scores: Sequence[float]) -> dict[str, float]:
    """How much of the order of the trials each hyperparameter explains by itself, most important first.

    The values of a hyperparameter are put in groups (choices as they are, numbers in four of like size), and the
    variance of the scores' ranks between groups is compared with all of it, less what chance would give: ω² of an
    analysis of variance of ranks, 0 where nothing is left. Those that act only together get less than they deserve.
    """
    ranks = rankdata(scores) if scores else np.zeros(0)
    shares = {name: _omega(_groups(column), ranks) for name, column in values.items()}
    return dict(sorted(shares.items(), key=lambda pair: -pair[1]))


def _groups(values: Sequence[object]) -> NDArray[np.int64]:
    """A group number for each value."""
    distinct = list(dict.fromkeys(values))
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in distinct)
    if not numbers or len(distinct) <= 2 * GROUPS:
        return np.array([distinct.index(value) for value in values], dtype=np.int64)
    return np.asarray((rankdata(values, method="average") - 1) * GROUPS // len(values), dtype=np.int64)


def _omega(groups: NDArray[np.int64], ranks: NDArray[np.float64]) -> float:
    sizes = np.bincount(groups) if len(groups) else np.zeros(0, dtype=np.int64)
    sizes, count = sizes[sizes > 0], len(ranks)
    if len(sizes) < 2 or count <= len(sizes):
        return 0.0
    sums = np.bincount(groups, weights=ranks)[np.bincount(groups) > 0]
    total = float(((ranks - ranks.mean()) ** 2).sum())
    between = float((sums**2 / sizes).sum() - count * ranks.mean() ** 2)
    within = (total - between) / (count - len(sizes))
    return max(0.0, (between - (len(sizes) - 1) * within) / (total + within)) if total > 0 else 0.0
