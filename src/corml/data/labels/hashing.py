"""The hash of a text, a function of our own.

It decides which users stand together on disk, so it may never change: FNV-1a of the UTF-8 bytes, with the last steps of
MurmurHash3 so that all bits depend on all others.
"""

import numpy as np
from numpy.typing import NDArray

from corml._runtime.compiled import inner, njit
from corml.data.labels._texts import Bytes, Labels, Starts

__all__ = ["Codes", "Hashes", "buckets_of", "hash_of", "hashes", "same"]

Codes = NDArray[np.int32]
Hashes = NDArray[np.uint64]

OFFSET, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
MIX_1, MIX_2, SHIFT = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53), np.uint64(33)
HALF = np.uint64(32)


def hashes(labels: Labels) -> Hashes:
    """The hash of each label."""
    found = np.empty(len(labels), dtype=np.uint64)
    _hash(labels.data, labels.starts, found)
    return found


def buckets_of(hashed: Hashes, count: int) -> Codes:
    """The bucket of each hash, by its upper half: a table of numbers goes by the lower."""
    return (((hashed >> HALF) * np.uint64(count)) >> HALF).astype(np.int32)


@inner()
def hash_of(data: Bytes, begin: int, end: int) -> np.uint64:
    """The hash of the bytes from one place to before another."""
    value = OFFSET
    for at in range(begin, end):
        value = (value ^ np.uint64(data[at])) * PRIME
    value = (value ^ (value >> SHIFT)) * MIX_1
    value = (value ^ (value >> SHIFT)) * MIX_2
    return value ^ (value >> SHIFT)


@njit(cache=True, nogil=True)
def _hash(data: Bytes, starts: Starts, found: Hashes) -> None:
    for label in range(len(found)):
        found[label] = hash_of(data, starts[label], starts[label + 1])


@inner()
def same(data: Bytes, a: int, b: int, known: Bytes, c: int, d: int) -> bool:
    """Whether two texts, from a to b and from c to d, have the same bytes."""
    if b - a != d - c:
        return False
    for step in range(b - a):
        if data[a + step] != known[c + step]:
            return False
    return True
