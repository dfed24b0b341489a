"""What the trials of a search say: how it went, which settings mattered, and where the good values are."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from corml._runtime.values import is_number
from corml.experiments.tuning.trial import COMPLETE, Trial

__all__ = ["history", "importance", "slices"]

GROUPS = 4  # of values of a number, alike in size

Rows = list[dict[str, Any]]


def history(trials: Sequence[Trial], *, maximise: bool) -> Rows:
    """Every trial in its order, the best score so far, and what was spent up to then."""
    better, best, rows = max if maximise else min, None, []
    seconds = processor = 0.0
    for trial in trials:
        seconds, processor = seconds + trial.seconds, processor + trial.processor_seconds
        if trial.state == COMPLETE and trial.score is not None:
            best = trial.score if best is None else better(best, trial.score)
        row = {"trial": trial.number, "state": trial.state, "score": trial.score, "best": best}
        rows.append({**row, "seconds": round(seconds, 3), "processor_seconds": round(processor, 3)})
    return rows


def importance(trials: Sequence[Trial], searched: Sequence[str]) -> Rows:
    """How much of the order of the trials each setting explains by itself, most important first.

    The values of a setting are put in groups (choices as they are, numbers in four of like size), and the variance of
    the scores' ranks between groups is compared with all of it, less what chance would give: ω² of an analysis of
    variance of ranks, 0 where nothing is left. Settings that act only together get less than they deserve.
    """
    finished = _finished(trials)
    ranks = rankdata([trial.score for trial in finished]) if finished else np.zeros(0)
    values = {name: _omega(_groups([trial.point[name] for trial in finished]), ranks) for name in searched}
    return [{"setting": name, "importance": values[name]} for name in sorted(values, key=lambda name: -values[name])]


def slices(trials: Sequence[Trial], searched: Sequence[str]) -> Rows:
    """A row for each setting of each finished trial: its value there, and the score."""
    return [
        {"setting": name, "trial": trial.number, "value": trial.point[name], "score": trial.score}
        for name in searched
        for trial in _finished(trials)
    ]


def _finished(trials: Sequence[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.state == COMPLETE and trial.point]


def _groups(values: Sequence[Any]) -> NDArray[np.int64]:
    """A group number for each value."""
    distinct = list(dict.fromkeys(values))
    numbers = all(map(is_number, distinct))
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
