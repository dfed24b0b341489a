"""The order of many texts, without an object for each.

They are compared by words of eight bytes: those whose words so far are equal are ordered by the next one. A text that
ends has zeros after its end, and comes before a longer one that differs from it by nothing but zeros.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime.compiled import njit

__all__ = ["in_order"]

WORD = 8  # bytes

Array = NDArray[Any]


def in_order(data: Array, starts: Array) -> NDArray[np.int64]:
    """The numbers of texts in the order of their bytes; of equal ones the first comes first."""
    rows, unsettled = (np.arange(len(starts) - 1, dtype=np.int64) for _ in range(2))
    group = np.zeros(len(rows), dtype=np.int64)  # of each place that is not settled: where its equals begin
    at, left = 0, True
    while left and len(unsettled):
        words = np.empty(len(unsettled), dtype=np.uint64)
        left = bool(_words(data, starts, rows[unsettled], at, words))
        by_word = np.lexsort((words, group))
        rows[unsettled] = rows[unsettled][by_word]
        unsettled, group = _ties(words[by_word], group, unsettled)
        at += WORD
    lengths = starts[rows[unsettled] + 1] - starts[rows[unsettled]]
    rows[unsettled] = rows[unsettled][np.lexsort((lengths, group))]
    return rows


def _ties(words: Array, group: Array, places: Array) -> tuple[Array, Array]:
    """Places whose word is that of a neighbour in their group, and where their new groups begin."""
    alike = np.zeros(len(words) + 1, dtype=bool)  # whether a place goes with the one before it
    alike[1:-1] = (words[1:] == words[:-1]) & (group[1:] == group[:-1])
    begins = places[np.maximum.accumulate(np.where(alike[:-1], 0, np.arange(len(words))))]
    tied = alike[:-1] | alike[1:]
    return places[tied], begins[tied]


@njit(cache=True, nogil=True)
def _words(data: Array, starts: Array, rows: Array, at: int, words: Array) -> bool:
    """The word of each text from its byte `at` on; whether any text goes on after it."""
    left = False
    for label in range(len(rows)):
        begin, end = starts[rows[label]] + at, starts[rows[label] + 1]
        word = np.uint64(0)
        for step in range(WORD):
            byte = np.uint64(data[begin + step]) if begin + step < end else np.uint64(0)
            word = (word << np.uint64(8)) | byte
        left |= begin + WORD < end
        words[label] = word
    return left
