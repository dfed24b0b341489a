"""Evaluate on a split of a store, some users at a time: lists are forgotten as soon as they are measured.

Users are ranked in the blocks in which all of them together would be ranked, so the figures are those of the same split
in memory, to the last bit. Kept of a user are the id and one number for each metric; of the lists of everybody, how
often each item is in one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from corml.errors import UsageError
from corml.evaluation.figures import Figures
from corml.evaluation.measure import lists_of
from corml.evaluation.ranking import ranked_lists
from corml.evaluation.task import About, Rows, Task, check_some, counted, on_items
from corml.metrics import Metric
from corml.progress import Progress, silent
from corml.rules import ListRules
from corml.splits import StoreSplit

if TYPE_CHECKING:
    from corml.recommender import Recommender

__all__ = ["measured"]

AT_ONCE = 1 << 14  # users, unless a block has more
MATRICES = ("history", "mask", "targets")
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
) -> tuple[About, dict[str, float], dict[str, Values]]:
    """What was evaluated, the means of all metrics, and the values of each user for those that have them."""
    if rules is not None and rules.max_share is not None:
        raise UsageError("max_share is a rule for all lists together, and those of a store are never all there.")
    known = _Known.of(model, split, part, progress)
    shape, step = _blocks(model, known, k, rules)
    figures, done = Figures(metrics), 0
    for job in _tasks(model, split, part, known, step):
        best = ranked_lists(model, job, k, rules, silent, shape)
        figures.add(lists_of(job, best), job.users)
        done += len(job.users)
        progress("evaluate", done, known.users)
    return About(figures.users(), split, part, known.notes), *figures.all()


# --- what has to be known before -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Known:
    """What all users together come to."""

    users: int
    entries: int  # of their histories
    degrees: NDArray[np.int64]
    learners: int
    notes: dict[str, int]

    @property
    def shape(self) -> tuple[int, int]:
        """Of the histories of all evaluated users, as one matrix."""
        return self.users, len(self.degrees)

    @property
    def nnz(self) -> int:
        """Entries of this matrix."""
        return self.entries

    @classmethod
    def of(cls, model: "Recommender", split: StoreSplit, part: str, progress: Progress) -> "_Known":
        """Count, in one walk through the split."""
        users = entries = learners = 0
        degrees, notes = np.zeros(len(model.items), dtype=np.int64), dict[str, int]()
        for piece in split.pieces():
            rows = Rows.of(piece, part, model.items)
            history = rows.history if model.LEARNS_WEIGHTS else counted(rows.history)
            users, entries = users + len(rows), entries + history.nnz
            degrees += on_items(piece.train, model.items).item_degrees
            learners += int((piece.train.user_degrees > 0).sum())
            notes = {what: notes.get(what, 0) + count for what, count in rows.notes.items()}
        check_some(users, part, notes)
        return cls(users, entries, degrees, learners, {what: count for what, count in notes.items() if count})


def _blocks(model: "Recommender", known: _Known, k: int, rules: ListRules | None) -> tuple[tuple[int, int], int]:
    """The shape of blocks of scores if all users were ranked at once, and a whole number of blocks of users."""
    whole = cast(csr_array, known)  # blocks go by the shape and the entries of the histories, not by themselves
    shape = height, _ = model.block_shape(whole)
    if rules is not None:
        from corml.rerank import Ranking, Reranker

        height = Reranker(Ranking(model, whole, None, whole), k, rules).height
    return shape, max(height, AT_ONCE // height * height)


# --- tasks of some users --------------------------------------------------------------------------------------------


def _tasks(model: "Recommender", split: StoreSplit, part: str, known: _Known, step: int) -> Iterator[Task]:
    """The evaluated users as tasks of `step` users each; the last has fewer."""
    about: dict[str, Any] = {"items": model.items, "split": split, "part": part}
    about |= {"degrees": known.degrees, "n_users": known.learners, "shared": {}}
    about["train"] = lambda: on_items(split.train.interactions(), model.items).matrix
    held: list[Rows] = []
    for piece in split.pieces():
        held.append(Rows.of(piece, part, model.items))
        while sum(map(len, held)) >= step:
            first, rest = _cut(_joined(held), step)
            yield _task(first, about)
            held = [rest]
    last = _joined(held)
    if len(last):
        yield _task(last, about)


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
