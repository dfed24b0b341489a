"""From a label to its number: a table of 8 bytes a label.

A slot holds the number of a label, or −1; a label whose slot is taken stands in the next one that is free. There are
twice as many slots as labels, so that one or two are looked at. What is found is compared byte by byte: no two labels
are ever taken for one.
"""

import numpy as np
from numpy.typing import NDArray

from corml.compiled import inner, njit
from corml.labels._texts import Bytes, Labels, Starts
from corml.labels.hashing import HALF, Codes, Hashes, hashes, same

__all__ = ["Index"]

LOWER = np.uint64(0xFFFFFFFF)


class Index:
    """Where each label stands; of one that occurs twice, where it is first."""

    def __init__(self, labels: Labels) -> None:
        self._labels, self._table = labels, np.full(2 * len(labels) + 1, -1, dtype=np.int32)
        self.repeated, first = 0, 0
        for some in labels.parts():
            known = (labels.data, labels.starts, self._table)
            self.repeated += int(_insert(*known, first, hashes(some)))
            first += len(some)

    def find(self, labels: Labels) -> NDArray[np.int64]:
        """The numbers of labels; −1 where there is none."""
        rows, first = np.empty(len(labels), dtype=np.int64), 0
        for some in labels.parts():
            known = (self._labels.data, self._labels.starts, self._table)
            _find(*known, some.data, some.starts, hashes(some), rows[first : first + len(some)])
            first += len(some)
        return rows


@inner()
def _slot(hashed: np.uint64, slots: int) -> int:
    return np.int64(((hashed & LOWER) * np.uint64(slots)) >> HALF)  # type: ignore[return-value]


@njit(cache=True, nogil=True)
def _insert(data: Bytes, starts: Starts, table: Codes, first: int, hashed: Hashes) -> int:
    repeated = 0
    for step in range(len(hashed)):
        row = first + step
        slot = _slot(hashed[step], len(table))
        while table[slot] >= 0:
            known = table[slot]
            if same(data, starts[row], starts[row + 1], data, starts[known], starts[known + 1]):
                repeated += 1
                break
            slot = slot + 1 if slot + 1 < len(table) else 0
        if table[slot] < 0:
            table[slot] = row
    return repeated


@njit(cache=True, nogil=True)
def _find(
    known: Bytes, known_starts: Starts, table: Codes, data: Bytes, starts: Starts, hashed: Hashes, rows: Starts
) -> None:
    for label in range(len(rows)):
        slot = _slot(hashed[label], len(table))
        rows[label] = -1
        while table[slot] >= 0:
            row = table[slot]
            if same(data, starts[label], starts[label + 1], known, known_starts[row], known_starts[row + 1]):
                rows[label] = row
                break
            slot = slot + 1 if slot + 1 < len(table) else 0
