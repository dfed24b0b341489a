"""How many users two items share: rows of XᵀX, made a chunk at a time, and the strongest entries of rows."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from corml.compiled import njit
from corml.linalg.scaling import scaled
from corml.parallel import each, threads

__all__ = ["chunks", "largest_gram", "over_pairs", "strongest"]

CHUNK = 1 << 22  # entries of rows that are made at a time, by all threads together


def largest_gram(X: csr_array) -> int:
    """Most entries that XᵀX can have: an item meets no more than its users met, nor more than there are."""
    return int(_longest(X).sum())


def chunks(X: csr_array) -> list[tuple[int, int]]:
    """Ranges of items whose rows of XᵀX have at most CHUNK entries together, or single items."""
    most = max(CHUNK // threads(), 1)
    edges, size = [0], 0.0
    for item, entries in enumerate(_longest(X)):
        if size + entries > most and item > edges[-1]:
            edges.append(item)
            size = 0.0
        size += entries
    return list(pairwise([*edges, X.shape[1]]))


def over_pairs(
    X: csr_array,
    work: Callable[[csr_array, int], csr_array] = lambda rows, _: rows,
    *,
    weights: NDArray[np.float64] | None = None,
    told: Callable[[int], None] = lambda _: None,
) -> csr_array:
    """XᵀX as `work(rows, first)` leaves its rows, which come in chunks and from several threads.

    Rows have the diagonal and are sorted by column. `weights` says how much each user counts; `told` hears how many
    rows are done.
    """
    weighted = X if weights is None else scaled(X, rows=weights).astype(X.dtype)
    turned, ranges = weighted.T.tocsr(), chunks(X)

    def made(number: int) -> csr_array:
        start, stop = ranges[number]
        rows = csr_array(turned[start:stop] @ X)
        rows.sort_indices()
        return work(rows, start)

    parts = []
    for part, (_, stop) in zip(each(made, len(ranges)), ranges, strict=True):
        parts.append(part)
        told(stop)
    whole = csr_array(vstack(parts, format="csr"))
    whole.has_sorted_indices = True
    return whole


def strongest(rows: csr_array, most: int | None, by: NDArray[np.float32] | None = None) -> csr_array:
    """The entries with the largest values `by` (their own, if not given) of each row, none that is not positive.

    Where several are equal, the first stay.
    """
    values = rows.data if by is None else by
    chosen = values > 0
    if most is not None:
        _unmark_weak(rows.indptr, values, most, chosen)
    kept = np.concatenate([[0], np.cumsum(chosen)])[rows.indptr].astype(rows.indptr.dtype)
    made = csr_array((rows.data[chosen], rows.indices[chosen], kept), shape=rows.shape)
    made.has_sorted_indices = rows.has_sorted_indices
    return made


@njit(cache=True, nogil=True)
def _unmark_weak(ptr, values, most, chosen):  # type: ignore[no-untyped-def]
    for row in range(len(ptr) - 1):
        start, stop = ptr[row], ptr[row + 1]
        if stop - start <= most:
            continue
        least = np.partition(values[start:stop], stop - start - most)[stop - start - most]
        ties = most - (values[start:stop] > least).sum()
        for at in range(start, stop):
            equal = values[at] == least
            chosen[at] = chosen[at] and (values[at] > least or (equal and ties > 0))
            ties -= equal


def _longest(X: csr_array) -> NDArray[np.float64]:
    """Most entries each row of XᵀX can have."""
    met: NDArray[np.float64] = X.T @ np.diff(X.indptr).astype(np.float64)
    return np.asarray(np.minimum(met, X.shape[1]))
