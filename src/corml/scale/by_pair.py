"""Rows in the order of their pairs: by user and then item, and those of one pair as they were."""

import numpy as np
from numpy.typing import NDArray

from corml.compiled import njit

__all__ = ["by_pair"]

Codes = NDArray[np.int32]
Longs = NDArray[np.int64]

SHORT = 24  # rows of a user that are put in order one by one


def by_pair(user: Codes, item: Codes, users: int) -> Longs:
    """The order: users are counted, and the few rows of each sorted, which is faster than sorting all of them."""
    order, free = np.empty(len(user), dtype=np.int64), np.zeros(users + 1, dtype=np.int64)
    np.cumsum(np.bincount(user, minlength=users), out=free[1:])
    _order(user, item, free, order)
    return order


@njit(cache=True, nogil=True)
def _order(user: Codes, item: Codes, free: Longs, order: Longs) -> None:
    for row in range(len(user)):
        order[free[user[row]]] = row
        free[user[row]] += 1
    start = 0
    for one in range(len(free) - 1):
        end = free[one]  # which began at the end of the user before
        if end - start > SHORT:
            rows = order[start:end].copy()
            order[start:end] = rows[np.argsort(item[rows], kind="mergesort")]
        else:
            for at in range(start + 1, end):
                row, to = order[at], at
                while to > start and item[order[to - 1]] > item[row]:
                    order[to] = order[to - 1]
                    to -= 1
                order[to] = row
        start = end
