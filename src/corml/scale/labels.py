"""Texts as bytes: hashed by a function of our own, and numbered in order of first appearance.

The hash decides which users stand together on disk, so it may never change: FNV-1a of the UTF-8 bytes, with the last
steps of MurmurHash3 so that all bits depend on all others. Equal hashes are compared byte by byte: no two labels are
ever taken for one. A label costs its bytes, 8 for its start, 8 for its hash and 8 or more in the table of numbers.
"""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corml.compiled import inner, njit

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Labels", "Numbering", "buckets_of", "concatenated", "hashes", "of_series"]

Bytes = NDArray[np.uint8]
Codes = NDArray[np.int32]
Hashes = NDArray[np.uint64]
Starts = NDArray[np.int64]

OFFSET, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
MIX_1, MIX_2, SHIFT = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53), np.uint64(33)
HALF = np.uint64(32)
SMALLEST = 1 << 10


class Labels:
    """Texts one after the other: label i is the bytes from `starts[i]` to `starts[i + 1]`."""

    def __init__(self, data: Bytes, starts: Starts) -> None:
        self.data, self.starts = data, starts

    def __len__(self) -> int:
        return len(self.starts) - 1

    def texts(self) -> list[str]:
        """The labels as Python's own texts."""
        whole, ends = self.data.tobytes(), self.starts.tolist()
        return [whole[a:b].decode() for a, b in pairwise(ends)]

    def take(self, rows: NDArray[np.integer[Any]]) -> "Labels":
        """Some of the labels, in this order."""
        starts = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(np.diff(self.starts)[rows], out=starts[1:])
        data = np.empty(int(starts[-1]), dtype=np.uint8)
        _copy(self.data, self.starts, rows.astype(np.int64), starts, data)
        return Labels(data, starts)


def of_series(series: "pl.Series") -> Labels:
    """The labels of a column of text without nulls."""
    starts = np.zeros(len(series) + 1, dtype=np.int64)
    np.cumsum(series.str.len_bytes().to_numpy(), out=starts[1:])
    joined = str(series.str.join("").item()) if len(series) else ""
    writable = bytearray(joined, "utf-8")  # for an array that is not, Numba compiles everything once more
    return Labels(np.frombuffer(writable, dtype=np.uint8), starts)


def concatenated(parts: list[Labels]) -> Labels:
    """The labels of several, one after the other."""
    ends = np.cumsum([0, *(len(part.data) for part in parts)])
    starts = [part.starts[:-1] + end for part, end in zip(parts, ends, strict=False)]
    return Labels(
        np.concatenate([np.zeros(0, dtype=np.uint8), *(part.data for part in parts)]),
        np.concatenate([*starts, ends[-1:]]).astype(np.int64),
    )


def hashes(labels: Labels) -> Hashes:
    """The hash of each label."""
    found = np.empty(len(labels), dtype=np.uint64)
    _hash(labels.data, labels.starts, found)
    return found


def buckets_of(hashed: Hashes, count: int) -> Codes:
    """The bucket of each hash, by its upper half: a table of numbers goes by the lower."""
    return (((hashed >> HALF) * np.uint64(count)) >> HALF).astype(np.int32)


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
def _hash(data: Bytes, starts: Starts, found: Hashes) -> None:
    for label in range(len(found)):
        value = OFFSET
        for at in range(starts[label], starts[label + 1]):
            value = (value ^ np.uint64(data[at])) * PRIME
        value = (value ^ (value >> SHIFT)) * MIX_1
        value = (value ^ (value >> SHIFT)) * MIX_2
        found[label] = value ^ (value >> SHIFT)


@inner()
def _same(data: Bytes, a: int, b: int, known: Bytes, c: int, d: int) -> bool:
    if b - a != d - c:
        return False
    for step in range(b - a):
        if data[a + step] != known[c + step]:
            return False
    return True


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
            if hashes[code] == hashed[label] and _same(data, a, b, known, known_starts[code], known_starts[code + 1]):
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


@njit(cache=True, nogil=True)
def _copy(data: Bytes, starts: Starts, rows: Starts, ends: Starts, out: Bytes) -> None:
    for at in range(len(rows)):
        begin, target = starts[rows[at]], ends[at]
        for step in range(ends[at + 1] - target):
            out[target + step] = data[begin + step]
