"""From a task to figures: lists, their hits, then every metric at every list length.

Hits and metrics are computed for some users at a time, so that intermediate arrays do not grow with their number. Kept
of a user are the list, its hits and one number for each metric; where lists are measured in shards and dropped, only
the numbers, and how often each item is listed.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from corml._runtime.progress import Progress
from corml.errors import UsageError
from corml.evaluation.metrics import Lists, Metric
from corml.evaluation.task import Task, Training, scored
from corml.linalg.sparse import filled
from corml.recommend.allowed import Allowed
from corml.recommend.options import ListRules
from corml.recommend.rank import top_bands
from corml.recommend.rerank import ListMaker

if TYPE_CHECKING:
    from corml.models.recommender import Recommender

BLOCK = 1 << 14  # users at a time

Values = NDArray[np.float64]
Means = tuple[dict[str, float], dict[str, Values]]  # of all metrics; the values of each user for those that have them


def ranked_lists(
    model: "Recommender",
    task: Task,
    k: int,
    rules: ListRules | None,
    progress: Progress,
    shape: tuple[int, int] | None = None,
) -> NDArray[np.int32]:
    """Item numbers, k for each user; `shape` is that of blocks of scores, where the task is a shard of a larger one."""
    model = model._at(None)
    history, known = scored(task.history, model), model.fitted_.users.find(task.users)
    if rules is not None:
        maker = ListMaker(model, history, known, Allowed(task.mask), rules.options, k, progress=progress)
        return maker.lists(task.users.tolist()).columns.astype(np.int32)
    best, first = np.empty((len(task), k), dtype=np.int32), 0
    for columns, _ in top_bands(model, history, k, users=known, seen=task.mask, progress=progress, shape=shape):
        best[first : first + len(columns)] = columns
        first += len(columns)
    return best


def lists_of(task: Task, training: Training, ranked: NDArray[np.integer]) -> Lists:
    """Ranked item numbers (one row per user of the task, −1 where short) as metrics take them."""
    hits = np.empty(ranked.shape, dtype=bool)
    for users in _blocks(len(ranked)):
        some = ranked[users]
        hits[users] = filled(task.targets[users], np.arange(len(some))[:, None], some)
    relevant = np.diff(task.targets.indptr)
    return Lists(ranked, hits, relevant, training.degrees, training.n_users, training.matrix, training.shared)


def measured(lists: Lists, metrics: Sequence[Metric]) -> Means:
    """Means of all metrics over all lists."""
    figures = Figures(metrics)
    figures.add(lists)
    return figures.means(lists)


class Figures:
    """Gathers a number for each user and metric, and for metrics of all lists how many lists have each item."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics
        self._values: dict[str, list[Values]] = {}
        self._shown: dict[int, NDArray[np.integer]] = {}

    def add(self, lists: Lists) -> None:
        """Measure the lists of some users."""
        lengths = set()
        for metric in self._metrics:
            for users in _blocks(len(lists.items)):
                values = metric(lists.of(users))
                if not isinstance(values, np.ndarray):
                    lengths.add(metric.k)
                    break
                self._values.setdefault(metric.label, []).append(values)
        for k in lengths:
            self._shown[k] = self._shown.get(k, 0) + lists.counts(k)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """What was gathered, to be combined in another process: `join`."""
        numbers = {metric.label: number for number, metric in enumerate(self._metrics)}
        values = {f"values-{numbers[label]}": np.concatenate(parts) for label, parts in self._values.items()}
        return {**values, **{f"shown-{k}": counts for k, counts in self._shown.items()}}

    def join(self, read: Callable[[str], NDArray[np.generic] | None]) -> None:
        """Add the arrays of the users that come next, which may be removed afterwards."""
        for number, metric in enumerate(self._metrics):
            values = read(f"values-{number}")
            if values is not None:
                self._values.setdefault(metric.label, []).append(np.array(values, dtype=np.float64))
        for k in {metric.k for metric in self._metrics}:
            counts = read(f"shown-{k}")
            if counts is not None:
                self._shown[k] = self._shown.get(k, 0) + np.array(counts, dtype=np.int64)

    def means(self, lists: Lists | Training) -> Means:
        """Means of all metrics; of all lists, or of the training data where lists were dropped."""
        everyone = lists if isinstance(lists, Lists) else cast(Lists, _Dropped(lists, self._shown))
        per_user = {label: np.concatenate(parts) for label, parts in self._values.items()}
        means = {
            metric.label: float(np.mean(per_user[metric.label] if metric.label in per_user else metric(everyone)))
            for metric in self._metrics
        }
        return means, per_user


class _Dropped:
    """All lists together, after they were dropped; a metric that needs more than item counts is refused."""

    def __init__(self, training: Training, shown: dict[int, NDArray[np.integer]]) -> None:
        self.degrees, self.n_users, self.n_items = training.degrees, training.n_users, len(training.degrees)
        self._shown = shown

    def counts(self, k: int) -> NDArray[np.integer]:
        """How many of the lists have each item of the catalogue among their first k."""
        return self._shown[k]

    def __getattr__(self, name: str) -> object:
        raise UsageError(
            f"A metric needs the {name} of all lists together, and the lists of a store are never all in memory: leave "
            "it out, or evaluate the split in memory, split.interactions()."
        )


def _blocks(users: int) -> Iterator[slice]:
    """Ranges of users; one without any where there are none."""
    return (slice(first, first + BLOCK) for first in range(0, max(users, 1), BLOCK))
