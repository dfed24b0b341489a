"""For each item those that share most with it: rows of RᵀΩR made one at a time, of which only the strongest are kept.

A row is added up in a dense array. Which columns it has is noted by sixteens, so that they are read in ascending order
without being sorted, and without reading the whole array where the catalogue is large.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.compiled import inner, njit
from corml._runtime.parallel import each, over_rows
from corml.linalg.products import chunks, entry_of
from corml.linalg.sparse import Array, Sides, Values, Vector


class Ranking(NamedTuple):
    """How columns compare: entries count times `strength`, and of equal ones those with the lowest `numbers` stay."""

    strength: Values
    numbers: NDArray[np.int32]


class Strongest(NamedTuple):
    """Some rows: their columns and values, how many each has, and whether nothing was left out."""

    kept: NDArray[np.int32]
    values: Values
    sizes: NDArray[np.int64]
    whole: bool


class Scratch(NamedTuple):
    """Arrays that one thread works in; all but `row` and `noted`, which are zero between items, may hold anything."""

    row: Values  # the row of an item, and some unused columns
    noted: NDArray[np.uint8]  # for each sixteen columns whether the row has any
    eights: NDArray[np.uint64]  # the same memory, eight notes at a time
    columns: NDArray[np.int32]  # of the row, ascending
    rank: Values  # its entries times the strength of their columns
    heap: Values  # a copy of them, to be partitioned
    equals: NDArray[np.int32]  # numbers of columns of equal rank

    @classmethod
    def of(cls, n: int) -> "Scratch":
        """For n items."""
        noted = np.zeros(8 * (n // 128 + 1), np.uint8)
        columns, equals = np.empty(n, np.int32), np.empty(n, np.int32)
        rank, heap = np.empty(n, np.float32), np.empty(n, np.float32)
        return cls(np.zeros(n + 128, np.float32), noted, noted.view(np.uint64), columns, rank, heap, equals)


def strongest_pairs(
    R: csr_array, by_user: Vector, strength: Values, max_per_item: int | None, numbers: Array | None = None
) -> tuple[csr_array, bool]:
    """Rᵀ diag(by_user) R without its diagonal, and whether all of it is there.

    At most `max_per_item` entries of each row stay: those that are largest when multiplied by the strength of their
    column, and of equal ones those with the lowest `numbers` (default: the first), so that the same pairs stay when
    items are permuted. Rows are sorted by column.
    """
    n, most = R.shape[1], R.shape[1] if max_per_item is None else max_per_item
    ranking = Ranking(strength, (np.arange(n) if numbers is None else numbers).astype(np.int32))
    sides, weights, ranges = Sides.of(R), by_user.astype(np.float32), chunks(R)
    parts = list(each(lambda at: strongest_rows(sides, weights, ranking, most, *ranges[at]), len(ranges)))
    kept, values, sizes = (np.concatenate([rows[column] for rows in parts]) for column in range(3))
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32 if len(kept) < 2**31 else np.int64)
    pairs = csr_array((values, kept.astype(indptr.dtype, copy=False), indptr), shape=(n, n))
    pairs.has_sorted_indices = True
    return pairs, all(rows.whole for rows in parts)


def strongest_rows(sides: Sides, weights: Values, ranking: Ranking, most: int, start: int, stop: int) -> Strongest:
    """The rows of items from `start` to `stop`, by one thread."""
    n = len(sides.items)
    size = int(np.minimum(_reached(sides, start, stop), min(n, most)).sum())
    out = Strongest(np.empty(size, np.int32), np.empty(size, np.float32), np.zeros(stop - start, np.int64), True)
    whole = _strongest(sides, weights, ranking, most, out[:3], Scratch.of(n), (start, stop))
    used = int(out.sizes.sum())
    return Strongest(out.kept[:used].copy(), out.values[:used].copy(), out.sizes, bool(whole))


def reached(sides: Sides) -> NDArray[np.int64]:
    """How many items the users of each item have, counted as often as they have them: the work of a row."""
    counts = np.zeros(len(sides.items), np.int64)

    def work(a: int, b: int) -> None:
        counts[a:b] = _reached(sides, a, b)

    over_rows(work, len(counts))
    return counts


@njit(cache=True, nogil=True)
def _reached(sides, start, stop):  # type: ignore[no-untyped-def]
    ptr, (i_ptr, i_users, _) = sides.users.indptr, sides.items
    counts = np.zeros(stop - start, np.int64)
    for item in range(start, stop):
        for entry in range(np.uint64(i_ptr[item]), np.uint64(i_ptr[item + 1])):
            counts[item - start] += ptr[i_users[entry] + np.uint32(1)] - ptr[i_users[entry]]
    return counts


@njit(cache=True, nogil=True)
def _strongest(sides, weights, ranking, most, out, scratch, items):  # type: ignore[no-untyped-def]
    """Write the rows of a range of items one after the other; whether nothing was left out."""
    (kept, values, sizes), row, columns, rank = out, scratch.row, scratch.columns, scratch.rank
    at, whole, (start, stop) = 0, True, items
    for item in range(start, stop):
        _add_row(sides, weights, row, scratch.noted, item)
        size = _columns_of_row(ranking, scratch)
        limit, last = np.float32(0), np.int32(0)
        if size > most:
            whole = False
            limit = _select(scratch.heap, size, size - most)
            last = _last_of_equals(ranking, scratch, limit, size, most)
        first = at
        for position in range(size):
            column = columns[position]
            if rank[position] > limit or (rank[position] == limit and ranking.numbers[column] <= last):
                kept[at], values[at] = column, row[column]
                at += 1
            row[column] = 0
        sizes[item - start] = at - first
    return whole


@inner()
def _add_row(sides, weights, row, noted, item):  # type: ignore[no-untyped-def]
    """Add up the row of an item, and note its columns by sixteens."""
    (ptr, cols, data), (i_ptr, i_users, i_data) = sides.users, sides.items
    for entry in range(np.uint64(i_ptr[item]), np.uint64(i_ptr[item + 1])):
        user = i_users[entry]
        weight, mine = weights[user], entry_of(i_data, entry)
        for other in range(np.uint64(ptr[user]), np.uint64(ptr[user + 1])):
            column = cols[other]
            row[column] += weight * (mine * entry_of(data, other))  # symmetric to the last bit
            noted[column >> np.uint32(4)] = 1
    row[item] = 0


@inner()
def _columns_of_row(ranking, scratch):  # type: ignore[no-untyped-def]
    """Columns of the row in ascending order, with their ranks; notes are cleared. Returns how many there are."""
    row, noted, eights, columns, rank, heap, _ = scratch
    size = 0
    for eight in range(len(eights)):
        if eights[eight] == 0:
            continue
        for group in range(8 * eight, 8 * eight + 8):
            if noted[group]:
                for column in range(16 * group, 16 * group + 16):
                    if row[column] > 0:
                        columns[size] = column
                        rank[size] = heap[size] = row[column] * ranking.strength[column]
                        size += 1
        eights[eight] = 0
    return size


@inner()
def _last_of_equals(ranking, scratch, limit, size, most):  # type: ignore[no-untyped-def]
    """The number of the last column at the limit that stays, where not all of them can."""
    left, count = most, 0
    for position in range(size):
        if scratch.rank[position] > limit:
            left -= 1
        elif scratch.rank[position] == limit:
            scratch.equals[count] = ranking.numbers[scratch.columns[position]]
            count += 1
    return _select(scratch.equals, count, left - 1)


@njit(cache=True, nogil=True)
def _select(numbers, size, position):  # type: ignore[no-untyped-def]
    """The number that sorting would put at a position (Hoare's selection, in place)."""
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
        if position <= j:
            high = j
        elif position >= i:
            low = i
        else:
            break
    return numbers[position]
