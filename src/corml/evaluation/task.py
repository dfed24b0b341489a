"""An evaluation task on one catalogue: which users, and for each a history, a mask and targets.

    history     what the model scores: the history of the part (train, unless the split says otherwise), with weights,
                and with negative entries for what was said no to
    mask        what the split says was already seen, and is not recommended: for test that is train and valid
    targets     the held-out pairs of the part

Users with targets are evaluated. Excluded, and counted in `notes`, are: targets the catalogue does not have; targets
in the mask; users with nothing left to recommend; users without a remaining target; and users without an item the
model knows. Items without a training pair stay: a model is free to rank them, at its own risk.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.errors import DataError
from corml.ids import Ids
from corml.interactions import Interactions
from corml.linalg.cells import filled
from corml.splits import Split
from corml.strength import only_positive, with_values

__all__ = ["Task", "counted", "make"]


@dataclass(frozen=True, eq=False)
class Task:
    """One row per evaluated user; columns are the items of the catalogue."""

    users: NDArray[np.object_]
    items: Ids
    split: Split
    part: str
    history: csr_array
    mask: csr_array
    targets: csr_array
    train: csr_array
    degrees: NDArray[np.int64]
    n_users: int
    notes: dict[str, int] = field(default_factory=dict)


def make(split: Split, part: str, items: Ids) -> Task:
    """Put a part of a split as a task on a catalogue; users and items are matched by id."""
    parts = split.part(part)
    history, mask, targets = (_on(data, items) for data in parts)
    held_out = parts[2]
    possible = targets.where(~filled(mask.matrix, targets.user, targets.item))
    rows, notes = _evaluated(held_out, history, mask, possible)
    counted = {
        "targets left out by the split": sum(split.dropped.get(part, {}).values()),
        "targets not in the catalogue": len(held_out) - len(targets),
        "targets already seen": len(targets) - len(possible),
        **notes,
    }
    if not len(rows):
        raise DataError(
            f"No user can be evaluated on the {part} part: {_listed(counted)}. "
            f"Check that the {part} part is not empty and that model and split come from the same data."
        )
    train = _on(split.train, items)
    return Task(
        users=held_out.users.labels[rows],
        items=items,
        split=split,
        part=part,
        history=_rows(history.histories, rows),
        mask=_rows(mask.matrix, rows),
        targets=_rows(possible.matrix, rows),
        train=train.matrix,
        degrees=train.item_degrees,
        n_users=int((split.train.user_degrees > 0).sum()),
        notes={what: count for what, count in counted.items() if count},
    )


def counted(history: csr_array) -> csr_array:
    """Histories without weights and negative entries, for a model that only counts."""
    history = only_positive(history)
    return with_values(history, np.ones(history.nnz, dtype=np.float32))


def _evaluated(
    held_out: Interactions, history: Interactions, mask: Interactions, targets: Interactions
) -> tuple[NDArray[np.intp], dict[str, int]]:
    """Rows of the users to evaluate, and how many are excluded for each reason, counted by their first one."""
    reasons = {
        "users without targets": held_out.user_degrees == 0,
        "users with nothing left to recommend": mask.user_degrees == len(mask.items),
        "users whose targets are all left out": targets.user_degrees == 0,
        "users without a known history": history.user_degrees == 0,
    }
    evaluated = np.ones(len(held_out.users), dtype=bool)
    notes = {}
    for reason, excluded in reasons.items():
        notes[reason] = int((evaluated & excluded).sum())
        evaluated &= ~excluded
    return np.flatnonzero(evaluated), notes


def _on(data: Interactions, items: Ids) -> Interactions:
    return data if data.items == items else data.on(data.users, items)


def _rows(matrix: csr_array, rows: NDArray[np.intp]) -> csr_array:
    matrix = matrix[rows]
    matrix.sort_indices()
    return matrix


def _listed(counted: dict[str, int]) -> str:
    listed = [f"{count:,} {what}" for what, count in counted.items() if count]
    return ", ".join(listed) or "it has no users"
