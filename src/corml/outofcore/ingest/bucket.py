"""The rows of a bucket: gathered within the budget even where one user has nearly all of them, and put in order.

Of the rows of a user, an item and a rating only the last of the latest can decide what the pair comes to: the others
are left out when there are too many. Quantities are added up, so there every row counts. What is still too much is
refused: one user is never divided.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime.compiled import njit
from corml._runtime.memory import size
from corml.data.labels import Labels
from corml.data.labels.numbering import Numbering
from corml.errors import ResourceError, ascii_line

__all__ = ["Gathered", "by_pair"]

Columns = dict[str, NDArray[Any]]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]

CROWDED = 2  # times the rows of a bucket in the mean: from here on, rows that decide nothing are left out
FULL = 4  # times as many are too many; lines shorter than expected make this of all buckets alike
SHORT = 24  # rows of a user that are put in order one by one


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
        user = self.users.add(labels)[columns["user"]]
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


# --- the order of pairs ----------------------------------------------------------------------------------------------


def by_pair(user: Codes, item: Codes, users: int) -> Longs:
    """Rows by user and then item, those of one pair as they were.

    Users are counted, and the few rows of each sorted, which is faster than sorting all of them.
    """
    order, free = np.empty(len(user), dtype=np.int64), np.zeros(users + 1, dtype=np.int64)
    np.cumsum(np.bincount(user, minlength=users), out=free[1:])
    _order(user, item, free, order)
    return order


@njit(cache=True, nogil=True)
def _order(user: Codes, item: Codes, free: Longs, order: Longs) -> None:
    for row in range(len(user)):
        order[free[user[row]]] = row
        free[user[row]] += 1
    start = 0
    for one in range(len(free) - 1):
        end = free[one]  # which began at the end of the user before
        if end - start > SHORT:
            rows = order[start:end].copy()
            order[start:end] = rows[np.argsort(item[rows], kind="mergesort")]
        else:
            for at in range(start + 1, end):
                row, to = order[at], at
                while to > start and item[order[to - 1]] > item[row]:
                    order[to] = order[to - 1]
                    to -= 1
                order[to] = row
        start = end
