"""Who counts, what a model is told about them, must not give them and should find, on one catalogue.

    told                the history of the part (train, unless the split says otherwise)
    not to be given     what the split says was already seen: for test that is train and valid
    to be found         the pairs of the part

A user counts who has something to be found. Out of the count, but in `notes`, are: targets the catalogue does not
have; targets that may not be given; users with nothing left to recommend; users whose targets are all gone; and users
of whom the model knows no item. Items without a training pair stay: a model is free to rank them, and pays for it.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.errors import DataError
from corml.interactions import Ids, Interactions
from corml.linalg.cells import filled
from corml.splits import Split

__all__ = ["Task", "make"]


@dataclass(frozen=True, eq=False)
class Task:
    """One row per user who counts; columns are the items of the catalogue."""

    users: NDArray[np.object_]
    items: Ids
    split: Split
    part: str
    history: csr_array
    mask: csr_array
    targets: csr_array
    degrees: NDArray[np.int64]
    n_users: int
    notes: dict[str, int] = field(default_factory=dict)


def make(split: Split, part: str, items: Ids) -> Task:
    """Put a part of a split as a task on a catalogue; users and items are matched by id."""
    told, masked, wanted = split.part(part)
    history, mask, targets = (_on(data, items) for data in (told, masked, wanted))
    possible = targets.where(~filled(mask.matrix, targets.user, targets.item))
    rows, notes = _who_counts(wanted, history, mask, possible)
    lost = sum(split.dropped.get(part, {}).values())
    counted = {
        "targets left out by the split": lost,
        "targets not in the catalogue": len(wanted) - len(targets),
        "targets already seen": len(targets) - len(possible),
        **notes,
    }
    if not len(rows):
        raise DataError(
            f"Nobody can be evaluated on the {part} part: {_listed(counted)}. "
            f"Check that the {part} part is not empty and that model and split come from the same data."
        )
    return Task(
        users=told.users.labels[rows],
        items=items,
        split=split,
        part=part,
        history=_rows(history, rows),
        mask=_rows(mask, rows),
        targets=_rows(possible, rows),
        degrees=_on(split.train, items).item_degrees,
        n_users=int((split.train.user_degrees > 0).sum()),
        notes={what: count for what, count in counted.items() if count},
    )


def _who_counts(
    wanted: Interactions, history: Interactions, mask: Interactions, targets: Interactions
) -> tuple[NDArray[np.intp], dict[str, int]]:
    """Rows of the users who count, and how many do not for which reason; the first reason of each is counted."""
    faults = {
        "users without targets": wanted.user_degrees == 0,
        "users with nothing left to recommend": mask.user_degrees == len(mask.items),
        "users whose targets are all left out": targets.user_degrees == 0,
        "users without a known history": history.user_degrees == 0,
    }
    left = np.ones(len(wanted.users), dtype=bool)
    notes = {}
    for what, faulty in faults.items():
        notes[what] = int((left & faulty).sum())
        left &= ~faulty
    return np.flatnonzero(left), notes


def _on(data: Interactions, items: Ids) -> Interactions:
    return data if data.items == items else data.on(data.users, items)


def _rows(data: Interactions, rows: NDArray[np.intp]) -> csr_array:
    taken = data.matrix[rows]
    taken.sort_indices()
    return taken


def _listed(counted: dict[str, int]) -> str:
    found = [f"{count:,} {what}" for what, count in counted.items() if count]
    return ", ".join(found) or "it has no users"
