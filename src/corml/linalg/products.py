"""Products with sparse rows, in threads: added onto a dense block, and Gram matrices, dense or sparse in chunks."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import csr_array, vstack

from corml._runtime.compiled import inner, njit
from corml._runtime.parallel import each, over_rows, threads
from corml.linalg.sparse import Array, Values, Vector, unsigned

CHUNK = 1 << 22  # entries of a Gram matrix that are computed at a time, by all threads together


@inner()
def entry_of(values, at):  # type: ignore[no-untyped-def]
    """An entry of a matrix; 1 where no values are stored, which is decided when a kernel is compiled."""
    if values is None:
        return np.float32(1)
    return values[at]


def add_dense_product(X: csr_array, D: Values, out: Values) -> None:
    """`out += X @ D` for sparse X and dense D."""
    rows = X.indptr, X.indices, X.data
    over_rows(lambda a, b: _add_dense(rows, D, out, a, b), X.shape[0], smallest=4)


def add_sparse_product(X: csr_array, S: csr_array, out: Values, *, noise: float = 0) -> None:
    """`out += X @ S` for sparse X and S, without a sparse intermediate result; sums below `noise` become 0."""
    left, right, least = (X.indptr, X.indices, X.data), (S.indptr, S.indices, S.data), np.float32(noise)
    over_rows(lambda a, b: _add_sparse(left, right, out, least, a, b), X.shape[0], smallest=16)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_dense(rows, D, out, start, stop):  # type: ignore[no-untyped-def]
    ptr, cols, data = rows
    for row in range(start, stop):
        target = out[row]
        for at in range(ptr[row], ptr[row + 1]):
            weight = data[at]
            source = D[cols[at]]
            for c in range(len(target)):
                target[c] += weight * source[c]


@njit(cache=True, nogil=True)
def _add_sparse(left, right, out, noise, start, stop):  # type: ignore[no-untyped-def]
    (ptr, cols, data), (s_ptr, s_cols, s_data) = left, right
    for row in range(start, stop):
        target = out[row]
        for at in range(ptr[row], ptr[row + 1]):
            weight, low, high = data[at], s_ptr[cols[at]], s_ptr[cols[at] + 1]
            columns, values = s_cols[low:high], s_data[low:high]
            for c in range(len(columns)):
                target[np.uintp(columns[c])] += weight * values[c]  # unsigned: no test for a negative index
        if noise > 0:  # now, while the row is in the cache
            for c in range(len(target)):
                if abs(target[c]) < noise:
                    target[c] = 0


def dense_gram(left: csr_array, right: csr_array, dtype: DTypeLike) -> Array:
    """`leftᵀ right` as one dense array; each of its rows is added up in entry, user by user."""
    gram = np.zeros((left.shape[1], right.shape[1]), dtype=dtype)
    by_item, by_user = (
        (side.indptr, unsigned(side.indices), side.data.astype(dtype, copy=False)) for side in (left.T.tocsr(), right)
    )
    over_rows(lambda a, b: _add_rows(by_item, by_user, gram, a, b), len(gram), smallest=16)
    return gram


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_rows(by_item, by_user, out, start, stop):  # type: ignore[no-untyped-def]
    (i_ptr, i_users, i_data), (ptr, cols, data) = by_item, by_user
    for item in range(start, stop):
        row = out[item]
        for at in range(np.uint64(i_ptr[item]), np.uint64(i_ptr[item + 1])):
            user, weight = i_users[at], i_data[at]
            for entry in range(np.uint64(ptr[user]), np.uint64(ptr[user + 1])):
                row[cols[entry]] += weight * data[entry]


# --- sparse Gram matrices --------------------------------------------------------------------------------------------


def row_bounds(X: csr_array) -> Vector:
    """Upper bound on the entries of each row of XᵀX: all items of an item's users, or all there are."""
    lengths = np.diff(X.indptr)
    entries = np.bincount(X.indices, weights=np.repeat(lengths, lengths), minlength=X.shape[1])
    return np.asarray(np.minimum(entries, X.shape[1]), dtype=np.float64)


def largest_gram(X: csr_array) -> int:
    """Upper bound on the entries of XᵀX."""
    return int(row_bounds(X).sum())


def chunks(X: csr_array) -> list[tuple[int, int]]:
    """Ranges of items whose rows of XᵀX have at most CHUNK entries together, or single items."""
    limit = max(CHUNK // threads(), 1)
    edges, size = [0], 0.0
    for item, entries in enumerate(row_bounds(X)):
        if size + entries > limit and item > edges[-1]:
            edges.append(item)
            size = 0.0
        size += entries
    return list(pairwise([*edges, X.shape[1]]))


def over_pairs(
    X: csr_array,
    work: Callable[[csr_array, int], csr_array] = lambda rows, _: rows,
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> csr_array:
    """XᵀX, of which `work(rows, first)` may change or drop entries; it is called in several threads.

    Rows are sorted by column and include the diagonal; `progress` is called with the number of finished rows.
    """
    by_items, ranges = X.T.tocsr(), chunks(X)

    def chunk(number: int) -> csr_array:
        start, stop = ranges[number]
        rows = csr_array(by_items[start:stop] @ X)
        rows.sort_indices()
        return work(rows, start)

    finished = []
    for rows, (_, stop) in zip(each(chunk, len(ranges)), ranges, strict=True):
        finished.append(rows)
        progress(stop)
    whole = csr_array(vstack(finished, format="csr"))
    whole.has_sorted_indices = True
    return whole


def strongest(rows: csr_array, count: int, by: Values | None = None) -> csr_array:
    """At most `count` positive entries of each row: those with the largest values `by` (default: their own).

    Of equal ones the first stay.
    """
    values = rows.data if by is None else by
    chosen = values > 0
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
