"""Sparse rows times a matrix, added onto a dense block; rows are shared out over threads.

Gram matrices of sparse data, how much two items share: dense, or sparse rows a chunk at a time.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array, vstack

from corml._runtime.compiled import njit
from corml._runtime.parallel import each, over_rows, threads
from corml.linalg.sparse import counted, scaled, unsigned


def add_dense_product(X: csr_array, D: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    """`out += X @ D` for sparse X and dense D."""

    def work(a: int, b: int) -> None:
        _add_dense(X.indptr, X.indices, X.data, D, out, a, b)

    over_rows(work, X.shape[0], smallest=4)


def add_sparse_product(X: csr_array, S: csr_array, out: NDArray[np.float32], *, noise: float = 0) -> None:
    """`out += X @ S` for sparse X and S, without a sparse result in between; sums below `noise` become 0."""

    def work(a: int, b: int) -> None:
        _add_sparse(X.indptr, X.indices, X.data, S.indptr, S.indices, S.data, out, np.float32(noise), a, b)

    over_rows(work, X.shape[0], smallest=16)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_dense(ptr, cols, data, D, out, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        target = out[row]
        for at in range(ptr[row], ptr[row + 1]):
            weight = data[at]
            source = D[cols[at]]
            for c in range(len(target)):
                target[c] += weight * source[c]


@njit(cache=True, nogil=True)
def _add_sparse(ptr, cols, data, s_ptr, s_cols, s_data, out, noise, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        target = out[row]
        for at in range(ptr[row], ptr[row + 1]):
            weight, low, high = data[at], s_ptr[cols[at]], s_ptr[cols[at] + 1]
            columns, values = s_cols[low:high], s_data[low:high]
            for c in range(len(columns)):
                target[np.uintp(columns[c])] += weight * values[c]  # unsigned: no test for a negative index
        if noise > 0:  # now, while the row is near the processor
            for c in range(len(target)):
                if abs(target[c]) < noise:
                    target[c] = 0


CHUNK = 1 << 22  # entries of rows that are computed at a time, by all threads together


def dense_gram(left: csr_array, right: csr_array, dtype: DTypeLike) -> NDArray[Any]:
    """`leftᵀ right` as one dense array; each of its rows is added up in entry, user by user."""
    by_columns = left.T.tocsr()
    gram = np.zeros((left.shape[1], right.shape[1]), dtype=dtype)
    by_item, by_user = (
        (side.indptr, unsigned(side.indices), side.data.astype(dtype, copy=False)) for side in (by_columns, right)
    )
    over_rows(lambda a, b: _add_rows(*by_item, *by_user, gram, a, b), len(gram), smallest=16)
    return gram


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_rows(i_ptr, i_users, i_data, ptr, cols, data, out, start, stop):  # type: ignore[no-untyped-def]
    for item in range(start, stop):
        row = out[item]
        for at in range(np.uint64(i_ptr[item]), np.uint64(i_ptr[item + 1])):
            user, weight = i_users[at], i_data[at]
            for entry in range(np.uint64(ptr[user]), np.uint64(ptr[user + 1])):
                row[cols[entry]] += weight * data[entry]


def largest_gram(X: csr_array) -> int:
    """Upper bound on the entries of XᵀX: an item co-occurs with no more items than its users have, or than exist."""
    return int(_row_bounds(X).sum())


def longest_row(X: csr_array) -> int:
    """Upper bound on the entries of any row of XᵀX."""
    return int(_row_bounds(X).max(initial=0))


def chunks(X: csr_array) -> list[tuple[int, int]]:
    """Ranges of items whose rows of XᵀX have at most CHUNK entries together, or single items."""
    room = max(CHUNK // threads(), 1)
    edges, size = [0], 0.0
    for item, entries in enumerate(_row_bounds(X)):
        if size + entries > room and item > edges[-1]:
            edges.append(item)
            size = 0.0
        size += entries
    return list(pairwise([*edges, X.shape[1]]))


def over_pairs(
    X: csr_array,
    work: Callable[[csr_array, int], csr_array] = lambda rows, _: rows,
    *,
    weights: NDArray[np.float64] | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> csr_array:
    """XᵀX as `work(rows, first)` leaves its rows, which come in chunks and from several threads.

    Rows have the diagonal and are sorted by column. `weights` says how much each user counts; `progress` is called
    with the number of rows that are done.
    """
    weighted = X if weights is None else scaled(X, rows=weights).astype(X.dtype)
    by_items, ranges = weighted.T.tocsr(), chunks(X)

    def chunk(number: int) -> csr_array:
        start, stop = ranges[number]
        rows = csr_array(by_items[start:stop] @ X)
        rows.sort_indices()
        return work(rows, start)

    parts = []
    for part, (_, stop) in zip(each(chunk, len(ranges)), ranges, strict=True):
        parts.append(part)
        progress(stop)
    whole = csr_array(vstack(parts, format="csr"))
    whole.has_sorted_indices = True
    return whole


def strongest(rows: csr_array, count: int | None, by: NDArray[np.float32] | None = None) -> csr_array:
    """At most `count` positive entries of each row: those with the largest values `by` (their own, if not given).

    Where several are equal, the first stay.
    """
    values = rows.data if by is None else by
    chosen = values > 0
    if count is not None:
        _unmark_small(rows.indptr, values, count, chosen)
    indptr = np.concatenate([[0], np.cumsum(chosen)])[rows.indptr].astype(rows.indptr.dtype)
    largest = csr_array((rows.data[chosen], rows.indices[chosen], indptr), shape=rows.shape)
    largest.has_sorted_indices = rows.has_sorted_indices
    return largest


@njit(cache=True, nogil=True)
def _unmark_small(ptr, values, count, chosen):  # type: ignore[no-untyped-def]
    for row in range(len(ptr) - 1):
        start, stop = ptr[row], ptr[row + 1]
        if stop - start <= count:
            continue
        threshold = np.partition(values[start:stop], stop - start - count)[stop - start - count]
        ties = count - (values[start:stop] > threshold).sum()
        for at in range(start, stop):
            equal = values[at] == threshold
            chosen[at] = chosen[at] and (values[at] > threshold or (equal and ties > 0))
            ties -= equal


def _row_bounds(X: csr_array) -> NDArray[np.float64]:
    """Upper bound on the entries of each row of XᵀX."""
    entries: NDArray[np.float64] = counted(X).T @ np.diff(X.indptr).astype(np.float64)
    return np.asarray(np.minimum(entries, X.shape[1]))
