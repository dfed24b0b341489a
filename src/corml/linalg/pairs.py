"""Numbers for pairs of items: symmetric matrices that live on a fixed sparse pattern.

Projected conjugate gradients over pairs x ≥ 0: the passes over all pairs between two products with the matrix.

Each pass does all that can be done while a number is near the processor, and rows of pairs are shared out over threads.
Variables are scaled by the roots of the curvature, which is c_i + c_j for a pair: what is stored stays unscaled, and
the curvature enters where lengths and angles are measured.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.compiled import njit
from corml._runtime.parallel import over_rows
from corml.linalg.sparse import unsigned


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


FIRST = 0.5  # length of the first step, before the line search

Values = NDArray[np.float32]


class Conjugate:
    """A point, its gradient, and the direction of the last step, all of them updated in place.

    The next direction is the gradient, scaled, with as much of the last direction as makes the two conjugate
    (Hestenes and Stiefel's rule); pairs at a bound that would cross it stay there. It ends where the bounds end it,
    so that a line search along it stays feasible.
    """

    def __init__(
        self,
        support: Support,
        curvature: NDArray[Any],
        x: Values,
        gradient: Values,
        direction: Values | None = None,
        numbers: tuple[float, float] = (FIRST, 0.0),
    ) -> None:
        self.x, self.gradient = x, gradient
        self.direction = np.zeros_like(x) if direction is None else direction
        self._pairs = *support.arrays, curvature.astype(np.float32)
        self._sums = np.zeros((support.items, 3))
        self.length, self._share_of_last = numbers

    @property
    def _state(self) -> tuple[Values, Values, Values]:
        return self.x, self.gradient, self.direction

    @property
    def numbers(self) -> tuple[float, float]:
        """What the next direction depends on beside the arrays: how long it is, and how much it has of the last."""
        return self.length, self._share_of_last

    def turn(self) -> float:
        """Make the next direction; returns how steep it goes down, −⟨gradient, direction⟩."""
        descent = self._turn(self._share_of_last)
        if descent <= 0 and self._share_of_last > 0:
            descent = self._turn(0.0)  # rounding or the bounds made it lead up: the gradient alone does not
        return descent

    def move(self, bent: Values, share: float) -> float:
        """Go a share of the direction, whose product is `bent`; returns the norm of the projected gradient there."""

        def work(a: int, b: int) -> None:
            _move(self._pairs, self._state, bent, np.float32(share), self._sums, a, b)

        over_rows(work, len(self._sums))
        square, along, bend = self._sums.sum(axis=0)
        self._share_of_last = max(0.0, float(along / bend)) if bend > 0 else 0.0
        return float(np.sqrt(square))

    def _turn(self, share_of_last: float) -> float:
        def work(a: int, b: int) -> None:
            _turn(self._pairs, self._state, np.float32(share_of_last), np.float32(self.length), self._sums, a, b)

        over_rows(work, len(self._sums))
        return -float(self._sums[:, 0].sum())


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _turn(pairs, state, share_of_last, length, sums, start, stop):  # type: ignore[no-untyped-def]
    (ptr, cols, curvature), (x, gradient, direction), zero = pairs, state, np.float32(0)
    for row in range(start, stop):
        mine, slope = curvature[row], zero
        for pair in range(np.uint64(ptr[row]), np.uint64(ptr[row + 1])):
            here, g = x[pair], gradient[pair]
            free = here > zero or not g >= zero  # what is not a number is not hidden
            way = share_of_last * direction[pair] - g / (mine + curvature[cols[pair]])
            goal = max(here + length * way, zero) - here
            goal = goal if free else zero
            direction[pair] = goal
            slope += g * goal
        sums[row, 0] = slope


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _move(pairs, state, bent, share, sums, start, stop):  # type: ignore[no-untyped-def]
    """Sums of each row: of the projected gradient squared, of it times `bent`, and of the direction times `bent`."""
    (ptr, cols, curvature), (x, gradient, direction), zero = pairs, state, np.float32(0)
    for row in range(start, stop):
        mine, square, along, bend = curvature[row], zero, zero, zero
        for pair in range(np.uint64(ptr[row]), np.uint64(ptr[row + 1])):
            way, y = direction[pair], bent[pair]
            here = max(x[pair] + share * way, zero)
            g = gradient[pair] + share * y
            x[pair], gradient[pair] = here, g
            free = here > zero or not g >= zero
            g = g if free else zero
            way = way if free else zero
            steep = g / (mine + curvature[cols[pair]])
            square += g * steep
            along += steep * y
            bend += way * y
        sums[row, 0], sums[row, 1], sums[row, 2] = square, along, bend
