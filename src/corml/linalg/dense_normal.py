"""NᵀN times a block of vectors, for a scaled N that is never made: row by row of R, without a number for each row.

    N = diag(a) R diag(b),    out += Nᵀ (N B)    or    out += Rᵀ (N B)

Every number is rounded as if N were there in single precision, and added in the order of the rows; so what comes out
are the bytes that two products with N would give.
"""

import numpy as np

from corml._runtime.compiled import inner, njit
from corml._runtime.parallel import each, over_rows, threads
from corml.linalg.products import entry_of
from corml.linalg.sparse import Array, Rows, Values, Vector

FEWEST = 4  # columns that a thread takes: with fewer it would do little but read where rows end
SHARES = 4  # of many rows, each added up for itself
MANY = 1 << 20  # entries, from which on rows are shared out


def normal_product(rows: Rows, a: Vector, b: Vector, block: Values, start: int, stop: int, *, twice: bool) -> Values:
    """What the rows from `start` to `stop` add to NᵀN B; to RᵀN B if not `twice`.

    Few rows are added up in their order, and threads share the columns of the block. Many rows are cut into shares,
    which threads add up at the same time: a row of the block, read anywhere for each entry, is then read once and not
    by every thread. The cuts follow from the data alone, and shares are added in their order: so the same bytes come
    out for any number of threads.
    """
    width = block.shape[1]
    cuts = _cuts(rows.indptr, start, stop)
    parts = max(1, min(threads() // (len(cuts) - 1), width // FEWEST))
    edges = [width * part // parts for part in range(parts + 1)]
    sums = [np.zeros_like(block) for _ in cuts[1:]]

    def work(number: int) -> None:
        share, part = divmod(number, parts)
        columns, span = (edges[part], edges[part + 1]), (cuts[share], cuts[share + 1])
        _through(rows, (a, b), block, sums[share], twice, columns, span)

    for _ in each(work, parts * len(sums)):
        pass
    for more in sums[1:]:
        sums[0] += more
    return sums[0]


def shares_of(entries: float) -> int:
    """Number of shares that rows with this number of entries are cut into."""
    return SHARES if entries >= MANY else 1


def _cuts(ptr: Array, start: int, stop: int) -> list[int]:
    """Where shares of rows begin and end, with about equal numbers of entries."""
    first, last = int(ptr[start]), int(ptr[stop])
    shares = shares_of(last - first)
    inner = np.searchsorted(ptr[start : stop + 1], [first + (last - first) * at // shares for at in range(1, shares)])
    return [start, *(start + int(at) for at in inner), stop]


def scaled_product(rows: Rows, a: Vector, b: Vector, block: Values) -> Values:
    """N B, a row for each row of R."""
    out = np.zeros((len(rows), block.shape[1]), dtype=np.float32)
    over_rows(lambda first, last: _forth(rows, (a, b), block, out, first, last), len(rows), smallest=4)
    return out


@inner()
def _weight(data, at, column, row_factor):  # type: ignore[no-untyped-def]
    """An entry of N, made in double precision as it would be stored."""
    return np.float32((np.float64(entry_of(data, at)) * column) * row_factor)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _through(rows, factors, block, out, twice, columns, span):  # type: ignore[no-untyped-def]
    (ptr, cols, data), (a, b), (low, high), (start, stop) = rows, factors, columns, span
    of_row = np.empty(high - low, np.float32)
    for row in range(start, stop):
        of_row[:] = 0
        for at in range(np.uint64(ptr[row]), np.uint64(ptr[row + 1])):
            weight = _weight(data, at, b[cols[at]], a[row])
            source = block[cols[at], low:high]
            for c in range(high - low):
                of_row[c] += weight * source[c]
        for at in range(np.uint64(ptr[row]), np.uint64(ptr[row + 1])):
            weight = _weight(data, at, b[cols[at]], a[row]) if twice else np.float32(entry_of(data, at))
            target = out[cols[at], low:high]
            for c in range(high - low):
                target[c] += weight * of_row[c]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _forth(rows, factors, block, out, start, stop):  # type: ignore[no-untyped-def]
    (ptr, cols, data), (a, b) = rows, factors
    for row in range(start, stop):
        target = out[row]
        for at in range(ptr[row], ptr[row + 1]):
            weight = _weight(data, at, b[cols[at]], a[row])
            source = block[cols[at]]
            for c in range(len(target)):
                target[c] += weight * source[c]
