"""Texts hashed, numbered in order of first appearance batch after batch, and found again."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.data.labels import Labels
from corml.data.labels.kernels import Codes, Hashes, add, fill, find, hash_all

SMALLEST = 1 << 10  # slots of a table
HALF = np.uint64(32)


def hashes(labels: Labels) -> Hashes:
    """The hash of each label: FNV-1a of its bytes, with the last steps of MurmurHash3.

    It decides which users stand together on disk, so it may never change.
    """
    hashed = np.empty(len(labels), dtype=np.uint64)
    hash_all(labels.data, labels.starts, hashed)
    return hashed


def buckets_of(hashed: Hashes, count: int) -> Codes:
    """The bucket of each hash, by its upper half: the tables of numbers use the lower."""
    return (((hashed >> HALF) * np.uint64(count)) >> HALF).astype(np.int32)


class Numbering:
    """Distinct texts by their numbers: those of some labels, or those that were added so far.

    A text costs its bytes, 8 for its start and 8 or more in a table, at most half of whose slots are taken.
    """

    def __init__(self, labels: Labels | None = None) -> None:
        self._data = np.empty(0, dtype=np.uint8) if labels is None else labels.data
        self._starts = np.zeros(1, dtype=np.int64) if labels is None else labels.starts
        self._count = len(self._starts) - 1
        self._make_table(self._count)

    def __len__(self) -> int:
        return self._count

    @property
    def labels(self) -> Labels:
        """The labels by their number."""
        starts = self._starts[: self._count + 1]
        return Labels(self._data[: starts[-1]], starts)

    def add(self, labels: Labels) -> Codes:
        """The number of each label; those that are new get the next ones."""
        used, count = int(self._starts[self._count]), self._count + len(labels)
        self._starts = _grown(self._starts, self._count + 1, count + 1)
        self._data = _grown(self._data, used, used + labels.size)
        if 2 * count > len(self._table):
            self._make_table(count)
        codes = np.empty(len(labels), dtype=np.int32)
        arrays = self._table, self._data, self._starts, self._count, labels.data, labels.starts, codes
        self._count = int(add(*arrays))
        return codes

    def find(self, labels: Labels) -> NDArray[np.int64]:
        """The numbers of labels; −1 where there is none."""
        rows = np.empty(len(labels), dtype=np.int64)
        find(self._table, self._data, self._starts, labels.data, labels.starts, rows)
        return rows

    def _make_table(self, count: int) -> None:
        self._table = np.full(max(SMALLEST, 1 << max(2 * count - 1, 0).bit_length()), -1, dtype=np.int32)
        fill(self._table, self._data, self._starts, self._count)


def _grown(array: NDArray[Any], used: int, needed: int) -> NDArray[Any]:
    """The same with space for more; it at least doubles, so that growing costs little in total."""
    if needed <= len(array):
        return array
    larger = np.empty(max(needed, 2 * used), dtype=array.dtype)
    larger[:used] = array[:used]
    return larger
