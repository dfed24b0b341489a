"""Some of many texts, copied one after the other."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime.compiled import njit

__all__ = ["taken"]

Array = NDArray[Any]


def taken(data: Array, starts: Array, rows: Array) -> tuple[Array, Array]:
    """The bytes of the texts with these numbers, in this order, and where each begins."""
    begins = np.zeros(len(rows) + 1, dtype=np.int64)
    _measure(starts, rows, begins)
    copied = np.empty(int(begins[-1]), dtype=np.uint8)
    _copy(data, starts, rows, begins, copied)
    return copied, begins


@njit(cache=True, nogil=True)
def _measure(starts: Array, rows: Array, begins: Array) -> None:
    for at in range(len(rows)):
        begins[at + 1] = begins[at] + starts[rows[at] + 1] - starts[rows[at]]


@njit(cache=True, nogil=True)
def _copy(data: Array, starts: Array, rows: Array, begins: Array, copied: Array) -> None:
    for at in range(len(rows)):
        begin, target = starts[rows[at]], begins[at]
        for step in range(begins[at + 1] - target):
            copied[target + step] = data[begin + step]
