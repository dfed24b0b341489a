"""From ranked items to numbers: what was hit, then every metric at every length."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.evaluation.task import Task
from corml.metrics import Lists, Metric

__all__ = ["in_rows", "lists_of", "measured"]

Values = NDArray[np.float64]


def lists_of(task: Task, ranked: NDArray[np.integer[Any]]) -> Lists:
    """Ranked item numbers (one row per user of the task, −1 where short) as what metrics see."""
    relevant = np.diff(task.targets.indptr)
    return Lists(ranked, in_rows(task.targets, ranked), relevant, task.degrees, task.n_users)


def measured(lists: Lists, metrics: Sequence[Metric]) -> tuple[dict[str, float], dict[str, Values]]:
    """Averages of all metrics, and the values of each user for those that have them."""
    found = {metric.label: metric(lists) for metric in metrics}
    per_user = {label: value for label, value in found.items() if isinstance(value, np.ndarray)}
    return {label: float(np.mean(value)) for label, value in found.items()}, per_user


def in_rows(pattern: csr_array, columns: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Whether the pattern has an entry at (row, columns[row, …]); negative columns have none."""
    height, width = pattern.shape
    first = np.arange(height, dtype=np.int64) * width  # the number of each row's first cell
    stored = np.append(np.sort(np.repeat(first, np.diff(pattern.indptr)) + pattern.indices), -1)
    asked = np.where(columns >= 0, first[:, None] + columns, -2)
    return np.asarray(stored[np.searchsorted(stored[:-1], asked)] == asked)
