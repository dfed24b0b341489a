"""Evaluate on a split of a store, some users at a time, in this process or by the workers of a cluster.

Lists are dropped as soon as they are measured. Users are ranked in the blocks in which all of them together would be
ranked, so the figures are those of the same split in memory, to the last bit. Kept of a user are the id and one number
for each metric; of all lists, how often each item is in one. The figures of workers are combined in the order of users.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from corml._runtime.progress import Progress, silent
from corml.errors import UsageError, ascii_line
from corml.evaluation.measure import Figures, Means, lists_of, ranked_lists
from corml.evaluation.metrics import Metric, parse_all
from corml.evaluation.task import Task, Training, check_some, on_items, scored
from corml.models.recommender import Recommender
from corml.models.saved.model_file import fingerprint
from corml.outofcore.lists.on_cluster import keep_model
from corml.outofcore.lists.request import plain
from corml.outofcore.tasks import Artefact, Draft, executor_on, working_in
from corml.outofcore.tasks import Task as Work
from corml.outofcore.workers import opened
from corml.recommend.options import ListRules
from corml.recommend.rerank import lists_at_once
from corml.splits import StoreSplit, read_split

if TYPE_CHECKING:
    from distributed import Client

FOLDER = "evaluation"  # inside the folder of the split, unless another is given
AT_ONCE = 1 << 14  # users ranked at a time, unless a block has more
A_TASK = 1 << 16  # users of a task of a worker
TEXT = np.dtypes.StringDType()  # ids, without an object for each of them


@dataclass(frozen=True, eq=False)
class Shards:
    """A model and a split of a store, whose users are ranked and measured `step` at a time."""

    model: Recommender
    split: StoreSplit
    part: str
    metrics: Sequence[Metric]
    k: int
    rules: ListRules | None
    starts: NDArray[np.int64]  # evaluated users before each piece of the split, and all
    degrees: NDArray[np.int64]
    n_users: int  # with training pairs
    shape: tuple[int, int]  # of blocks of scores
    step: int  # a whole number of blocks

    @property
    def training(self) -> Training:
        """The training data; the matrix itself is loaded if a metric needs it."""
        return Training(self._train, self.degrees, self.n_users)

    def _train(self) -> csr_array:
        return on_items(self.split.train.interactions(), self.model.items_).matrix

    def figures(self, first: int, last: int, progress: Progress = silent) -> Figures:
        """Measure the evaluated users from the first, where a step begins, to before the last."""
        figures, training, done = Figures(self.metrics), self.training, 0
        for task in self._tasks(first, last):
            best = ranked_lists(self.model, task, self.k, self.rules, silent, self.shape)
            figures.add(lists_of(task, training, best))
            done += len(task)
            progress("evaluate", done, last - first)
        return figures

    def _tasks(self, first: int, last: int) -> Iterator[Task]:
        """These users as tasks of a step each; the last has fewer."""
        low, high = np.searchsorted(self.starts, first, side="right") - 1, np.searchsorted(self.starts, last)
        before, missing = first - int(self.starts[low]), last - first
        held: list[Task] = []
        for piece in self.split.pieces(range(low, high)):
            held.append(Task.of(piece, self.part, self.model.items_)[before:])
            before = 0
            while missing and sum(map(len, held)) >= min(self.step, missing):
                joined, count = _joined(held), min(self.step, missing)
                yield joined[:count]
                held, missing = [joined[count:]], missing - count


def _joined(some: Sequence[Task]) -> Task:
    if len(some) == 1:
        return some[0]
    stacked = {name: vstack([getattr(one, name) for one in some], "csr") for name in ("history", "mask", "targets")}
    return Task(np.concatenate([one.users for one in some]), **stacked, notes={})


class _Size(NamedTuple):
    """The histories of all evaluated users, as far as blocks depend on them."""

    shape: tuple[int, int]
    nnz: int


def measured(
    model: Recommender,
    split: StoreSplit,
    part: str,
    metrics: Sequence[Metric],
    k: int,
    rules: ListRules | None,
    progress: Progress,
    cluster: "tuple[str | Client, str | os.PathLike[str] | None] | None",
) -> tuple[NDArray[Any], Mapping[str, int], Means]:
    """The ids of the evaluated users, how many were excluded and why, and the figures; `cluster` has its folder."""
    if rules is not None and rules.options["max_share"] is not None:
        raise UsageError("max_share is a rule for all lists together, and those of a store are never all in memory.")
    entries = n_users = 0
    degrees, notes = np.zeros(len(model.items_), dtype=np.int64), dict[str, int]()
    ids: list[NDArray[Any]] = []
    for piece in split.pieces():
        task = Task.of(piece, part, model.items_)
        entries += scored(task.history, model).nnz
        degrees += on_items(piece.train, model.items_).item_degrees
        n_users += int((piece.train.user_degrees > 0).sum())
        notes = {what: notes.get(what, 0) + count for what, count in task.notes.items()}
        ids.append(task.users.astype(TEXT))
    starts = np.cumsum([0, *map(len, ids)])
    users = int(starts[-1])
    check_some(users, part, notes)
    blocks = _blocks(model, _Size((users, len(degrees)), entries), k, rules)
    shards = Shards(model, split, part, metrics, k, rules, starts, degrees, n_users, *blocks)
    figures = shards.figures(0, users, progress) if cluster is None else _by_workers(shards, *cluster, progress)
    noted = {what: count for what, count in notes.items() if count}
    return np.concatenate(ids), noted, figures.means(shards.training)


def _blocks(model: Recommender, size: _Size, k: int, rules: ListRules | None) -> tuple[tuple[int, int], int]:
    """The shape of blocks of scores if all users were ranked at once, and a whole number of blocks of users."""
    whole = cast(csr_array, size)
    shape = height, _ = model._at(None)._block_shape(whole)
    if rules is not None:
        height = lists_at_once(rules.options, k, whole.shape[1])
    return shape, max(height, AT_ONCE // height * height)


# --- on a cluster ----------------------------------------------------------------------------------------------------


def _by_workers(
    shards: Shards, cluster: "str | Client", work: str | os.PathLike[str] | None, progress: Progress
) -> Figures:
    """The figures of all users, from tasks that measure some users each."""
    folder, users = shards.split.path / FOLDER if work is None else Path(work), int(shards.starts[-1])
    with working_in(folder, "an evaluation") as artefacts, executor_on(cluster, artefacts) as executor:
        inputs = {
            "model": keep_model(artefacts, shards.model, fingerprint(shards.model)),
            "counts": artefacts.keep(degrees=shards.degrees, starts=shards.starts),
        }
        params = {
            "fingerprint": shards.split.fingerprint,
            "part": shards.part,
            "metrics": [metric.label for metric in shards.metrics],
            "k": shards.k,
            "n_users": shards.n_users,
            "blocks": [*shards.shape, shards.step],
            "rules": None if shards.rules is None else plain(shards.rules.options),
        }
        size = -(-A_TASK // shards.step) * shards.step
        places = {"path": str(shards.split.path.resolve())}
        tasks = [
            Work(
                "corml.evaluation.sharded:some_figures",
                inputs,
                {**params, "first": a, "last": min(a + size, users)},
                places,
            )
            for a in range(0, users, size)
        ]
        executor.run(tasks, lambda done, total: progress("evaluate", done, total))
        figures = Figures(shards.metrics)
        for task in tasks:
            figures.join(artefacts.open(task.key).get)
        return figures


def some_figures(
    inputs: Mapping[str, Artefact], out: Draft, *, first: int, last: int, path: str, fingerprint: str, **params: Any
) -> None:
    """Kernel: measure the evaluated users from the first to before the last."""
    split = read_split(path)
    if not isinstance(split, StoreSplit) or split.fingerprint != fingerprint:
        raise UsageError(f"{ascii_line(path, 200)} is another split on a worker: all need the same under this path.")
    height, width, step = params["blocks"]
    shards = Shards(
        model=opened(inputs["model"]),
        split=split,
        part=params["part"],
        metrics=parse_all(params["metrics"]),
        k=params["k"],
        rules=None if params["rules"] is None else ListRules(**params["rules"]),
        starts=inputs["counts"]["starts"],
        degrees=inputs["counts"]["degrees"],
        n_users=params["n_users"],
        shape=(height, width),
        step=step,
    )
    for name, array in shards.figures(first, last).arrays().items():
        out.put(name, array)
