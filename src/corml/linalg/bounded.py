"""The k best items of a history without scoring every item: exact, by bounds.

Scores are y = h + right·p: h is sparse (the rows of H of a history), p is one vector (the sum of the rows of `left`).
By Cauchy–Schwarz right_j·p ≤ ‖right_j‖‖p‖. So items are sorted by ‖right_j‖, and processed in chunks:

1. the k items with the largest h are scored in full: what is below the last of them cannot enter the list;
2. a chunk is passed over if its largest h + ‖right_j‖‖p‖ is below that; in the others the first few coordinates are
   multiplied, and the k items that are then ahead are scored in full;
3. the remaining coordinates of what is left are bounded in the same way, which spares most of the rest.

Chunks are read from end to end, because many adjacent numbers cost as much as a scattered one.
"""

import threading
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.compiled import inner, njit
from corml._runtime.parallel import over_rows
from corml.linalg.sparse import Array, Values
from corml.linalg.topk import any_above, pattern

HEAD = 16  # coordinates multiplied before the rest is bounded
CHUNK = 128  # items bounded at a time
SLACK = np.float32(1e-5)  # of a bound: more than rounding can take from it
MORE, LESS, NOTHING = np.float32(1) + SLACK, np.float32(1) - SLACK, np.float32(-np.inf)
TOUCHED, BEGUN = np.uint8(1), np.uint8(2)  # what happened to a chunk: it has entries of h; its first coordinates

Arrays = tuple[Array, ...]
Limits = tuple[Arrays, Arrays | None]  # patterns of seen and of allowed items


