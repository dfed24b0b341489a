"""From rows of users to rows of items: items × users, block by block, each in one walk through the parts of by_user."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime.compiled import njit
from corml._runtime.progress import Progress
from corml.data.store._layout import array_name
from corml.data.store.writing import put_arrays

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

BLOCK_PAIR = 64  # bytes that a pair takes while it is turned around


@dataclass(frozen=True)
class Turned:
    """What has to be known of a matrix before it is turned: how many users each item has, and how by_user is cut."""

    degrees: Longs
    user_starts: Sequence[int]
    weighted: bool
    timed: bool


def item_blocks(degrees: Sequence[int], memory: int) -> list[int]:
    """Where blocks of items begin, and the end: each has as many pairs as the budget allows, or one item."""
    most, starts, held = memory // BLOCK_PAIR, [0], 0
    for item, degree in enumerate(degrees):
        if held and held + degree > most:
            starts.append(item)
            held = 0
        held += degree
    return [*starts, len(degrees)]


def write_item_blocks(folder: Path, known: Turned, memory: int, progress: Progress) -> list[int]:
    """Write the parts of by_item; give where they begin."""
    starts = item_blocks(known.degrees.tolist(), memory)
    for part, (low, high) in enumerate(pairwise(starts)):
        if not (folder / array_name("by_item", "indptr", part)).exists():  # written after all else of this part
            _write_item_block(folder, known, part, (low, high))
        progress("by item", part + 1, len(starts) - 1)
    return starts


def _write_item_block(folder: Path, known: Turned, part: int, block: tuple[int, int]) -> None:
    indptr = np.concatenate([[0], np.cumsum(known.degrees[block[0] : block[1]])])
    size, free = int(indptr[-1]), indptr[:-1].copy()
    arrays: dict[str, NDArray[Any]] = {"indices": np.empty(size, dtype=np.int32)}
    if known.weighted:
        arrays["weights"] = np.empty(size, dtype=np.float32)
    if known.timed:
        arrays["times"] = np.empty(size)
    for bucket, first in enumerate(known.user_starts[:-1]):
        rows, columns = (_mapped(folder, what, bucket) for what in ("indptr", "indices"))
        at, to = _turned(rows, columns, *block, first, free, arrays["indices"])
        for name in arrays.keys() - {"indices"}:
            arrays[name][to] = _mapped(folder, name, bucket)[at]
    put_arrays(folder, "by_item", part, {**arrays, "indptr": indptr})


def _mapped(folder: Path, what: str, part: int) -> NDArray[Any]:
    # "c", not "r": for an array that must not be written to, Numba compiles everything once more
    array: NDArray[Any] = np.load(folder / array_name("by_user", what, part), mmap_mode="c", allow_pickle=False)
    return array


def _turned(
    indptr: Longs, indices: Ints, low: int, high: int, first: int, free: Longs, users: Ints
) -> tuple[Longs, Longs]:
    """Put the users of a part into the rows of a block; give which entries went where."""
    at, to = np.empty((2, int(_inside(indices, low, high))), dtype=np.int64)
    _turn(indptr, indices, low, high, first, free, users, at, to)
    return at, to


@njit(cache=True, nogil=True)
def _inside(indices: Ints, low: int, high: int) -> int:
    count = 0
    for item in indices:
        count += low <= item < high
    return count


@njit(cache=True, nogil=True)
def _turn(
    indptr: Longs, indices: Ints, low: int, high: int, first: int, free: Longs, users: Ints, at: Longs, to: Longs
) -> None:
    count = 0
    for row in range(len(indptr) - 1):
        for entry in range(indptr[row], indptr[row + 1]):
            item = indices[entry] - low
            if 0 <= item < high - low:
                users[free[item]] = first + row
                at[count], to[count] = entry, free[item]
                free[item] += 1
                count += 1
