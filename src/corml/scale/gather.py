"""The rows of a bucket, gathered within the budget even where one user has nearly all of them.

Of the rows of a user, an item and a rating only the last of the latest can decide what the pair comes to: the others
are left out when there are too many. Quantities are added up, so of those every row counts. What is still too much is
refused: one user is never divided.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.errors import ResourceError, ascii_line
from corml.labels import Labels
from corml.labels.hashing import hashes
from corml.labels.numbering import Numbering
from corml.memory import size

__all__ = ["Gathered"]

Columns = dict[str, NDArray[Any]]

CROWDED = 2  # times the rows of a bucket in the mean: from here on, rows that decide nothing are left out
FULL = 4  # times as many are too many; lines shorter than expected make this of all buckets alike


@dataclass
class Gathered:
    """Users in order of first appearance, the rows of them that are held, and how many were left out."""

    memory: int  # bytes
    mean: int  # rows of a bucket that the budget allows
    users: Numbering = field(default_factory=Numbering)
    left_out: int = 0
    _parts: list[Columns] = field(default_factory=list)
    _held: int = 0
    _crowded: int = 0

    def add(self, labels: Labels, columns: Columns) -> None:
        """Take some more rows; `user` counts through the labels."""
        user = self.users.add(labels, hashes(labels))[columns["user"]]
        self._parts.append({**columns, "user": user})
        self._held += len(user)
        if self._held > max(self._crowded, CROWDED * self.mean):
            self._thin()
            self._crowded = 2 * self._held  # so that all of this takes time in proportion to the rows
        if self._held > FULL * self.mean:
            self._refuse()

    @property
    def columns(self) -> Columns:
        """The rows that are held, in their order."""
        return {name: np.concatenate([part[name] for part in self._parts]) for name in self._parts[0]}

    def _thin(self) -> None:
        columns = self.columns
        if "quantity" in columns:
            return
        keep = _deciding(columns)
        self.left_out += self._held - len(keep)
        self._parts, self._held = [{name: column[keep] for name, column in columns.items()}], len(keep)

    def _refuse(self) -> None:
        self._thin()
        if self._held <= FULL * self.mean:
            return
        rows = np.bincount(np.concatenate([part["user"] for part in self._parts]))
        heaviest = int(rows.argmax())
        name = ascii_line(self.users.labels.take(np.array([heaviest])).tolist()[0])
        raise ResourceError(
            f"The rows of user {name}, {rows[heaviest]:,} or more, and of those merged together with them need more "
            f"than {size(self.memory)}: give more with memory= (--memory), or leave this user out."
        )


def _deciding(columns: Columns) -> NDArray[np.int64]:
    """Which rows may decide, in order: the last of the latest of each user, item and rating."""
    group = [columns[name] for name in ("rating", "item", "user") if name in columns]
    order = np.lexsort([columns[name] for name in ("time",) if name in columns] + group)  # stable: the last is the last
    ends = np.ones(len(order), dtype=bool)
    ends[:-1] = np.any([column[order[1:]] != column[order[:-1]] for column in group], axis=0)
    return np.sort(order[ends])
