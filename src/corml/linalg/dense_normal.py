"""NᵀN times a block of vectors, for a scaled N that is never made: row by row of R, without a number for each row.

    N = diag(a) R diag(b),    out += Nᵀ (N B)    or    out += Rᵀ (N B)

Every number is rounded as if N were there in single precision, and added in the order of the rows; so what comes out
are the bytes that two products with N would give.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.compiled import inner, njit
from corml.linalg.sides import Rows
from corml.parallel import each, over_rows, threads

__all__ = ["normal_product", "scaled_product"]

FEWEST = 4  # columns that a thread takes: with fewer it would do little but read where rows end

Matrix = NDArray[np.float32]
Vector = NDArray[np.float64]


def normal_product(rows: Rows, a: Vector, b: Vector, block: Matrix, start: int, stop: int, *, twice: bool) -> Matrix:
    """What the rows from `start` to `stop` add to NᵀN B; to RᵀN B if not `twice`.

    Threads share the columns of the block: each adds up its own, in the order of the rows.
    """
    out, width = np.zeros_like(block), block.shape[1]
    parts = max(1, min(threads(), width // FEWEST))
    edges = [width * part // parts for part in range(parts + 1)]

    def work(part: int) -> None:
        _through(*rows, a, b, block, out, twice, edges[part], edges[part + 1], start, stop)

    for _ in each(work, parts):
        pass
    return out


def scaled_product(rows: Rows, a: Vector, b: Vector, block: Matrix) -> Matrix:
    """N B, a row for each row of R."""
    out = np.zeros((len(rows), block.shape[1]), dtype=np.float32)
    over_rows(lambda first, last: _forth(*rows, a, b, block, out, first, last), len(rows), smallest=4)
    return out


@inner()
def _weight(data, at, column, row_factor):  # type: ignore[no-untyped-def]
    """An entry of N, made in double precision as it would be stored."""
    if data is None:
        return np.float32(column * row_factor)
    return np.float32((np.float64(data[at]) * column) * row_factor)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _through(ptr, cols, data, a, b, block, out, twice, low, high, start, stop) -> Any:  # type: ignore[no-untyped-def]
    of_row = np.empty(high - low, np.float32)
    for row in range(start, stop):
        of_row[:] = 0
        for at in range(np.uint64(ptr[row]), np.uint64(ptr[row + 1])):
            weight = _weight(data, at, b[cols[at]], a[row])
            source = block[cols[at], low:high]
            for c in range(high - low):
                of_row[c] += weight * source[c]
        for at in range(np.uint64(ptr[row]), np.uint64(ptr[row + 1])):
            if twice:
                weight = _weight(data, at, b[cols[at]], a[row])
            elif data is None:
                weight = np.float32(1)
            else:
                weight = np.float32(data[at])
            target = out[cols[at], low:high]
            for c in range(high - low):
                target[c] += weight * of_row[c]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _forth(ptr, cols, data, a, b, block, out, start, stop) -> Any:  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        target = out[row]
        for at in range(ptr[row], ptr[row + 1]):
            weight = _weight(data, at, b[cols[at]], a[row])
            source = block[cols[at]]
            for c in range(len(target)):
                target[c] += weight * source[c]
