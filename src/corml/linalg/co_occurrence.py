"""For each item those that share most with it: rows of RᵀΩR made one at a time, of which only the strongest are kept.

A row is added up in a dense array. Which columns it has is noted by sixteens, so that they are read in ascending order
without being sorted, and without reading the whole array where the catalogue is large.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.compiled import inner, njit
from corml._runtime.parallel import each, over_rows
from corml.linalg.products import chunks
from corml.linalg.sparse import Sides

Values = NDArray[np.float32]


def strongest_pairs(
    R: csr_array,
    by_user: NDArray[Any],
    strength: Values,
    max_per_item: int | None,
    numbers: NDArray[np.integer[Any]] | None = None,
) -> tuple[csr_array, bool]:
    """Rᵀ diag(by_user) R without its diagonal, and whether all of it is there.

    At most `max_per_item` entries of each row stay: those that are largest when multiplied by the strength of their
    column. Where several are equal, those with the lowest `numbers` stay, the first if none are given: so items may
    stand in another order, and the same pairs stay. Rows are sorted by column.
    """
    names = np.arange(R.shape[1], dtype=np.int32) if numbers is None else numbers.astype(np.int32)
    n, most = R.shape[1], R.shape[1] if max_per_item is None else max_per_item
    sides, weights, ranges = Sides.of(R), by_user.astype(np.float32), chunks(R)
    parts = list(each(lambda at: strongest_rows(sides, weights, (strength, names), most, *ranges[at]), len(ranges)))
    kept, values, sizes = (np.concatenate([part[column] for part in parts]) for column in range(3))
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32 if len(kept) < 2**31 else np.int64)
    pairs = csr_array((values, kept.astype(indptr.dtype, copy=False), indptr), shape=(n, n))
    pairs.has_sorted_indices = True
    return pairs, all(part.whole for part in parts)


class Strongest(NamedTuple):
    """Some rows: their columns and values, how many each has, and whether nothing was left out."""

    kept: NDArray[np.int32]
    values: Values
    sizes: NDArray[np.int64]
    whole: bool


def strongest_rows(
    sides: Sides, weights: Values, ranking: tuple[Values, NDArray[np.int32]], most: int, start: int, stop: int
) -> Strongest:
    """The rows of items from `start` to `stop`, by one thread; `ranking` are strengths and numbers of columns."""
    n, (i_ptr, i_users, _) = len(sides.items), sides.items
    size = int(np.minimum(_reached(i_ptr, i_users, sides.users.indptr, start, stop), min(n, most)).sum())
    kept, values, sizes = np.empty(size, np.int32), np.empty(size, np.float32), np.zeros(stop - start, np.int64)
    noted = np.zeros(8 * (n // 128 + 1), np.uint8)
    row = np.zeros(n + 128, np.float32), noted, noted.view(np.uint64)
    scratch = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.float32), np.empty(n, np.float32)
    how, out = (weights, *ranking), (kept, values, sizes)
    whole = _strongest(*sides.arrays, how, most, out, row, scratch, start, stop)
    used = int(sizes.sum())
    return Strongest(kept[:used].copy(), values[:used].copy(), sizes, bool(whole))


def reached(sides: Sides) -> NDArray[np.int64]:
    """How many items the users of each item have together, counted as often as they have them: the work of a row."""
    counts, (i_ptr, i_users, _) = np.zeros(len(sides.items), np.int64), sides.items

    def work(a: int, b: int) -> None:
        counts[a:b] = _reached(i_ptr, i_users, sides.users.indptr, a, b)

    over_rows(work, len(counts))
    return counts


@njit(cache=True, nogil=True)
def _reached(i_ptr, i_users, ptr, start, stop):  # type: ignore[no-untyped-def]
    reached = np.zeros(stop - start, np.int64)
    for item in range(start, stop):
        for entry in range(np.uint64(i_ptr[item]), np.uint64(i_ptr[item + 1])):
            reached[item - start] += ptr[i_users[entry] + np.uint32(1)] - ptr[i_users[entry]]
    return reached


@njit(cache=True, nogil=True)
def _strongest(by_user, by_item, data, i_data, how, most, out, sums, scratch, start, stop):  # type: ignore[no-untyped-def]
    """Write the rows of some items one after the other; whether nothing was left out."""
    (_, _, numbers), (kept, values, sizes), (row, _, _), (columns, equals, rank, heap) = how, out, sums, scratch
    at, whole = 0, True
    for item in range(start, stop):
        _add_row(by_user, by_item, data, i_data, how, sums, item)
        size = _columns_of_row(how, sums, scratch)
        limit, last = np.float32(0), np.int32(0)
        if size > most:
            whole = False
            limit = _select(heap, size, size - most)
            last = _last_of_equals(numbers, columns, rank, limit, size, most, equals)
        first = at
        for place in range(size):
            column = columns[place]
            if rank[place] > limit or (rank[place] == limit and numbers[column] <= last):
                kept[at], values[at] = column, row[column]
                at += 1
            row[column] = 0
        sizes[item - start] = at - first
    return whole


@inner()
def _add_row(by_user, by_item, data, i_data, how, sums, item):  # type: ignore[no-untyped-def]
    """Add up the row of an item, and note its columns by sixteens."""
    (ptr, cols), (i_ptr, i_users), (weights, _, _), (row, noted, _) = by_user, by_item, how, sums
    for entry in range(np.uint64(i_ptr[item]), np.uint64(i_ptr[item + 1])):
        user = i_users[entry]
        weight = weights[user]
        for other in range(np.uint64(ptr[user]), np.uint64(ptr[user + 1])):
            column = cols[other]
            if data is None:
                row[column] += weight
            else:  # the product of both values first: the same both ways, to the last bit
                row[column] += weight * (i_data[entry] * data[other])
            noted[column >> np.uint32(4)] = 1
    row[item] = 0


@inner()
def _columns_of_row(how, sums, scratch):  # type: ignore[no-untyped-def]
    """Columns of the row in ascending order, with their ranks; notes are cleared. Gives how many there are."""
    (_, strength, _), (row, noted, eights), (columns, _, rank, heap) = how, sums, scratch
    size = 0
    for eight in range(len(eights)):
        if eights[eight] == 0:
            continue
        for group in range(8 * eight, 8 * eight + 8):
            if noted[group]:
                for column in range(16 * group, 16 * group + 16):
                    if row[column] > 0:
                        columns[size] = column
                        rank[size] = heap[size] = row[column] * strength[column]
                        size += 1
        eights[eight] = 0
    return size


@inner()
def _last_of_equals(numbers, columns, rank, limit, size, most, equals):  # type: ignore[no-untyped-def]
    """Of the columns at the limit as many may stay as there are places left: the number of the last that does."""
    left, count = most, 0
    for place in range(size):
        if rank[place] > limit:
            left -= 1
        elif rank[place] == limit:
            equals[count] = numbers[columns[place]]
            count += 1
    return _select(equals, count, left - 1)


@njit(cache=True, nogil=True)
def _select(numbers, size, place):  # type: ignore[no-untyped-def]
    """The number that would be at a place if they were sorted (Hoare's selection, in place)."""
    low, high = 0, size - 1
    while low < high:
        pivot = numbers[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while numbers[i] < pivot:
                i += 1
            while numbers[j] > pivot:
                j -= 1
            if i <= j:
                numbers[i], numbers[j] = numbers[j], numbers[i]
                i += 1
                j -= 1
        if place <= j:
            high = j
        elif place >= i:
            low = i
        else:
            break
    return numbers[place]
