"""Which cells of a sparse pattern are filled, for many cells at once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

__all__ = ["filled"]

Whole = NDArray[np.integer[Any]]


def filled(pattern: csr_array, rows: Whole, columns: Whole) -> NDArray[np.bool_]:
    """Whether the pattern (its rows sorted) has an entry at each (row, column); negative columns have none."""
    height, width = pattern.shape
    first = np.arange(height, dtype=np.int64) * width  # cells are numbered row by row
    stored = np.append(np.repeat(first, np.diff(pattern.indptr)) + pattern.indices, -1)
    cells = np.where(columns >= 0, first[rows] + columns, -2)
    return np.asarray(stored[np.searchsorted(stored[:-1], cells)] == cells)
