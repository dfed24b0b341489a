"""Non-negative elastic nets by coordinate descent on a sparse Gram matrix, one for each column.

    minimise  ½ wᵀ(G + l2·I)w − g_jᵀw + l1·Σw     subject to   w ≥ 0,  w_j = 0

The slope s = g_j − Gw − l2·w − l1 of all candidates is kept up to date, so a look at one costs nothing unless it moves.
A row of G is gathered onto the candidates when its item first moves, and kept. Passes over the items in use alternate
with passes over all, until one finds nothing to move: then every slope is known to be within the tolerance.

Candidates have the places 1, 2, …; place 0 is for everything else: what is read or written there means nothing, and
asking every time would cost more than all the rest, because the answers cannot be guessed.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array

from corml.compiled import njit
from corml.linalg.support import unsigned
from corml.parallel import each, threads

__all__ = ["nonnegative_nets"]

PARTS = 32  # ranges of columns for each thread
CACHE = 1 << 24  # numbers: rows of G that are kept while one column is solved
FULL = 0.25  # share of all pairs that met, above which rows are read faster from a dense G


def nonnegative_nets(
    G: csr_array,
    *,
    l1: float,
    l2: float,
    start: csc_array,
    most: int | None,
    tol: float,
    max_steps: int,
    told: Callable[[int], None],
) -> tuple[csc_array, int]:
    """All columns, and how many of them stopped at `max_steps` before their slopes were right.

    Slopes may be off by `tol` times the largest slope at zero. `start` is where to begin, `most` limits a column to the
    candidates that would gain most by themselves, and `told` hears how many columns are done.
    """
    n = G.shape[1]
    parts = min(n, PARTS * threads())
    edges = [n * part // parts for part in range(parts + 1)]
    dense = G.toarray() if G.nnz > FULL * n * n else np.empty((0, 0), dtype=np.float32)
    gram = G.indptr, unsigned(G.indices), G.data, dense, G.diagonal().astype(np.float64)
    begin = start.indptr.astype(np.int64), start.indices.astype(np.int32), start.data.astype(np.float32)
    limits = float(tol), max_steps, n if most is None else most, CACHE

    def work(part: int) -> Any:
        return _columns(gram, begin, float(l1), float(l2), limits, edges[part], edges[part + 1])

    counts, rows, values, unfinished = [], [], [], 0
    for part, found in enumerate(each(work, parts)):
        counts.append(found[0])
        rows.append(found[1])
        values.append(found[2])
        unfinished += int(found[3])
        told(edges[part + 1])
    ends = np.concatenate([[0], *counts]).cumsum()
    return csc_array((np.concatenate(values), np.concatenate(rows), ends), shape=(n, n)), unfinished


@njit(cache=True, nogil=True)
def _columns(gram, begin, l1, l2, limits, first, last):  # type: ignore[no-untyped-def]
    """Solve columns first to last: how many weights each has, their rows and values, and how many did not arrive."""
    ptr, diagonal, (w_ptr, w_rows, w_data) = gram[0], gram[4], begin
    counts = np.zeros(last - first, np.int64)
    rows, values = np.empty(64 * (last - first), np.int32), np.empty(64 * (last - first), np.float32)
    place_of = np.zeros(len(ptr) - 1, np.uint32)
    used = unfinished = 0
    for column in range(first, last):
        items, slopes = _candidates(gram, l1, l2, limits[2], column)
        size = len(items)
        if size == 1:
            continue
        weights, peaks = np.zeros(size), np.empty(size)
        for place in range(1, size):
            place_of[items[place]] = place
            peaks[place] = diagonal[items[place]] + l2
        for at in range(w_ptr[column], w_ptr[column + 1]):
            weights[place_of[w_rows[at]]] = w_data[at]
        unfinished += not _descend(gram, items, slopes, weights, peaks, place_of, l2, limits)
        for place in range(1, size):
            place_of[items[place]] = 0
        found = 1 + np.flatnonzero(weights[1:] > 0)
        if used + len(found) > len(rows):
            rows, values = _longer(rows, 2 * (used + len(found))), _longer(values, 2 * (used + len(found)))
        rows[used : used + len(found)] = items[found]
        values[used : used + len(found)] = weights[found]
        used += len(found)
        counts[column - first] = len(found)
    return counts, rows[:used].copy(), values[:used].copy(), unfinished


@njit(cache=True, nogil=True)
def _longer(array, least):  # type: ignore[no-untyped-def]
    made = np.empty((least, *array.shape[1:]), array.dtype)
    made[: len(array)] = array
    return made


@njit(cache=True, nogil=True)
def _candidates(gram, l1, l2, most, column):  # type: ignore[no-untyped-def]
    """Items with a positive slope at zero, from place 1 on, what gains most by itself first, and the slopes."""
    ptr, cols, data, _, diagonal = gram
    low, high = ptr[column], ptr[column + 1]
    items, slopes, gains = np.empty(high - low, np.int64), np.empty(high - low), np.empty(high - low)
    size = 0
    for at in range(low, high):
        slope = data[at] - l1
        if slope > 0 and cols[at] != column:
            items[size], slopes[size] = cols[at], slope
            gains[size] = slope * slope / (diagonal[cols[at]] + l2)
            size += 1
    order = np.argsort(-gains[:size], kind="mergesort")[:most]
    chosen, steep = np.zeros(len(order) + 1, np.uint64), np.zeros(len(order) + 1)
    chosen[1:], steep[1:] = items[order], slopes[order]
    return chosen, steep


@njit(cache=True, nogil=True, fastmath={"contract"})
def _descend(gram, items, slopes, weights, peaks, place_of, l2, limits):  # type: ignore[no-untyped-def]
    """Move the weights to the optimum; whether they arrived."""
    size, (tol, max_steps, _, room) = len(items), limits
    allowed = tol * slopes[1:].max()
    slot, taken = np.zeros(size, np.uint64), 0
    kept = np.empty((min(size, 32), size), np.float32)
    everything = starting = True
    for _ in range(max_steps + 1):
        moved = False
        for place in range(1, size):
            off, before = slopes[place], weights[place]
            if starting:  # the first pass only tells the slopes of the weights there are
                step = before
            elif abs(off) <= allowed or (before == 0 and (off < 0 or not everything)):
                continue
            else:
                weights[place] = max(before + off / peaks[place], 0.0)
                step = weights[place] - before
            if step == 0:
                continue
            moved = True
            if slot[place] == 0 and (taken + 1) * size <= room:
                if taken == len(kept):
                    kept = _longer(kept, min(2 * taken, size))
                _gather(gram, items, place, place_of, kept[taken])
                taken += 1
                slot[place] = taken
            slopes[place] -= step * l2
            if slot[place] > 0:
                line = slot[place] - np.uint64(1)
                for other in range(size):
                    slopes[other] -= step * kept[line, other]
            else:
                _subtract_row(gram, items[place], place_of, step, slopes)
        if starting:
            starting = False
            continue
        if everything and not moved:
            return True
        everything = not moved
    return False


@njit(cache=True, nogil=True)
def _gather(gram, items, place, place_of, row):  # type: ignore[no-untyped-def]
    """An item's row of G on the candidates."""
    ptr, cols, data, dense, _ = gram
    item = items[place]
    if len(dense) > 0:
        for other in range(len(items)):
            row[other] = dense[item, items[other]]
        return
    row[:] = 0
    for at in range(ptr[item], ptr[item + np.uint64(1)]):
        row[place_of[cols[at]]] = data[at]


@njit(cache=True, nogil=True)
def _subtract_row(gram, item, place_of, step, slopes):  # type: ignore[no-untyped-def]
    """What a step of one weight does to all slopes, read from G itself."""
    ptr, cols, data, _, _ = gram
    for at in range(ptr[item], ptr[item + np.uint64(1)]):
        slopes[place_of[cols[at]]] -= step * data[at]
