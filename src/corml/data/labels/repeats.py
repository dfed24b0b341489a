"""How many texts of many are there more than once, found without compiled code: a load does not wait for it, nor pay.

Hashes of Python are sorted. Only where two are equal are texts compared: no two are ever taken for one.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from corml.data.labels._texts import Labels

__all__ = ["repeated"]

AT_ONCE = 1 << 12  # texts whose bytes are copied together


def repeated(labels: Labels) -> int:
    """How many texts stand somewhere before."""
    hashed = _hashes(labels)
    hashed.sort()
    alike = int(np.count_nonzero(hashed[1:] == hashed[:-1]))
    if not alike or _has_equal_neighbours(labels):
        return alike
    from corml.data.labels.index import Index  # different texts with one hash, which nobody will ever see

    return Index(labels).repeated


def _hashes(labels: Labels) -> NDArray[np.int64]:
    """Of each text, without an object that outlives it."""

    def each() -> Iterator[int]:
        for at in range(0, len(labels), AT_ONCE):
            some = labels.part(at, min(at + AT_ONCE, len(labels)))
            whole, starts = some.packed()[0].tobytes(), (some.starts - some.starts[0]).tolist()
            yield from [hash(whole[begin:end]) for begin, end in pairwise(starts)]

    return np.fromiter(each(), dtype=np.int64, count=len(labels))


def _has_equal_neighbours(labels: Labels) -> bool:
    """Whether two texts that follow each other in the order of hashes are one."""
    hashed = _hashes(labels)
    order = np.argsort(hashed, kind="stable")
    hashed = hashed[order]
    pairs = np.flatnonzero(hashed[1:] == hashed[:-1])
    return any(labels[order[at]] == labels[order[at + 1]] for at in pairs.tolist())
