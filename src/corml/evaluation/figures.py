"""What metrics say of lists that are measured some users at a time and then forgotten."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from corml.errors import UsageError
from corml.evaluation.metrics import Lists, Metric

__all__ = ["Figures"]

Values = NDArray[np.float64]


class Figures:
    """Gathers a number for each user and metric, and for metrics of all lists how many lists have each item."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics
        self._values: dict[str, list[Values]] = {}
        self._shown: dict[int, NDArray[Any]] = {}

    def add(self, lists: Lists) -> None:
        """Measure the lists of some users."""
        together = set()
        for metric in self._metrics:
            values = metric(lists)
            if isinstance(values, np.ndarray):
                self._values.setdefault(metric.label, []).append(values)
            else:
                together.add(metric.k)
        for k in together:
            self._shown[k] = self._shown.get(k, 0) + lists.counts(k)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What was gathered, to be put together elsewhere: `join`."""
        numbers = {metric.label: number for number, metric in enumerate(self._metrics)}
        values = {f"values-{numbers[label]}": np.concatenate(parts) for label, parts in self._values.items()}
        return values | {f"shown-{k}": counts for k, counts in self._shown.items()}

    def join(self, read: Callable[[str], NDArray[Any] | None]) -> None:
        """Add what others gathered for the users that come next."""
        for number, metric in enumerate(self._metrics):
            values = read(f"values-{number}")
            if values is not None:
                self._values.setdefault(metric.label, []).append(np.array(values))  # what is read may be removed
        for k in {metric.k for metric in self._metrics}:
            counts = read(f"shown-{k}")
            if counts is not None:
                self._shown[k] = self._shown.get(k, 0) + np.array(counts)

    def all(self, degrees: NDArray[np.int64], n_users: int) -> tuple[dict[str, float], dict[str, Values]]:
        """Means of all metrics, and the values of each user for those that have them."""
        per_user = {label: np.concatenate(parts) for label, parts in self._values.items()}
        everybody = cast(Lists, _Everybody(degrees, n_users, self._shown))
        means = {
            metric.label: float(np.mean(per_user[metric.label] if metric.label in per_user else metric(everybody)))
            for metric in self._metrics
        }
        return means, per_user


class _Everybody:
    """All lists together, as far as they are known in the end; a metric that asks for more is refused."""

    def __init__(self, degrees: NDArray[np.int64], n_users: int, shown: dict[int, NDArray[Any]]) -> None:
        self.degrees, self.n_users, self.n_items, self._shown = degrees, n_users, len(degrees), shown

    def counts(self, k: int) -> NDArray[Any]:
        """How many of the lists have each item of the catalogue among their first k."""
        return self._shown[k]

    def __getattr__(self, name: str) -> Any:
        raise UsageError(
            f"A metric asks for the {name} of all lists together, and those of a store are never all there: leave it "
            "out, or evaluate the split in memory, split.interactions()."
        )
