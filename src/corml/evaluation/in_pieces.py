"""Evaluate on a split of a store, some users at a time: lists are forgotten as soon as they are measured.

Users are ranked in the blocks in which all of them together would be ranked, so the figures are those of the same split
in memory, to the last bit. Kept of a user are the id and one number for each metric; of the lists of everybody, how
often each item is in one. Workers of a cluster take some users each, and what they say is put together in order.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from corml._runtime.progress import Progress, silent
from corml.errors import UsageError
from corml.evaluation.figures import Figures
from corml.evaluation.measure import lists_of
from corml.evaluation.metrics import Metric
from corml.evaluation.ranking import ranked_lists
from corml.evaluation.task import About, Rows, Task, check_some, counted, on_items
from corml.recommend.rules import ListRules
from corml.splits import StoreSplit

if TYPE_CHECKING:
    from corml.models.recommender import Recommender

__all__ = ["Known", "Pieces", "measured"]

AT_ONCE = 1 << 14  # users, unless a block has more
TEXT = np.dtypes.StringDType()  # ids, and no object for each of them
MATRICES = ("history", "mask", "targets")

Values = NDArray[np.float64]


def measured(
    model: "Recommender",
    split: StoreSplit,
    part: str,
    metrics: Sequence[Metric],
    k: int,
    rules: ListRules | None,
    progress: Progress,
    gather: Callable[["Pieces", Progress], Figures] | None = None,
) -> tuple[About, dict[str, float], dict[str, Values]]:
    """What was evaluated, the means of all metrics, and the values of each user for those that have them.

    `gather` is how the figures of all pieces are had, where it is not here, one piece after the other.
    """
    if rules is not None and rules.max_share is not None:
        raise UsageError("max_share is a rule for all lists together, and those of a store are never all there.")
    known = Known.of(model, split, part)
    pieces = Pieces(model, split, part, metrics, k, rules, known, *_blocks(model, known, k, rules))
    figures = pieces.figures(0, known.users, progress) if gather is None else gather(pieces, progress)
    return About(known.ids, split, part, known.notes), *figures.all(known.degrees, known.learners)


# --- what has to be known before -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Known:
    """What all users together come to."""

    users: int
    entries: int  # of their histories
    degrees: NDArray[np.int64]
    starts: NDArray[np.int64]  # evaluated users before each piece of the split, and all
    learners: int
    notes: Mapping[str, int] = field(default_factory=dict)
    ids: NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype=TEXT))

    @property
    def shape(self) -> tuple[int, int]:
        """Of the histories of all evaluated users, as one matrix."""
        return self.users, len(self.degrees)

    @property
    def nnz(self) -> int:
        """Entries of this matrix."""
        return self.entries

    @classmethod
    def of(cls, model: "Recommender", split: StoreSplit, part: str) -> Self:
        """Count, in one walk through the split."""
        entries = learners = 0
        degrees, notes = np.zeros(len(model.items_), dtype=np.int64), dict[str, int]()
        ids: list[NDArray[Any]] = []
        for piece in split.pieces():
            rows = Rows.of(piece, part, model.items_)
            history = rows.history if model.LEARNS_WEIGHTS else counted(rows.history)
            entries += history.nnz
            degrees += on_items(piece.train, model.items_).item_degrees
            learners += int((piece.train.user_degrees > 0).sum())
            notes = {what: notes.get(what, 0) + count for what, count in rows.notes.items()}
            ids.append(rows.users.astype(TEXT))
        starts = np.cumsum([0, *map(len, ids)])
        check_some(int(starts[-1]), part, notes)
        noted = {what: count for what, count in notes.items() if count}
        return cls(int(starts[-1]), entries, degrees, starts, learners, noted, np.concatenate(ids))


def _blocks(model: "Recommender", known: Known, k: int, rules: ListRules | None) -> tuple[tuple[int, int], int]:
    """The shape of blocks of scores if all users were ranked at once, and a whole number of blocks of users."""
    whole = cast(csr_array, known)  # blocks go by the shape and the entries of the histories, not by themselves
    shape = height, _ = model._block_shape(whole)
    if rules is not None:
        from corml.recommend.rerank import Ranking, Reranker

        height = Reranker(Ranking(model, whole, None, whole), k, rules).height
    return shape, max(height, AT_ONCE // height * height)


# --- some users after others -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pieces:
    """A model, and a split of a store of which some users are ranked and measured at a time."""

    model: "Recommender"
    split: StoreSplit
    part: str
    metrics: Sequence[Metric]
    k: int
    rules: ListRules | None
    known: Known
    shape: tuple[int, int]  # of blocks of scores
    step: int  # users ranked at a time: a whole number of blocks

    def figures(self, first: int, last: int, progress: Progress = silent) -> Figures:
        """What metrics say of the evaluated users from the first, where a step begins, to before the last."""
        figures, done = Figures(self.metrics), 0
        for job in self._tasks(first, last):
            figures.add(lists_of(job, ranked_lists(self.model, job, self.k, self.rules, silent, self.shape)))
            done += len(job.users)
            progress("evaluate", done, last - first)
        return figures

    def _tasks(self, first: int, last: int) -> Iterator[Task]:
        """These users as tasks of a step each; the last has fewer."""
        items, known = self.model.items_, self.known
        about: dict[str, Any] = {"items": items, "split": self.split, "part": self.part}
        about |= {"degrees": known.degrees, "n_users": known.learners, "shared": {}}
        about["train"] = lambda: on_items(self.split.train.interactions(), items).matrix
        low, high = np.searchsorted(known.starts, first, side="right") - 1, np.searchsorted(known.starts, last)
        before, missing = first - int(known.starts[low]), last - first
        held: list[Rows] = []
        for piece in self.split.pieces(range(low, high)):
            rows = Rows.of(piece, self.part, items)
            held.append(_cut(rows, before)[1] if before else rows)
            before = 0
            while missing and sum(map(len, held)) >= min(self.step, missing):
                some, rest = _cut(_joined(held), min(self.step, missing))
                yield _task(some, about)
                held, missing = [rest], missing - len(some)


def _task(rows: Rows, about: dict[str, Any]) -> Task:
    return Task(users=rows.users, history=rows.history, mask=rows.mask, targets=rows.targets, **about)


def _joined(some: Sequence[Rows]) -> Rows:
    if len(some) == 1:
        return some[0]
    users = np.concatenate([rows.users for rows in some])
    stacked = {name: vstack([getattr(rows, name) for rows in some], format="csr") for name in MATRICES}
    return Rows(users, **stacked, notes={})


def _cut(rows: Rows, at: int) -> tuple[Rows, Rows]:
    """The first rows, and the others."""
    first, rest = ({name: getattr(rows, name)[part] for name in MATRICES} for part in (slice(at), slice(at, None)))
    return replace(rows, users=rows.users[:at], **first), replace(rows, users=rows.users[at:], **rest)
