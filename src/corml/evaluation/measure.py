"""From ranked items to numbers: hits first, then every metric at every list length.

Both are made for some users at a time, so that what is made on the way does not grow with their number. Kept of a user
are the list, its hits and one number for each metric.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.evaluation.metrics import Lists, Metric
from corml.evaluation.task import Task
from corml.linalg.sparse import filled

__all__ = ["lists_of", "measured"]

BLOCK = 1 << 14  # users at a time

Values = NDArray[np.float64]


def lists_of(task: Task, ranked: NDArray[np.integer[Any]]) -> Lists:
    """Ranked item numbers (one row per user of the task, −1 where short) as what metrics see."""
    hits = np.empty(ranked.shape, dtype=bool)
    for users in _blocks(len(ranked)):
        some = ranked[users]
        hits[users] = filled(task.targets[users], np.arange(len(some))[:, None], some)
    relevant = np.diff(task.targets.indptr)
    return Lists(ranked, hits, relevant, task.degrees, task.n_users, task.train, task.shared)


def measured(lists: Lists, metrics: Sequence[Metric]) -> tuple[dict[str, float], dict[str, Values]]:
    """Means of all metrics, and the values of each user for those that have them."""
    values = {metric.label: _values(metric, lists) for metric in metrics}
    per_user = {label: value for label, value in values.items() if isinstance(value, np.ndarray)}
    return {label: float(np.mean(value)) for label, value in values.items()}, per_user


def _values(metric: Metric, lists: Lists) -> Values | float:
    """A number per user, or one for all lists together where a metric is about these."""
    first, *others = _blocks(len(lists.items))
    values = metric(lists.of(first) if others else lists)
    if not others:
        return values
    if not isinstance(values, np.ndarray):
        return metric(lists)
    return np.concatenate([values, *(np.asarray(metric(lists.of(users))) for users in others)])


def _blocks(users: int) -> Iterator[slice]:
    """Ranges of users; one without any where there are none."""
    return (slice(first, first + BLOCK) for first in range(0, max(users, 1), BLOCK))
