"""Cut the items into blocks that fit a dense solver: spectral bisection, as in the authors' program.

A block larger than ratio·n is cut by the sign of its second right singular vector, the smoothest way to part it in
two; and so on. Where signs do not part it (constant vectors, items without users) it is halved in the vector's order,
so every cut makes progress.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.method.spectral import singular_vectors

__all__ = ["partition"]

Items = NDArray[np.int64]


def partition(R: csr_array, ratio: float) -> list[Items]:
    """Blocks of item numbers, each sorted and no larger than ratio·n (at least one item)."""
    n = R.shape[1]
    largest = max(1, int(ratio * n))
    pending, done = [np.arange(n)], []
    while pending:
        block = pending.pop()
        if len(block) <= largest:
            done.append(block)
        else:
            pending += reversed(bisect(R, block))
    return done


def bisect(R: csr_array, block: Items) -> tuple[Items, Items]:
    """Two non-empty halves of a block of two items or more."""
    V = singular_vectors(R[:, block], 2)
    v = V[:, 1] if V.shape[1] > 1 else np.zeros(len(block))
    left = v >= 0
    if left.all() or not left.any():
        left = np.zeros(len(block), dtype=bool)
        left[np.argsort(v, kind="stable")[: len(block) // 2]] = True
    return block[left], block[~left]
