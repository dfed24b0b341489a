"""The k best columns of each row, fed block by block, so that all scores never exist at once; and their NDCG."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.compiled import inner, njit
from corml._runtime.parallel import over_rows
from corml.linalg.sparse import Array, Values, Vector

CHUNK = 64  # columns that are compared with the last of a list at once


@dataclass
class TopK:
    """Running lists of the best columns: equal scores in column order, −1 where a list is short.

    A NaN score of a column that may be listed comes first and stays, so that it cannot be missed.

    `seen` marks columns never to be listed; `allowed`, where given, the only ones that may be. Of either, a matrix of
    one row holds for all rows.
    """

    rows: int
    k: int
    seen: csr_array | None = None
    allowed: csr_array | None = None
    columns: NDArray[np.int64] = field(init=False)
    scores: Values = field(init=False)

    def __post_init__(self) -> None:
        self.columns = np.full((self.rows, self.k), -1, dtype=np.int64)
        self.scores = np.full((self.rows, self.k), -np.inf, dtype=np.float32)

    def add(self, block: Values, first: int) -> None:
        """Take in the scores of columns first, first + 1, …; columns must come in ascending order."""
        seen, allowed = pattern(self.seen, self.rows), pattern(self.allowed, self.rows)
        restricted, lists = self.allowed is not None, (self.columns, self.scores)

        def work(a: int, b: int) -> None:
            _update(block, first, seen, allowed, restricted, lists, (a, b))

        over_rows(work, self.rows, smallest=8)


def pattern(X: csr_array | None, rows: int) -> tuple[Array, Array]:
    """Where the columns of each row are; none without a matrix. A matrix of one row is meant for all of them."""
    if X is None:
        return np.zeros(rows + 1, dtype=np.int32), np.zeros(0, dtype=np.int32)
    assert X.has_sorted_indices
    assert X.shape[0] in (1, rows)
    return X.indptr, X.indices


def normalised_gain(hits: NDArray[np.bool_], relevant: Array, k: int) -> Vector:
    """Discounted gain of the first k of each list, divided by that of the best order; 0 for a user without targets."""
    discount = 1 / np.log2(np.arange(2, k + 2))
    best = np.concatenate([[1.0], np.cumsum(discount)])  # a user without targets gets 0 / 1
    hits = hits[:, :k]
    gain = np.where(hits, discount[: hits.shape[1]], 0.0).sum(axis=1)  # no BLAS: the same bits on any machine
    return np.asarray(gain / best[np.minimum(k, relevant)], dtype=np.float64)


@njit(cache=True, nogil=True)
def _update(block, first, excluded, only, restricted, lists, span):  # type: ignore[no-untyped-def]
    (seen_ptr, seen), (allowed_ptr, allowed), (columns, scores), (start, stop) = excluded, only, lists, span
    width, last = block.shape[1], columns.shape[1] - 1
    for row in range(start, stop):
        line = min(row, len(seen_ptr) - 2)
        end = np.int64(seen_ptr[line + 1])
        at = first_from(seen, np.int64(seen_ptr[line]), end, first)
        if restricted:
            line = min(row, len(allowed_ptr) - 2)
            stop_at = np.int64(allowed_ptr[line + 1])
            step = first_from(allowed, np.int64(allowed_ptr[line]), stop_at, first)
            while step < stop_at and allowed[step] < first + width:
                local = allowed[step] - first
                if not block[row, local] <= scores[row, last]:  # most are: they cost no call
                    at = _consider(block[row], (local, local + 1), first, seen, at, end, columns[row], scores[row])
                step += 1
            continue
        for a in range(0, width, CHUNK):
            b = min(a + CHUNK, width)
            if any_above(block[row, a:b], scores[row, last]):
                at = _consider(block[row], (a, b), first, seen, at, end, columns[row], scores[row])


@inner()
def first_from(values, low, high, least):  # type: ignore[no-untyped-def]
    """The position of the first sorted value that is not below `least`; NumPy's takes half a second to compile."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


@inner()
def any_above(values, threshold):  # type: ignore[no-untyped-def]
    """Whether any is, or is as large, or is NaN; the loop never stops early: so it takes many numbers at a time."""
    above = False
    for at in range(len(values)):
        above |= not values[at] < threshold
    return above


@inner()
def _consider(values, span, first, excluded, at, end, columns, scores):  # type: ignore[no-untyped-def]
    """Enter a range of columns into the list; returns the position in `excluded` that was reached."""
    last = len(scores) - 1
    for local in range(span[0], span[1]):
        if values[local] <= scores[last]:
            continue
        column = first + local
        while at < end and excluded[at] < column:
            at += 1
        if at == end or excluded[at] != column:
            _insert(columns, scores, column, values[local])
    return at


@inner()
def _insert(columns, scores, column, score):  # type: ignore[no-untyped-def]
    if np.isnan(scores[0]):
        return
    position = 0 if np.isnan(score) else len(scores) - 1
    while position > 0 and scores[position - 1] < score:
        scores[position] = scores[position - 1]
        columns[position] = columns[position - 1]
        position -= 1
    scores[position] = score
    columns[position] = column
