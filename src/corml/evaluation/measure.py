"""From ranked items to numbers: what was hit, then every metric at every length."""

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
    return Lists(ranked, hits, np.diff(task.targets.indptr), task.degrees, task.n_users)


def measured(lists: Lists, metrics: Sequence[Metric]) -> tuple[dict[str, float], dict[str, Values]]:
    """Averages of all metrics, and the values of each user for those that have them."""
    found = {metric.label: metric(lists) for metric in metrics}
    per_user = {label: value for label, value in found.items() if isinstance(value, np.ndarray)}
    return {label: float(np.mean(value)) for label, value in found.items()}, per_user
