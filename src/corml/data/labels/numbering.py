"""Labels numbered in order of first appearance, batch after batch.

Equal hashes are compared byte by byte: no two labels are ever taken for one. A label costs its bytes, 8 for its start,
8 for its hash and 8 or more in the table of numbers.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime.compiled import njit
from corml.data.labels._texts import Bytes, Labels, Starts
from corml.data.labels.hashing import Codes, Hashes, same

__all__ = ["Numbering"]

SMALLEST = 1 << 10


class Numbering:
    """Labels that were met so far, in the order in which they were."""

    def __init__(self) -> None:
        self._count, self._table = 0, np.full(SMALLEST, -1, dtype=np.int32)
        self._hashes, self._starts = np.empty(0, dtype=np.uint64), np.zeros(1, dtype=np.int64)
        self._data = np.empty(0, dtype=np.uint8)

    def __len__(self) -> int:
        return self._count

    @property
    def labels(self) -> Labels:
        """The labels by their number."""
        starts = self._starts[: self._count + 1]
        return Labels(self._data[: starts[-1]], starts)

    @property
    def hashes(self) -> Hashes:
        """The hashes by number."""
        return self._hashes[: self._count]

    def add(self, labels: Labels, hashed: Hashes) -> Codes:
        """The number of each label; those that are new get the next ones."""
        self._make_room(len(labels), int(labels.starts[-1] - labels.starts[0]))
        codes = np.empty(len(labels), dtype=np.int32)
        known = (self._table, self._hashes, self._starts, self._data)
        self._count = int(_number(labels.data, labels.starts, hashed, *known, self._count, codes))
        return codes

    def _make_room(self, more: int, size: int) -> None:
        used = int(self._starts[self._count])
        self._hashes = _grown(self._hashes, self._count, self._count + more)
        self._starts = _grown(self._starts, self._count + 1, self._count + 1 + more)
        self._data = _grown(self._data, used, used + size)
        slots = 1 << (2 * (self._count + more)).bit_length()
        if slots > len(self._table):
            self._table = np.full(slots, -1, dtype=np.int32)
            _fill(self._table, self._hashes, self._count)


def _grown(array: NDArray[Any], used: int, needed: int) -> NDArray[Any]:
    """The same with room for more; twice as much at a time, so that growing costs little on the whole."""
    if needed <= len(array):
        return array
    larger = np.empty(max(needed, 2 * used), dtype=array.dtype)
    larger[:used] = array[:used]
    return larger


@njit(cache=True, nogil=True)
def _number(
    data: Bytes,
    starts: Starts,
    hashed: Hashes,
    table: Codes,
    hashes: Hashes,
    known_starts: Starts,
    known: Bytes,
    count: int,
    codes: Codes,
) -> int:
    mask = np.uint64(len(table) - 1)
    for label in range(len(codes)):
        a, b = starts[label], starts[label + 1]
        slot = hashed[label] & mask
        while True:
            code = table[slot]
            if code < 0:
                table[slot] = code = count
                hashes[count] = hashed[label]
                end = known_starts[count]
                for step in range(b - a):
                    known[end + step] = data[a + step]
                known_starts[count + 1] = end + b - a
                count += 1
                break
            if hashes[code] == hashed[label] and same(data, a, b, known, known_starts[code], known_starts[code + 1]):
                break
            slot = (slot + np.uint64(1)) & mask
        codes[label] = code
    return count


@njit(cache=True, nogil=True)
def _fill(table: Codes, hashes: Hashes, count: int) -> None:
    mask = np.uint64(len(table) - 1)
    for code in range(count):
        slot = hashes[code] & mask
        while table[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = code
