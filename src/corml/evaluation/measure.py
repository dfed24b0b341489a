"""From ranked items to numbers: hits first, then every metric at every list length."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.evaluation.task import Task
from corml.linalg.cells import filled
from corml.metrics import Lists, Metric

__all__ = ["lists_of", "measured"]

Values = NDArray[np.float64]


def lists_of(task: Task, ranked: NDArray[np.integer[Any]]) -> Lists:
    """Ranked item numbers (one row per user of the task, −1 where short) as what metrics see."""
    hits = filled(task.targets, np.arange(len(ranked))[:, None], ranked)
    return Lists(ranked, hits, np.diff(task.targets.indptr), task.degrees, task.n_users, task.train)


def measured(lists: Lists, metrics: Sequence[Metric]) -> tuple[dict[str, float], dict[str, Values]]:
    """Means of all metrics, and the values of each user for those that have them."""
    values = {metric.label: metric(lists) for metric in metrics}
    per_user = {label: value for label, value in values.items() if isinstance(value, np.ndarray)}
    return {label: float(np.mean(value)) for label, value in values.items()}, per_user
