"""An evaluation task on one catalogue: which users, and for each a history, a mask and targets.

    history     what the model scores: the history of the part (train, unless the split says otherwise), with weights,
                and with negative entries for what was said no to
    mask        what the split says was already seen, and is not recommended: for test that is train and valid
    targets     the held-out pairs of the part; where the split judges some event types, those with such an event

Users with targets are evaluated. Excluded, and counted in `notes`, are: targets the catalogue does not have; targets
in the mask; users with nothing left to recommend; users without a remaining target; and users without an item the
model knows. Items without a training pair stay: a model is free to rank them, at its own risk.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.strength import only_positive, with_values
from corml.errors import DataError
from corml.linalg.sparse import filled
from corml.splits import Split, StoreSplit

__all__ = ["About", "Rows", "Task", "check_some", "counted", "make", "on_items"]


@dataclass(frozen=True, eq=False)
class Task:
    """One row per evaluated user; columns are the items of the catalogue.

    `train` may be a function, which is called where the pairs themselves are needed.
    """

    users: NDArray[np.object_]
    items: Ids
    split: Split | StoreSplit
    part: str
    history: csr_array
    mask: csr_array
    targets: csr_array
    train: csr_array | Callable[[], csr_array]
    degrees: NDArray[np.int64]
    n_users: int
    notes: dict[str, int] = field(default_factory=dict)
    shared: dict[str, Any] = field(default_factory=dict)  # what metrics make once: see `Lists`


@dataclass(frozen=True, eq=False)
class About:
    """What a result tells of its task: who was evaluated on what, and how much was left out."""

    users: NDArray[Any]
    split: Split | StoreSplit
    part: str
    notes: Mapping[str, int]

    @classmethod
    def of(cls, job: Task) -> Self:
        """The facts of a task."""
        return cls(job.users, job.split, job.part, job.notes)


@dataclass(frozen=True, eq=False)
class Rows:
    """The evaluated users of a split, with history, mask and targets, and how much was left out for each reason."""

    users: NDArray[np.object_]
    history: csr_array
    mask: csr_array
    targets: csr_array
    notes: dict[str, int]

    @classmethod
    def of(cls, split: Split, part: str, items: Ids) -> Self:
        """Those of a part on a catalogue; users and items are matched by id."""
        parts = split.part(part)
        history, mask, targets = (on_items(data, items) for data in parts)
        held_out = parts[2]
        judged = _judged(targets, split.targets)
        possible = judged.where(~filled(mask.matrix, judged.user, judged.item))
        rows, excluded = _evaluated((held_out, _judged(held_out, split.targets)), history, mask, possible)
        notes = {
            "targets left out by the split": sum(split.dropped.get(part, {}).values()),
            "targets not in the catalogue": len(held_out) - len(targets),
            "held-out pairs of other event types, not counted as targets": len(targets) - len(judged),
            "targets already seen": len(judged) - len(possible),
            **excluded,
        }
        scored, seen, wanted = (_rows(one, rows) for one in (history.histories, mask.matrix, possible.matrix))
        return cls(held_out.users.labels[rows], scored, seen, wanted, notes)

    def __len__(self) -> int:
        return len(self.users)


def make(split: Split, part: str, items: Ids) -> Task:
    """Put a part of a split as a task on a catalogue."""
    rows = Rows.of(split, part, items)
    check_some(len(rows), part, rows.notes)
    train = on_items(split.train, items)
    return Task(
        users=rows.users,
        items=items,
        split=split,
        part=part,
        history=rows.history,
        mask=rows.mask,
        targets=rows.targets,
        train=train.matrix,
        degrees=train.item_degrees,
        n_users=int((split.train.user_degrees > 0).sum()),
        notes={what: count for what, count in rows.notes.items() if count},
    )


def check_some(users: int, part: str, notes: Mapping[str, int]) -> None:
    """Refuse a task without a user."""
    if not users:
        raise DataError(
            f"No user can be evaluated on the {part} part: {_listed(notes)}. "
            f"Check that the {part} part is not empty and that model and split come from the same data."
        )


def counted(history: csr_array) -> csr_array:
    """Histories without weights and negative entries, for a model that only counts."""
    history = only_positive(history)
    return with_values(history, np.ones(history.nnz, dtype=np.float32))


def _judged(held_out: Interactions, names: tuple[str, ...]) -> Interactions:
    """The pairs that count as targets."""
    if not names:
        return held_out
    none = np.zeros(len(held_out), dtype=bool)
    return held_out.where(none if held_out.kinds is None else held_out.kinds.having(names))


def _evaluated(
    held_out: tuple[Interactions, Interactions], history: Interactions, mask: Interactions, targets: Interactions
) -> tuple[NDArray[np.intp], dict[str, int]]:
    """Rows of the users to evaluate, and how many are excluded for each reason, counted by their first one.

    `held_out` are all held-out pairs, and those that count as targets.
    """
    reasons = {
        "users without targets": held_out[0].user_degrees == 0,
        "users without a target of these event types": held_out[1].user_degrees == 0,
        "users with nothing left to recommend": mask.user_degrees == len(mask.items),
        "users whose targets are all left out": targets.user_degrees == 0,
        "users without a known history": history.user_degrees == 0,
    }
    evaluated = np.ones(len(held_out[0].users), dtype=bool)
    notes = {}
    for reason, excluded in reasons.items():
        notes[reason] = int((evaluated & excluded).sum())
        evaluated &= ~excluded
    return np.flatnonzero(evaluated), notes


def on_items(data: Interactions, items: Ids) -> Interactions:
    """The same pairs on a catalogue."""
    return data if data.items == items else data.on(data.users, items)


def _rows(matrix: csr_array, rows: NDArray[np.intp]) -> csr_array:
    matrix = matrix[rows]
    matrix.sort_indices()
    return matrix


def _listed(counted: Mapping[str, int]) -> str:
    listed = [f"{count:,} {what}" for what, count in counted.items() if count]
    return ", ".join(listed) or "it has no users"
