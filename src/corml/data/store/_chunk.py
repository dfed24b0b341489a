"""Rows of a sparse matrix on disk."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array


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
