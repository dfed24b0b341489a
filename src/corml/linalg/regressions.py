"""One regression for each item on others: ridge on a few candidates, and non-negative elastic nets.

The ridge is for catalogues whose Gram matrix does not fit in memory: for each item that of its candidates is added up
through their users. The nets are solved by coordinate descent on a sparse Gram matrix, one for each column:

    minimise  ½ wᵀ(G + l2·I)w − g_jᵀw + l1·Σw     subject to   w ≥ 0,  w_j = 0

The negative gradient s = g_j − Gw − l2·w − l1 of all candidates is kept up to date, so visiting a coordinate costs
nothing unless it moves. A row of G is gathered onto the candidates when its item first moves, and kept. Passes over the
active set alternate with passes over all candidates, until a full pass moves nothing: then every gradient is known to
be within the tolerance.

Candidates have the positions 1, 2, …; position 0 is for all other items: what is read or written there has no meaning.
A test in every step would cost more than all the rest, because its outcome cannot be predicted.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs
from scipy.sparse import csc_array, csr_array

from corml._runtime.compiled import njit
from corml._runtime.parallel import each, threads
from corml.errors import NumericalError
from corml.linalg.sparse import Values, column_squares, unsigned, values_unless_ones

BAND = 256  # items a thread takes at a time


def local_ridge(X: csr_array, candidates: csr_array, l2: float, *, progress: Callable[[int], None]) -> csr_array:
    """Row j: the w on the candidates of j with the smallest ‖x_j − X w‖² + l2·‖w‖².

    Row j of `candidates` names the columns and holds X_Cᵀ x_j; `progress` is called with the number of rows
    that are done.
    """
    by_items, squares = X.T.tocsr(), column_squares(X).astype(np.float32)
    rows, values = (by_items.indptr, by_items.indices), values_unless_ones(by_items)
    weights, (ptr, chosen) = candidates.data.copy(), (candidates.indptr, candidates.indices)
    (posv,) = get_lapack_funcs(("posv",), (weights,))

    def work(number: int) -> int:
        newest = np.full(X.shape[0], -1, dtype=np.int64)
        start, stop = number * BAND, min((number + 1) * BAND, candidates.shape[0])
        for row in range(start, stop):
            here = slice(ptr[row], ptr[row + 1])
            A = _gram(rows, values, chosen[here], squares, np.float32(l2), newest)
            weights[here] = _solved(posv, A, weights[here])
        return int(stop)

    for done in each(work, -(-candidates.shape[0] // BAND)):
        progress(done)
    W = csr_array((weights, chosen, ptr), shape=candidates.shape)
    W.has_sorted_indices = candidates.has_sorted_indices
    return W


def _solved(posv: Callable[..., Any], A: Values, b: Values) -> Values:
    """A⁻¹b by Cholesky, of which only the lower triangle of A is read."""
    if len(b) == 0:
        return b
    _, x, info = posv(A.T, b, lower=0, overwrite_a=1)  # LAPACK wants columns together: the upper one of the transpose
    if info:
        raise NumericalError("The candidates of an item are not independent in single precision: raise `l2`.")
    return np.asarray(x)


@njit(cache=True, nogil=True)
def _gram(rows, data, items, squares, l2, newest):  # type: ignore[no-untyped-def]
    """Lower triangle of X_Cᵀ X_C + l2·I for some items.

    Each user has a linked list of the items seen so far, the newest first: a new item shares the user with each of
    them. `newest` is −1 for all users before and after.
    """
    (i_ptr, i_users), total = rows, 0
    for item in items:
        total += i_ptr[item + 1] - i_ptr[item]
    A = np.zeros((len(items), len(items)), np.float32)
    seen, before = np.empty(total, np.int32), np.empty(total, np.int64)
    value, entry = np.empty(0 if data is None else total, np.float32), 0
    for position in range(len(items)):
        item, line = items[position], A[position]
        for at in range(i_ptr[item], i_ptr[item + 1]):
            user = i_users[at]
            older = newest[user]
            seen[entry], before[entry], newest[user] = position, older, entry
            if data is not None:
                value[entry] = data[at]
            entry += 1
            while older >= 0:
                if data is None:
                    line[seen[older]] += 1
                else:
                    line[seen[older]] += data[at] * value[older]
                older = before[older]
        line[position] = squares[item] + l2
    for item in items:
        for at in range(i_ptr[item], i_ptr[item + 1]):
            newest[i_users[at]] = -1
    return A


PARTS = 32  # ranges of columns for each thread
CACHE = 1 << 24  # numbers: rows of G that are kept while one column is solved
FULL = 0.25  # share of co-occurring pairs among all pairs, above which rows are read faster from a dense G
A_CANDIDATE = 100  # bytes: what a column keeps of each, beside rows of G


def solver_bytes(n: int, pairs: int, longest: int, max_candidates: int | None) -> int:
    """Peak of `nonnegative_nets`, where G has at most `pairs` entries, and `longest` in a row.

    That is G, a dense copy if it is full, and the weights, twice; and what each thread keeps for one column: rows of G,
    on the candidates, half as many again where there must be room for more.
    """
    most = n if max_candidates is None else max_candidates
    size = min(longest, most + 1)
    column = 6 * min(size * size, CACHE) + A_CANDIDATE * longest
    full = 4 * n * n if pairs > FULL * n * n else 0
    return 8 * pairs + full + 16 * min(pairs, most * n) + threads() * column


def nonnegative_nets(
    G: csr_array,
    *,
    l1: float,
    l2: float,
    warm_start: csc_array,
    max_candidates: int | None,
    tol: float,
    max_steps: int,
    progress: Callable[[int], None],
) -> tuple[csc_array, int]:
    """All columns, and how many of them stopped at `max_steps` before they converged.

    Gradients may be off by `tol` times the largest gradient at zero. `max_candidates` limits a column to the candidates
    that by themselves lower the objective most, and `progress` is called with the number of columns that are done.
    """
    n = G.shape[1]
    parts = min(n, PARTS * threads())
    edges = [n * part // parts for part in range(parts + 1)]
    dense = G.toarray() if G.nnz > FULL * n * n else np.empty((0, 0), dtype=np.float32)
    gram = G.indptr, unsigned(G.indices), G.data, dense, G.diagonal().astype(np.float64)
    W = warm_start
    initial = W.indptr.astype(np.int64), W.indices.astype(np.int32), W.data.astype(np.float32)
    limits = float(tol), max_steps, n if max_candidates is None else max_candidates, CACHE

    def work(part: int) -> Any:
        return _columns(gram, initial, float(l1), float(l2), limits, edges[part], edges[part + 1])

    counts, rows, values, unfinished = [], [], [], 0
    for part, solved in enumerate(each(work, parts)):
        counts.append(solved[0])
        rows.append(solved[1])
        values.append(solved[2])
        unfinished += int(solved[3])
        progress(edges[part + 1])
    ends = np.concatenate([[0], *counts]).cumsum()
    return csc_array((np.concatenate(values), np.concatenate(rows), ends), shape=(n, n)), unfinished


@njit(cache=True, nogil=True)
def _columns(gram, initial, l1, l2, limits, first, last):  # type: ignore[no-untyped-def]
    """Solve columns first to last: how many weights each has, their rows and values, and how many did not converge."""
    ptr, diagonal, (w_ptr, w_rows, w_data) = gram[0], gram[4], initial
    counts = np.zeros(last - first, np.int64)
    rows, values = np.empty(64 * (last - first), np.int32), np.empty(64 * (last - first), np.float32)
    position_of = np.zeros(len(ptr) - 1, np.uint32)
    used = unfinished = 0
    for column in range(first, last):
        items, gradients = _candidates(gram, l1, l2, limits[2], column)
        size = len(items)
        if size == 1:
            continue
        weights, curvatures = np.zeros(size), np.empty(size)
        for position in range(1, size):
            position_of[items[position]] = position
            curvatures[position] = diagonal[items[position]] + l2
        for at in range(w_ptr[column], w_ptr[column + 1]):
            weights[position_of[w_rows[at]]] = w_data[at]
        unfinished += not _descend(gram, items, gradients, weights, curvatures, position_of, l2, limits)
        for position in range(1, size):
            position_of[items[position]] = 0
        nonzero = 1 + np.flatnonzero(weights[1:] > 0)
        if used + len(nonzero) > len(rows):
            rows, values = _longer(rows, 2 * (used + len(nonzero))), _longer(values, 2 * (used + len(nonzero)))
        rows[used : used + len(nonzero)] = items[nonzero]
        values[used : used + len(nonzero)] = weights[nonzero]
        used += len(nonzero)
        counts[column - first] = len(nonzero)
    return counts, rows[:used].copy(), values[:used].copy(), unfinished


@njit(cache=True, nogil=True)
def _longer(array, length):  # type: ignore[no-untyped-def]
    longer = np.empty((length, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


@njit(cache=True, nogil=True)
def _candidates(gram, l1, l2, max_candidates, column):  # type: ignore[no-untyped-def]
    """Items with a positive s at zero, from position 1 on, in the order of what each gains by itself, and their s."""
    ptr, cols, data, _, diagonal = gram
    low, high = ptr[column], ptr[column + 1]
    items, gradients, gains = np.empty(high - low, np.int64), np.empty(high - low), np.empty(high - low)
    size = 0
    for at in range(low, high):
        gradient = data[at] - l1
        if gradient > 0 and cols[at] != column:
            items[size], gradients[size] = cols[at], gradient
            gains[size] = gradient * gradient / (diagonal[cols[at]] + l2)
            size += 1
    order = np.argsort(-gains[:size], kind="mergesort")[:max_candidates]
    chosen, chosen_gradients = np.zeros(len(order) + 1, np.uint64), np.zeros(len(order) + 1)
    chosen[1:], chosen_gradients[1:] = items[order], gradients[order]
    return chosen, chosen_gradients


@njit(cache=True, nogil=True, fastmath={"contract"})
def _descend(gram, items, gradients, weights, curvatures, position_of, l2, limits):  # type: ignore[no-untyped-def]
    """Move the weights to the optimum; whether they converged."""
    size, (tol, max_steps, _, room) = len(items), limits
    allowed = tol * gradients[1:].max()
    slot, cached = np.zeros(size, np.uint64), 0
    cache = np.empty((min(size, 32), size), np.float32)
    full_pass = starting = True
    for _ in range(max_steps + 1):
        moved = False
        for position in range(1, size):
            off, before = gradients[position], weights[position]
            if starting:  # the first pass only applies the warm start to the gradients
                step = before
            elif abs(off) <= allowed or (before == 0 and (off < 0 or not full_pass)):
                continue
            else:
                weights[position] = max(before + off / curvatures[position], 0.0)
                step = weights[position] - before
            if step == 0:
                continue
            moved = True
            if slot[position] == 0 and (cached + 1) * size <= room:
                if cached == len(cache):
                    cache = _longer(cache, min(2 * cached, size))
                _gather(gram, items, position, position_of, cache[cached])
                cached += 1
                slot[position] = cached
            gradients[position] -= step * l2
            if slot[position] > 0:
                line = slot[position] - np.uint64(1)
                for other in range(size):
                    gradients[other] -= step * cache[line, other]
            else:
                _subtract_row(gram, items[position], position_of, step, gradients)
        if starting:
            starting = False
            continue
        if full_pass and not moved:
            return True
        full_pass = not moved
    return False


@njit(cache=True, nogil=True)
def _gather(gram, items, position, position_of, row):  # type: ignore[no-untyped-def]
    """An item's row of G on the candidates."""
    ptr, cols, data, dense, _ = gram
    item = items[position]
    if len(dense) > 0:
        for other in range(len(items)):
            row[other] = dense[item, items[other]]
        return
    row[:] = 0
    for at in range(ptr[item], ptr[item + np.uint64(1)]):
        row[position_of[cols[at]]] = data[at]


@njit(cache=True, nogil=True)
def _subtract_row(gram, item, position_of, step, gradients):  # type: ignore[no-untyped-def]
    """What a step of one weight does to all gradients, read from G itself."""
    ptr, cols, data, _, _ = gram
    for at in range(ptr[item], ptr[item + np.uint64(1)]):
        gradients[position_of[cols[at]]] -= step * data[at]
