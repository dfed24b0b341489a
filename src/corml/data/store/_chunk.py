"""Rows of a sparse matrix on disk, and whether they are sound: compiled code believes what it reads."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.persistence.container import is_ascending, is_within

SLICE = 1 << 20  # numbers looked at together


@dataclass(frozen=True)
class Chunk:
    """Some consecutive rows of a sparse matrix, mapped from disk: row i of it is row `first` + i of the whole."""

    first: int
    width: int
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float32] | None
    times: NDArray[np.float64] | None

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def matrix(self) -> csr_array:
        """The rows as a matrix; with ones where there are no weights."""
        values = np.ones(len(self.indices), dtype=np.float32) if self.weights is None else self.weights
        matrix = csr_array((values, self.indices, self.indptr), shape=(len(self), self.width))
        matrix.has_sorted_indices = matrix.has_canonical_format = True
        return matrix

    def is_sound(self) -> bool:
        """Whether the arrays are rows of a matrix: no column is beyond it, and all weights are finite and above 0."""
        indptr, indices = self.indptr, self.indices
        sound = indptr.dtype == np.int64 and indices.dtype == np.int32 and indptr.ndim == indices.ndim == 1
        if not sound or not len(indptr) or indptr[0] != 0 or indptr[-1] != len(indices):
            return False
        if (indptr[1:] < indptr[:-1]).any() or not is_within(indices, self.width) or not is_ascending(indptr, indices):
            return False
        values = (self.weights, np.float32), (self.times, np.float64)
        if any(array is not None and (array.dtype != kind or array.shape != indices.shape) for array, kind in values):
            return False
        weights = np.zeros(0) if self.weights is None else self.weights
        slices = (weights[at : at + SLICE] for at in range(0, len(weights), SLICE))
        return all(bool((np.isfinite(some) & (some > 0)).all()) for some in slices)
