"""Rᵀ Φ R times a block of vectors, through the users, without anything that has a row for each user."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.compiled import njit
from corml.linalg.sides import Rows
from corml.parallel import each, threads

__all__ = ["add_normal_product"]

Matrix = NDArray[np.float32]


def add_normal_product(
    users: Rows, by_user: NDArray[np.float32], block: Matrix, start: int, stop: int, parts: int
) -> Matrix:
    """Rᵀ diag(by_user) R block over the users from `start` to `stop`.

    They are divided into `parts` of about as many pairs, whose sums are added in order: the number of threads changes
    nothing. There is one sum for each thread.
    """
    ptr = users.indptr
    low, high = int(ptr[start]), int(ptr[stop])
    inner = np.searchsorted(ptr[start : stop + 1], low + (high - low) * np.arange(1, parts) / parts)
    edges = [start, *(start + inner).tolist(), stop]
    sums = np.empty((min(threads(), parts), *block.shape), dtype=np.float32)

    def work(part: int) -> Matrix:
        out: Matrix = sums[part % len(sums)]
        out[:] = 0
        _through(ptr, users.indices, users.values, by_user, block, out, edges[part], edges[part + 1])
        return out

    total = np.zeros_like(block)
    for part in each(work, parts, ahead=len(sums)):
        total += part
    return total


@njit(cache=True, nogil=True, fastmath={"contract"})
def _through(ptr, cols, data, by_user, block, out, start, stop) -> Any:  # type: ignore[no-untyped-def]
    width = block.shape[1]
    of_user = np.empty(width, np.float32)
    for user in range(start, stop):
        first, last = np.uint64(ptr[user]), np.uint64(ptr[user + 1])
        of_user[:] = 0
        for at in range(first, last):
            source = block[cols[at]]
            if data is None:
                for c in range(width):
                    of_user[c] += source[c]
            else:
                for c in range(width):
                    of_user[c] += data[at] * source[c]
        for c in range(width):
            of_user[c] *= by_user[user]
        for at in range(first, last):
            target = out[cols[at]]
            if data is None:
                for c in range(width):
                    target[c] += of_user[c]
            else:
                for c in range(width):
                    target[c] += data[at] * of_user[c]
