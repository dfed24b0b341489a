"""Compiled code for texts in one array of bytes: hashed, found in a table of their numbers, copied.

Texts are compared byte by byte: two different ones are never taken for one. Arrays that kernels read are writable,
because for others Numba compiles everything once more.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime.compiled import inner, njit

Bytes = NDArray[np.uint8]
Starts = NDArray[np.int64]
Codes = NDArray[np.int32]
Hashes = NDArray[np.uint64]

OFFSET, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
MIX_1, MIX_2, SHIFT = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53), np.uint64(33)


@inner()
def _hash(data: Bytes, begin: int, end: int) -> np.uint64:
    value = OFFSET
    for at in range(begin, end):
        value = (value ^ np.uint64(data[at])) * PRIME
    value = (value ^ (value >> SHIFT)) * MIX_1
    value = (value ^ (value >> SHIFT)) * MIX_2
    return value ^ (value >> SHIFT)


@njit(cache=True, nogil=True)
def hash_all(data: Bytes, starts: Starts, hashed: Hashes) -> None:
    """The hash of each text."""
    for label in range(len(hashed)):
        hashed[label] = _hash(data, starts[label], starts[label + 1])


@inner()
def _slot(table: Codes, known: Bytes, known_starts: Starts, data: Bytes, begin: int, end: int) -> Any:
    """The slot of a text: the one with its number, or the free one where it belongs."""
    mask = np.uint64(len(table) - 1)
    slot: Any = _hash(data, begin, end) & mask
    while table[slot] >= 0:
        first, last = known_starts[table[slot]], known_starts[table[slot] + 1]
        same = last - first == end - begin
        step = 0
        while same and step < end - begin:
            same = known[first + step] == data[begin + step]
            step += 1
        if same:
            break
        slot = (slot + np.uint64(1)) & mask
    return slot


@njit(cache=True, nogil=True)
def add(table: Codes, known: Bytes, known_starts: Starts, count: int, data: Bytes, starts: Starts, codes: Codes) -> int:
    """Number texts; new ones are copied to the end of the known ones, whose count is returned."""
    for label in range(len(codes)):
        slot = _slot(table, known, known_starts, data, starts[label], starts[label + 1])
        if table[slot] < 0:
            end = known_starts[count]
            for at in range(starts[label], starts[label + 1]):
                known[end + at - starts[label]] = data[at]
            known_starts[count + 1] = end + starts[label + 1] - starts[label]
            table[slot] = count
            count += 1
        codes[label] = table[slot]
    return count


@njit(cache=True, nogil=True)
def fill(table: Codes, known: Bytes, starts: Starts, count: int) -> None:
    """Put texts into an empty table; of equal ones the first."""
    for row in range(count):
        slot = _slot(table, known, starts, known, starts[row], starts[row + 1])
        if table[slot] < 0:
            table[slot] = row


@njit(cache=True, nogil=True)
def find(table: Codes, known: Bytes, known_starts: Starts, data: Bytes, starts: Starts, rows: Starts) -> None:
    """The numbers of texts; −1 where there is none."""
    for label in range(len(rows)):
        rows[label] = table[_slot(table, known, known_starts, data, starts[label], starts[label + 1])]


@njit(cache=True, nogil=True)
def copy(data: Bytes, begins: Starts, starts: Starts, copied: Bytes) -> None:
    """Copy the text that begins at each of these bytes to where it starts among the copied ones."""
    for text in range(len(begins)):
        for step in range(starts[text + 1] - starts[text]):
            copied[starts[text] + step] = data[begins[text] + step]