@dataclass(frozen=True)
class Bounded:
    """`left` and `right` (both items × rank), H and what each item adds to its own score, ready for many histories.

    `order` are the items by the norm of their row of `right`, largest first, and `place` their positions in it.
    Arrays for bounds are in this order: the first coordinates (`heads`, one row each), the norms of the others
    (`tails`) and of all (`norms`).
    """

    H: csr_array
    left: Array
    right: Array
    own: Array
    order: Array
    place: Array
    heads: Array
    tails: Array
    norms: Array
    noise: np.float32
    _spaces: threading.local = field(default_factory=threading.local, init=False, repr=False)

    @classmethod
    def of(cls, H: csr_array, left: Array, right: Array, own: Array, *, noise: float) -> Self:
        """Prepare the arrays; scores smaller than `noise` count as zero."""
        left, right = (np.ascontiguousarray(factor, dtype=np.float32) for factor in (left, right))
        norms = np.linalg.norm(right, axis=1).astype(np.float32)
        order = np.argsort(-norms, kind="stable").astype(np.int32)
        place = np.empty_like(order)
        place[order] = np.arange(len(order), dtype=np.int32)
        width = min(HEAD, right.shape[1])
        heads = np.zeros((HEAD, len(right)), dtype=np.float32)
        heads[:width] = right[order, :width].T
        tails = np.linalg.norm(right[:, width:], axis=1).astype(np.float32)[order]
        own = own.astype(np.float32)
        return cls(H, left, right, own, order, place, heads, tails, norms[order], np.float32(noise))

    def top_k(
        self, X: csr_array, k: int, seen: csr_array | None, allowed: csr_array | None
    ) -> tuple[NDArray[np.int64], Values, NDArray[np.int64]]:
        """Items and scores of each history, and how many items were multiplied in full.

        Equal scores are ordered by item; −1 and −inf fill short lists. Rows of `seen` and `allowed` are sorted;
        a single row holds for all histories.
        """
        rows, out = X.shape[0], _lists(X.shape[0], k)
        history = X.indptr, X.indices, X.data
        limits = pattern(seen, rows), None if allowed is None else pattern(allowed, rows)
        over_rows(lambda a, b: self._rank(history, limits, self._space(k), out, a, b), rows, smallest=16)
        return out

    def one(self, history: Array, k: int, seen: Array, allowed: Array | None) -> tuple[Array, Array]:
        """The list of one history of distinct item numbers: for a service, where building matrices would dominate."""
        out = _lists(1, k)
        given = *_row(history), np.ones(len(history), dtype=np.float32)
        limits = _row(seen), None if allowed is None else _row(allowed)
        self._rank(given, limits, self._kept_space(k), out, 0, 1)
        return out[0][0], out[1][0]

    def _rank(self, history: Arrays, limits: Limits, space: tuple[Arrays, Arrays], out: Arrays, a: int, b: int) -> None:
        """Write the lists of some rows, by one thread."""
        factors = self.H.indptr, self.H.indices, self.H.data, self.left, self.own, self.place
        model = factors, (self.right, self.order), (self.heads, self.tails, self.norms), self.noise
        seen, only = limits
        if only is not None:
            _among(history, seen, only, model, space[0], out, (a, b))
        else:
            _ranked(history, seen, model, space, out, a, b)

    def _kept_space(self, k: int) -> tuple[Arrays, Arrays]:
        """The space of this thread: every search leaves it as it was, so only its list depends on k."""
        if not hasattr(self._spaces, "arrays"):
            self._spaces.arrays = self._space(1)
        sums, (near, bounds, _, _) = self._spaces.arrays
        return sums, (near, bounds, np.empty(k, np.int64), np.empty(k, np.float32))

    def _space(self, k: int) -> tuple[Arrays, Arrays]:
        """Scratch arrays: p, h and the chunks' states; h with the first coordinates, bounds, and a list of k."""
        n, rank = self.right.shape
        p, h, near, bounds = (np.zeros(size, dtype=np.float32) for size in (max(rank, HEAD), n, n, CHUNK))
        states = np.zeros(-(-n // CHUNK), dtype=np.uint8)
        return (p, h, states), (near, bounds, np.empty(k, np.int64), np.empty(k, np.float32))


def _lists(rows: int, k: int) -> tuple[NDArray[np.int64], Values, NDArray[np.int64]]:
    """Empty lists of items and scores, and how many items were multiplied in full."""
    columns, scores = np.full((rows, k), -1, dtype=np.int64), np.full((rows, k), -np.inf, dtype=np.float32)
    return columns, scores, np.zeros(rows, dtype=np.int64)


def _row(items: Array) -> tuple[Array, Array]:
    """One row of items as a pattern of one row."""
    return np.array([0, len(items)], dtype=np.int32), items.astype(np.int32)


# --- kernels: `model` is (factors of the sums, items in full, index for bounds, noise) --------------------------------


@njit(cache=True, nogil=True)
def _ranked(history, seen, model, space, out, start, stop):  # type: ignore[no-untyped-def]
    """Lists of rows start to stop; what each does to h and the states is undone before the next."""
    columns, scores, work = out
    for row in range(start, stop):
        _add_history(history, model[0], space[0], row)
        _exclude(seen, model[0], space[0], row)
        work[row] = _search(model, space, columns[row], scores[row])
        _clear(space[0])


@njit(cache=True, nogil=True)
def _among(history, seen, only, model, sums, out, span):  # type: ignore[no-untyped-def]
    """The same where only some items may be listed: all of these are scored."""
    (only_ptr, allowed), place, (columns, scores, work) = only, model[0][5], out
    for row in range(span[0], span[1]):
        _add_history(history, model[0], sums, row)
        _exclude(seen, model[0], sums, row)
        line = min(row, len(only_ptr) - 2)
        for at in range(only_ptr[line], only_ptr[line + 1]):
            here = np.int64(place[allowed[at]])
            if sums[1][here] > NOTHING:
                _score(here, model, sums, columns[row], scores[row])
                work[row] += 1
        _clear(sums)


@inner(fastmath={"contract"})
def _add_history(history, factors, sums, row):  # type: ignore[no-untyped-def]
    """Sum the rows of `left` into p and those of H into h."""
    (ptr, items, weights), (h_ptr, h_cols, h_data, left, own, place), (p, h, states) = history, factors, sums
    for c in range(len(p)):
        p[c] = 0
    for at in range(ptr[row], ptr[row + 1]):
        item, weight = items[at], weights[at]
        source = left[item]
        for c in range(len(source)):
            p[c] += weight * source[c]
        here = np.uint64(place[item])
        h[here] -= weight * own[item]
        states[here // np.uint64(CHUNK)] = TOUCHED
        for entry in range(np.uint64(h_ptr[item]), np.uint64(h_ptr[item + 1])):  # unsigned: no test for a sign
            there = np.uint64(place[np.uint64(h_cols[entry])])
            h[there] += weight * h_data[entry]
            states[there // np.uint64(CHUNK)] = TOUCHED


@inner(inline="always")
def _exclude(excluded, factors, sums, row):  # type: ignore[no-untyped-def]
    (seen_ptr, seen), (_, _, _, _, _, place), (_, h, states) = excluded, factors, sums
    line = min(row, len(seen_ptr) - 2)
    for at in range(seen_ptr[line], seen_ptr[line + 1]):
        here = place[seen[at]]
        h[here] = NOTHING
        states[here // CHUNK] = TOUCHED


@inner(inline="always")
def _clear(sums):  # type: ignore[no-untyped-def]
    _, h, states = sums
    for chunk in range(len(states)):
        if states[chunk]:
            states[chunk] = 0
            h[chunk * CHUNK : (chunk + 1) * CHUNK] = 0


@inner(inline="always")
def _search(model, space, columns, scores):  # type: ignore[no-untyped-def]
    """Score the items that may be among the best; returns how many."""
    (_, items, (heads, tails, norms), noise), (sums, (near, bounds, best, guess)) = model, space
    p, h, states = sums
    n, rank, last = len(h), items[0].shape[1], len(scores) - 1
    size, rest = np.sqrt(_dot(p, p, 0, rank)), np.sqrt(_dot(p, p, HEAD, rank))
    best[:], guess[:] = -1, 0
    for chunk in range(len(states)):
        if states[chunk]:
            _collect(h, chunk * CHUNK, min((chunk + 1) * CHUNK, n), best, guess)
    scored = _score_all(best, h, model, sums, columns, scores)
    best[:], guess[:] = -1, NOTHING
    for chunk in range(len(states)):
        low, high = chunk * CHUNK, min((chunk + 1) * CHUNK, n)
        needed = scores[last] - MORE * size * norms[low] - noise
        if needed > 0 and not (states[chunk] and any_above(h[low:high], needed)):
            continue
        states[chunk] = BEGUN
        _add_heads(p, heads, h, low, high, near)
        _collect(near, low, high, best, guess)
    scored += _score_all(best, near, model, sums, columns, scores)
    for chunk in range(len(states)):
        if states[chunk] == BEGUN:
            low, high = chunk * CHUNK, min((chunk + 1) * CHUNK, n)
            _bound(near, (tails, norms), (rest, SLACK * size, noise), low, high, bounds)
            if any_above(bounds[: high - low], scores[last]):
                for at in range(low, high):
                    if bounds[at - low] >= scores[last] and near[at] > NOTHING:
                        _score(at, model, sums, columns, scores)
                        scored += 1
    return scored


@inner()
def _collect(values, low, high, best, guess):  # type: ignore[no-untyped-def]
    """The positions with the largest values so far."""
    last = len(guess) - 1
    if any_above(values[low:high], guess[last]):
        for at in range(low, high):
            if values[at] > guess[last]:
                _enter(best, guess, at, values[at], np.float32(0))


@inner()
def _score_all(best, values, model, sums, columns, scores):  # type: ignore[no-untyped-def]
    """Score the positions collected, and take them out of the values; returns how many."""
    scored = 0
    for at in range(len(best)):
        if best[at] >= 0:
            _score(best[at], model, sums, columns, scores)
            values[best[at]] = NOTHING
            scored += 1
    return scored


@inner()
def _score(here, model, sums, columns, scores):  # type: ignore[no-untyped-def]
    """The one way to a score, so that items that are alike have the same."""
    (_, (right, order), _, noise), (p, h, _) = model, sums
    item = np.int64(order[here])
    _enter(columns, scores, item, h[here] + _dot(p, right[item], 0, right.shape[1]), noise)


@inner(fastmath={"contract", "reassoc", "nsz"})
def _dot(a, b, start, stop):  # type: ignore[no-untyped-def]
    total = np.float32(0)
    for c in range(np.uint64(start), np.uint64(stop)):
        total += a[c] * b[c]
    return total


@inner(fastmath={"contract", "nsz"})
def _add_heads(p, heads, h, low, high, near):  # type: ignore[no-untyped-def]
    """Partial scores of items low to high of the order: h and the first coordinates."""
    for at in range(np.uint64(low), np.uint64(high)):
        near[at] = h[at]
    for c in range(0, HEAD, 4):  # four at a time: half the reading and writing of the sums
        a, b, d, e = p[c], p[c + 1], p[c + 2], p[c + 3]
        for at in range(np.uint64(low), np.uint64(high)):
            near[at] += a * heads[c, at] + b * heads[c + 1, at] + d * heads[c + 2, at] + e * heads[c + 3, at]


@inner(fastmath={"contract", "nsz"})
def _bound(near, lengths, sizes, low, high, out):  # type: ignore[no-untyped-def]
    """What the scores of items low to high of the order cannot exceed."""
    (tails, norms), (rest, slack, noise) = lengths, sizes
    for at in range(np.uint64(low), np.uint64(high)):
        grown = near[at] * (MORE if near[at] > 0 else LESS)
        out[at - np.uint64(low)] = grown + rest * tails[at] + slack * (norms[at] + norms[at]) + noise


@inner()
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
