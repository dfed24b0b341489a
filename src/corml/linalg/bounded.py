"""The k best items of a history without scoring every item: exact, by bounds.

Scores are y = h + right·p: h is sparse (the rows of H of a history), p is one vector (the sum of the rows of `left`).
By Cauchy–Schwarz right_j·p ≤ ‖right_j‖‖p‖, so with items in the order of ‖right_j‖ the search ends where this is
below the k-th best score so far. Before that, the coordinates behind the first few are bounded in the same way, which
spares most of the rest.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.compiled import njit
from corml.linalg.topk import any_above, pattern
from corml.parallel import over_rows

__all__ = ["Bounded"]

HEAD = 16  # coordinates multiplied before the rest is bounded: one line of the processor's cache
CHUNK = 256  # items bounded at a time
SLACK = np.float32(1e-5)  # of a bound: more than rounding can take from it

Array = NDArray[Any]


@dataclass(frozen=True)
class Bounded:
    """`left` and `right` (both items × rank), H and what each item adds to its own score, ready for many histories.

    Of each item, `head` has the first coordinates of `right`, `tails` the norm of the others and `norms` that of all.
    `order` are the items by `norms`, largest first; `ahead` has what they have in this order, with heads as columns, so
    that many are multiplied at a time.
    """

    H: csr_array
    left: Array
    right: Array
    own: Array
    head: Array
    tails: Array
    norms: Array
    order: Array
    ahead: tuple[Array, Array, Array]
    noise: np.float32

    @classmethod
    def of(cls, H: csr_array, left: Array, right: Array, own: Array, *, noise: float) -> Self:
        """Prepare the arrays; scores smaller than `noise` count as zero."""
        left, right = (np.ascontiguousarray(factor, dtype=np.float32) for factor in (left, right))
        width = min(HEAD, right.shape[1])
        head = np.zeros((len(right), HEAD), dtype=np.float32)
        head[:, :width] = right[:, :width]
        tails = np.linalg.norm(right[:, width:], axis=1).astype(np.float32)
        norms = np.linalg.norm(right, axis=1).astype(np.float32)
        order = np.argsort(-norms, kind="stable").astype(np.int32)
        ahead = np.ascontiguousarray(head[order].T), tails[order], norms[order]
        return cls(H, left, right, own.astype(np.float32), head, tails, norms, order, ahead, np.float32(noise))

    def top_k(
        self, X: csr_array, k: int, seen: csr_array | None, allowed: csr_array | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
        """Items and scores of each history, and how many items were multiplied in full.

        Equal scores stand in item order; −1 and −inf where a list is short. Rows of `seen` and `allowed` are sorted.
        """
        rows, n = X.shape
        columns = np.full((rows, k), -1, dtype=np.int64)
        scores = np.full((rows, k), -np.inf, dtype=np.float32)
        work = np.zeros(rows, dtype=np.int64)
        history, excluded, only = (X.indptr, X.indices, X.data), pattern(seen, rows), pattern(allowed, rows)
        index = self.head, self.tails, self.norms, self.order, *self.ahead
        entries = self.H.indptr, self.H.indices, self.H.data

        def ranked(a: int, b: int) -> None:
            marks, sums = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.float32)
            _ranked(
                history, excluded, only, allowed is not None, entries, self.left, self.right, self.own, index,
                self.noise, columns, scores, work, marks, sums, a, b,
            )  # fmt: skip

        over_rows(ranked, rows, smallest=16)
        return columns, scores, work


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _dot(a, b, start):  # type: ignore[no-untyped-def]
    total = np.float32(0)
    for c in range(start, len(a)):
        total += a[c] * b[c]
    return total


@njit(cache=True, nogil=True)
def _ranked(  # type: ignore[no-untyped-def]
    history, excluded, only, restricted, entries, left, right, own, index, noise, columns, scores, work, marks, sums,
    start, stop,
):  # fmt: skip
    ptr, items, weights = history
    seen_ptr, seen = excluded
    only_ptr, allowed = only
    h_ptr, h_cols, h_data = entries
    head, tails, norms, order, heads_ahead, tails_ahead, norms_ahead = index
    n, width = len(order), min(HEAD, right.shape[1])
    p, first, bounds = np.empty(left.shape[1], np.float32), np.zeros(HEAD, np.float32), np.empty(CHUNK, np.float32)
    touched, best = np.empty(n, np.int32), np.empty(columns.shape[1], np.int64)
    guess = np.empty(columns.shape[1], np.float32)
    for row in range(start, stop):
        stamp = 2 * (row - start) + 1  # touched: stamp; never to be listed: stamp + 1
        p[:] = 0
        count = 0
        for at in range(ptr[row], ptr[row + 1]):
            item, weight = items[at], weights[at]
            source = left[item]
            for c in range(len(p)):
                p[c] += weight * source[c]
            if marks[item] < stamp:
                marks[item] = stamp
                sums[item] = 0
                touched[count] = item
                count += 1
            sums[item] -= weight * own[item]
            for entry in range(h_ptr[item], h_ptr[item + 1]):
                column = h_cols[entry]
                if marks[column] < stamp:
                    marks[column] = stamp
                    sums[column] = 0
                    touched[count] = column
                    count += 1
                sums[column] += weight * h_data[entry]
        size, rest = np.sqrt(_dot(p, p, 0)), np.sqrt(_dot(p, p, width))
        first[:width] = p[:width]
        for at in range(seen_ptr[row], seen_ptr[row + 1]):
            marks[seen[at]] = stamp + 1
        if restricted:
            for at in range(only_ptr[row], only_ptr[row + 1]):
                item = allowed[at]
                if marks[item] <= stamp:
                    score = _dot(p, right[item], 0)
                    if marks[item] == stamp:
                        score += sums[item]
                    _enter(columns[row], scores[row], item, score, noise)
                    work[row] += 1
            continue
        # The items of H with the best first coordinates come first: a good k-th score spares most of what follows.
        best[:] = -1
        guess[:] = -np.inf
        for at in range(count):
            item = touched[at]
            if marks[item] == stamp:
                sums[item] += _dot(first, head[item], 0)
                _enter(best, guess, item, sums[item], np.float32(0))
        for at in range(len(best)):
            if best[at] >= 0:
                item = best[at]
                _enter(columns[row], scores[row], item, sums[item] + _dot(p, right[item], width), noise)
                marks[item] = stamp + 1
                work[row] += 1
        for at in range(count):
            item = touched[at]
            if marks[item] == stamp:
                slack = SLACK * (abs(sums[item]) + size * norms[item]) + noise
                if sums[item] + rest * tails[item] + slack >= scores[row, -1]:
                    _enter(columns[row], scores[row], item, sums[item] + _dot(p, right[item], width), noise)
                    work[row] += 1
        for low in range(0, n, CHUNK):
            if (1 + SLACK) * size * norms_ahead[low] + noise < scores[row, -1]:
                break
            high = min(low + CHUNK, n)
            _bound(first, heads_ahead, tails_ahead, norms_ahead, rest, SLACK * size, noise, low, high, bounds)
            if not any_above(bounds[: high - low], scores[row, -1]):
                continue
            for at in range(low, high):
                item = order[at]
                if bounds[at - low] >= scores[row, -1] and marks[item] < stamp:
                    _enter(columns[row], scores[row], item, _dot(p, right[item], 0), noise)
                    work[row] += 1


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def _bound(first, heads, tails, norms, rest, slack, noise, low, high, out):  # type: ignore[no-untyped-def]
    """What the scores of items low to high of the order cannot exceed, where H has nothing for them."""
    for at in range(low, high):
        out[at - low] = rest * tails[at] + slack * norms[at] + noise
    for c in range(len(first)):
        weight, line = first[c], heads[c, low:high]
        for at in range(len(line)):
            out[at] += weight * line[at]


@njit(cache=True, nogil=True)
def _enter(columns, scores, item, score, noise):  # type: ignore[no-untyped-def]
    """Into a list, if it is good enough: equal scores in item order, however they come."""
    if abs(score) < noise:
        score = np.float32(0)
    position = len(scores) - 1
    if not (score > scores[position] or (score == scores[position] and item < columns[position])):
        return
    while position > 0 and (
        scores[position - 1] < score or (scores[position - 1] == score and columns[position - 1] > item)
    ):
        scores[position], columns[position] = scores[position - 1], columns[position - 1]
        position -= 1
    scores[position], columns[position] = score, item
