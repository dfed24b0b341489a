"""Lists out of ranked candidates: items far from each other, and at most a number of each category.

    next = argmax_i  (1 − δ) · relevance_i  −  δ · max_{j in the list} closeness_ij / κ        over the pool

    relevance    (s_i − s_last) / (s_first − s_last): 1 for the best of the pool, 0 for its last
    κ            the largest closeness, in size, of two of the pool's first k: of the list that would be without δ

The pool are the first candidates of a list; what comes after them fills, in its order, what the pool leaves open. This
is maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998). The largest closeness of a candidate can only grow
with the list, so its value can only fall: only the first candidate is compared with the latest items of the
list. The answer is that of comparing all with all.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.compiled import inner, njit
from corml._runtime.parallel import over_rows
from corml.linalg.closeness import Closeness, close
from corml.linalg.sparse import Array, Values

NOWHERE = Closeness()
Categories = tuple[csr_array, NDArray[np.int64]]  # a pattern of items × values, and how many of each a list may have


def choose(
    columns: Array,
    scores: Values,
    blocked: NDArray[np.bool_],
    k: int,
    *,
    pool: int = 0,
    diversity: float = 0.0,
    closeness: Closeness = NOWHERE,
    categories: Categories | None = None,
) -> NDArray[np.int32]:
    """Places (0, 1, …) of the k items chosen of each row's candidates, in the order of the list; −1 where it is short.

    Candidates are sorted, best first, −1 after the last; `blocked` ones are ignored.
    """
    chosen = np.full((len(columns), k), -1, dtype=np.int32)
    values, caps = categories or (csr_array((1, 1), dtype=np.float32), np.zeros(0, dtype=np.int64))
    candidates = columns, scores, blocked
    rules = float(diversity), closeness.arrays(), (values.indptr, values.indices, caps)
    width = min(pool, columns.shape[1]) if diversity > 0 else 0

    def work(a: int, b: int) -> None:
        space = np.zeros(width, np.int64), np.zeros(width), np.zeros(width), np.zeros(width, np.int64)
        _choose(candidates, rules, space, chosen, a, b)

    over_rows(work, len(columns), smallest=16)
    return chosen


@njit(cache=True, nogil=True)
def _choose(candidates, rules, space, chosen, start, stop):  # type: ignore[no-untyped-def]
    """Lists of rows start to stop. `places` are those of the pool; −1 takes a candidate out of it."""
    (columns, scores, blocked), (diversity, closeness, limits) = candidates, rules
    (cat_ptr, cats, caps), (places, relevance, near, compared) = limits, space
    counts, k = np.zeros(len(caps), np.int64), chosen.shape[1]
    for row in range(start, stop):
        items = columns[row]
        size, after = _pool(items, blocked[row], places)
        _relevance(scores[row], places, size, relevance)
        scale = _scale(items, places, min(k, size), closeness)
        for at in range(size):
            near[at], compared[at] = -np.inf, 0
        count = 0
        while count < k:
            first = _first(places, size, relevance, near, compared, diversity)
            if first < 0:
                break
            if compared[first] < count:  # its value may be lower than it seems
                value = close(items[places[first]], items[chosen[row, compared[first]]], closeness)
                near[first] = max(near[first], value / scale)
                compared[first] += 1
                continue
            if _fits(items[places[first]], limits, counts):
                chosen[row, count] = places[first]
                count += 1
            places[first] = -1
        count = _fill(items, blocked[row], after, limits, counts, chosen[row], count)
        for at in range(count if len(caps) else 0):
            item = items[chosen[row, at]]
            for cell in range(cat_ptr[item], cat_ptr[item + 1]):
                counts[cats[cell]] = 0


@inner()
def _scale(items, places, count, closeness):  # type: ignore[no-untyped-def]
    """The largest closeness, in size, of two of the first `count`; 1 if there is none."""
    largest = 0.0
    for one in range(count):
        for other in range(one):
            largest = max(largest, abs(close(items[places[one]], items[places[other]], closeness)))
    return largest if largest > 0 else 1.0


@inner()
def _pool(columns, blocked, places):  # type: ignore[no-untyped-def]
    """Enter the first candidates into the pool; gives how many they are, and where the others begin."""
    size, at = 0, 0
    while at < len(columns) and columns[at] >= 0 and size < len(places):
        if not blocked[at]:
            places[size] = at
            size += 1
        at += 1
    return size, at


@inner()
def _relevance(scores, places, size, relevance):  # type: ignore[no-untyped-def]
    if size == 0:
        return
    low = np.float64(scores[places[size - 1]])
    span = np.float64(scores[places[0]]) - low
    for at in range(size):
        relevance[at] = (np.float64(scores[places[at]]) - low) / span if span > 0 else 0.0


@inner()
def _first(places, size, relevance, near, compared, diversity):  # type: ignore[no-untyped-def]
    """The candidate of the highest value, the earliest of equals; one not compared with any is ahead of the others.

    With an empty list none has been compared, and relevance alone counts.
    """
    best, highest = -1, -np.inf
    for at in range(size):
        if places[at] < 0:
            continue
        if compared[at] == 0:
            return at  # in the order of relevance
        value = (1 - diversity) * relevance[at] - diversity * near[at]
        if best < 0 or value > highest:
            best, highest = at, value
    return best


@inner()
def _fits(item, limits, counts):  # type: ignore[no-untyped-def]
    """Whether a list may have the item too; if so, it is counted in each of its categories."""
    cat_ptr, cats, caps = limits
    if len(caps) == 0:
        return True
    for cell in range(cat_ptr[item], cat_ptr[item + 1]):
        if counts[cats[cell]] >= caps[cats[cell]]:
            return False
    for cell in range(cat_ptr[item], cat_ptr[item + 1]):
        counts[cats[cell]] += 1
    return True


@inner()
def _fill(columns, blocked, at, limits, counts, chosen, count):  # type: ignore[no-untyped-def]
    """Take what is left in its order."""
    while count < len(chosen) and at < len(columns) and columns[at] >= 0:
        if not blocked[at] and _fits(columns[at], limits, counts):
            chosen[count] = at
            count += 1
        at += 1
    return count
