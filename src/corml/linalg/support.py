"""Numbers for pairs of items: symmetric matrices that live on a fixed sparse pattern."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.compiled import njit
from corml._runtime.parallel import over_rows

__all__ = ["Support", "unsigned"]


@dataclass(frozen=True)
class Support:
    """A symmetric hollow pattern in CSR form, both triangles; `twin` is the position of (j, i) for each (i, j)."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    twin: NDArray[Any]

    @classmethod
    def of(cls, pattern: csr_array) -> Self:
        """The pattern of a symmetric matrix with sorted rows and an empty diagonal."""
        assert pattern.has_sorted_indices
        entries = np.arange(pattern.nnz, dtype=np.int32 if pattern.nnz < 2**31 else np.int64)
        flipped = csr_array((entries, pattern.indices, pattern.indptr), shape=pattern.shape).T.tocsr()
        return cls(pattern.indptr, pattern.indices, flipped.data)

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def items(self) -> int:
        """How many items the pairs are of."""
        return len(self.indptr) - 1

    @property
    def arrays(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The pattern as kernels take it."""
        return self.indptr, unsigned(self.indices)

    def filled(
        self,
        write: Callable[[NDArray[np.float32], int, int], None],
        start: int = 0,
        stop: int | None = None,
        *,
        smallest: int = 64,
    ) -> NDArray[np.float32]:
        """A number for each pair of some rows; `write(out, a, b)` writes those of rows a to b, in threads."""
        stop = self.items if stop is None else stop
        first = int(self.indptr[start])
        values = np.empty(int(self.indptr[stop]) - first, dtype=np.float32)

        def work(a: int, b: int) -> None:
            low, high = self.indptr[start + a] - first, self.indptr[start + b] - first
            write(values[low:high], start + a, start + b)

        over_rows(work, stop - start, smallest=smallest)
        return values

    @cached_property
    def rows(self) -> NDArray[np.int32]:
        """First item of each pair."""
        return np.repeat(np.arange(self.items, dtype=np.int32), np.diff(self.indptr))

    def sum_of(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """values_i + values_j for each pair."""
        narrow = values.astype(np.float32)
        sums: NDArray[np.float32] = narrow[self.rows]
        sums += narrow[self.indices]
        return sums

    def product_of(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """values_i · values_j for each pair."""
        narrow = values.astype(np.float32)
        products: NDArray[np.float32] = narrow[self.rows]
        products *= narrow[self.indices]
        return products

    def both_ways(
        self, parts: NDArray[np.float32], scale: float, ridge: NDArray[Any], x: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """scale·(Y + Yᵀ) + diag(ridge)·X + X·diag(ridge) for the sum Y of some arrays, in one pass."""
        out, narrow = np.empty_like(x), ridge.astype(np.float32)

        def work(a: int, b: int) -> None:
            _both_ways(*self.arrays, unsigned(self.twin), parts, np.float32(scale), narrow, x, out, a, b)

        over_rows(work, self.items)
        return out

    def mirror(self, values: NDArray[Any]) -> None:
        """Make values symmetric, in place: what stands above the diagonal counts for both, to the last bit."""

        def work(a: int, b: int) -> None:
            _mirror(*self.arrays, unsigned(self.twin), values, a, b)

        over_rows(work, self.items)

    def matrix(self, values: NDArray[Any], *, zeros: bool = False) -> csr_array:
        """The matrix with these values; its zeros are not stored unless `zeros`."""
        matrix = csr_array((values, self.indices, self.indptr), shape=(self.items, self.items), copy=not zeros)
        if not zeros:
            matrix.eliminate_zeros()
        matrix.has_sorted_indices = True
        return matrix

    def joined(self, first: NDArray[Any], second: NDArray[Any]) -> "Support":
        """These pairs and some more, each of those given once."""
        more = csr_array((np.ones(len(first), np.int8), (first, second)), shape=(self.items, self.items))
        pattern = (self.matrix(np.ones(len(self), np.int8), zeros=True) + more + more.T).tocsr()
        pattern.sort_indices()
        return Support.of(pattern)

    def values(self, matrix: csr_array) -> NDArray[np.float32]:
        """The entries of a matrix with sorted rows on the pattern, zero where it has none; others are ignored."""
        values = np.zeros(len(self), dtype=np.float32)
        _read(self.indptr, self.indices, matrix.indptr, matrix.indices, matrix.data, values)
        return values


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def _both_ways(ptr, cols, twin, parts, scale, ridge, x, out, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        for pair in range(np.uint64(ptr[row]), np.uint64(ptr[row + 1])):
            total = np.float32(0)
            for part in range(len(parts)):
                total += parts[part, pair] + parts[part, twin[pair]]
            out[pair] = scale * total + (ridge[row] + ridge[cols[pair]]) * x[pair]


@njit(cache=True, nogil=True)
def _mirror(ptr, cols, twin, values, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        for pair in range(np.uint64(ptr[row]), np.uint64(ptr[row + 1])):
            if cols[pair] < row:
                values[pair] = values[twin[pair]]


@njit(cache=True, nogil=True)
def _read(ptr, cols, m_ptr, m_cols, m_data, out):  # type: ignore[no-untyped-def]
    for row in range(len(ptr) - 1):
        at, last = m_ptr[row], m_ptr[row + 1]
        for entry in range(ptr[row], ptr[row + 1]):
            while at < last and m_cols[at] < cols[entry]:
                at += 1
            if at < last and m_cols[at] == cols[entry]:
                out[entry] = m_data[at]


def unsigned(indices: NDArray[Any]) -> NDArray[Any]:
    """Indices as unsigned numbers, not copied: compiled loops then need not ask whether one counts from the end."""
    return indices.view(np.dtype(f"u{indices.dtype.itemsize}"))
