"""Numbers for pairs of items: symmetric matrices that live on a fixed sparse pattern."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.compiled import njit

__all__ = ["Support", "unsigned"]


@dataclass(frozen=True)
class Support:
    """A symmetric hollow pattern in CSR form, both triangles; `twin` tells where (j, i) stands for each (i, j)."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    twin: NDArray[Any]

    @classmethod
    def of(cls, pattern: csr_array) -> Self:
        """The pattern of a symmetric matrix with sorted rows and an empty diagonal."""
        assert pattern.has_sorted_indices
        places = np.arange(pattern.nnz, dtype=np.int32 if pattern.nnz < 2**31 else np.int64)
        flipped = csr_array((places, pattern.indices, pattern.indptr), shape=pattern.shape).T.tocsr()
        return cls(pattern.indptr, pattern.indices, flipped.data)

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def items(self) -> int:
        """How many items the pairs are of."""
        return len(self.indptr) - 1

    @cached_property
    def rows(self) -> NDArray[np.int32]:
        """First item of each pair."""
        return np.repeat(np.arange(self.items, dtype=np.int32), np.diff(self.indptr))

    def sum_of(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """values_i + values_j for each pair."""
        narrow = values.astype(np.float32)
        made: NDArray[np.float32] = narrow[self.rows]
        made += narrow[self.indices]
        return made

    def product_of(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """values_i · values_j for each pair."""
        narrow = values.astype(np.float32)
        made: NDArray[np.float32] = narrow[self.rows]
        made *= narrow[self.indices]
        return made

    def matrix(self, values: NDArray[Any], *, zeros: bool = False) -> csr_array:
        """The matrix with these values; its zeros are left out unless asked for."""
        made = csr_array((values, self.indices, self.indptr), shape=(self.items, self.items), copy=not zeros)
        if not zeros:
            made.eliminate_zeros()
        made.has_sorted_indices = True
        return made

    def joined(self, first: NDArray[Any], second: NDArray[Any]) -> "Support":
        """These pairs and some more, each of those given once."""
        more = csr_array((np.ones(len(first), np.int8), (first, second)), shape=(self.items, self.items))
        pattern = (self.matrix(np.ones(len(self), np.int8), zeros=True) + more + more.T).tocsr()
        pattern.sort_indices()
        return Support.of(pattern)

    def values(self, matrix: csr_array) -> NDArray[np.float32]:
        """What a matrix with sorted rows holds on the pattern: zero where nothing; what lies outside is forgotten."""
        made = np.zeros(len(self), dtype=np.float32)
        _read(self.indptr, self.indices, matrix.indptr, matrix.indices, matrix.data, made)
        return made


@njit(cache=True, nogil=True)
def _read(ptr, cols, m_ptr, m_cols, m_data, out):  # type: ignore[no-untyped-def]
    for row in range(len(ptr) - 1):
        at, last = m_ptr[row], m_ptr[row + 1]
        for place in range(ptr[row], ptr[row + 1]):
            while at < last and m_cols[at] < cols[place]:
                at += 1
            if at < last and m_cols[at] == cols[place]:
                out[place] = m_data[at]


def unsigned(indices: NDArray[Any]) -> NDArray[Any]:
    """Indices as unsigned numbers, not copied: compiled loops then need not ask whether one counts from the end."""
    return indices.view(np.dtype(f"u{indices.dtype.itemsize}"))
