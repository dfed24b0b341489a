"""From a label to its number: a table of 8 bytes a label.

A slot holds the number of a label, or −1; a label whose slot is taken stands in the next one that is free. There are
twice as many slots as labels, so that one or two are looked at. What is found is compared byte by byte: no two labels
are ever taken for one.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime.compiled import inner, njit
from corml.data.labels._texts import Bytes, Labels, Starts
from corml.data.labels.hashing import HALF, Codes, hash_of, same

__all__ = ["Index"]

LOWER = np.uint64(0xFFFFFFFF)


class Index:
    """Where each label stands; of one that occurs twice, where it is first."""

    def __init__(self, labels: Labels) -> None:
        self._labels, self._table = labels, np.full(2 * len(labels) + 1, -1, dtype=np.int32)
        self.repeated = int(_insert(labels.data, labels.starts, self._table))

    def find(self, labels: Labels) -> NDArray[np.int64]:
        """The numbers of labels; −1 where there is none."""
        rows = np.empty(len(labels), dtype=np.int64)
        _find(self._labels.data, self._labels.starts, self._table, labels.data, labels.starts, rows)
        return rows


@inner()
def _look(known: Bytes, known_starts: Starts, table: Codes, data: Bytes, begin: int, end: int) -> Any:
    """The slot of a text: that of its number, or the free one where it would stand."""
    slots = len(table)
    slot: Any = np.int64(((hash_of(data, begin, end) & LOWER) * np.uint64(slots)) >> HALF)
    while table[slot] >= 0:
        row = table[slot]
        if same(data, begin, end, known, known_starts[row], known_starts[row + 1]):
            break
        slot = slot + 1 if slot + 1 < slots else 0
    return slot


@njit(cache=True, nogil=True)
def _insert(data: Bytes, starts: Starts, table: Codes) -> int:
    repeated = 0
    for row in range(len(starts) - 1):
        slot = _look(data, starts, table, data, starts[row], starts[row + 1])
        if table[slot] < 0:
            table[slot] = row
        else:
            repeated += 1
    return repeated


@njit(cache=True, nogil=True)
def _find(known: Bytes, known_starts: Starts, table: Codes, data: Bytes, starts: Starts, rows: Starts) -> None:
    for label in range(len(rows)):
        rows[label] = table[_look(known, known_starts, table, data, starts[label], starts[label + 1])]
