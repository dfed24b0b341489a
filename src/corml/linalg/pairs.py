"""Numbers for pairs of items: symmetric matrices on a fixed sparse pattern, and conjugate gradients over them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.compiled import njit
from corml._runtime.parallel import over_rows
from corml.linalg.sparse import Array, Values, unsigned

FIRST = 0.5  # length of the first step of conjugate gradients, before the line search


@dataclass(frozen=True)
class Support:
    """A symmetric hollow pattern in CSR form, both triangles; `twin` is the position of (j, i) for each (i, j)."""

    indptr: Array
    indices: Array
    twin: Array

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
        """Number of items."""
        return len(self.indptr) - 1

    @property
    def arrays(self) -> tuple[Array, Array]:
        """The pattern as an argument of kernels."""
        return self.indptr, unsigned(self.indices)

    def filled(
        self, write: Callable[[Values, int, int], None], start: int = 0, stop: int | None = None, *, smallest: int = 64
    ) -> Values:
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

    def sum_of(self, values: Array) -> Values:
        """values_i + values_j for each pair."""
        narrow = values.astype(np.float32)
        sums: Values = narrow[self.rows]
        sums += narrow[self.indices]
        return sums

    def product_of(self, values: Array) -> Values:
        """values_i · values_j for each pair."""
        narrow = values.astype(np.float32)
        products: Values = narrow[self.rows]
        products *= narrow[self.indices]
        return products

    def both_ways(self, one_way: Values, scale: float, ridge: Array, x: Values) -> Values:
        """scale·(Y + Yᵀ) + diag(ridge)·X + X·diag(ridge) for Y = `one_way`, in one pass."""
        out, twin, factors = np.empty_like(x), unsigned(self.twin), (np.float32(scale), ridge.astype(np.float32))
        over_rows(lambda a, b: _both_ways(self.arrays, twin, one_way, factors, x, out, a, b), self.items)
        return out

    def mirror(self, values: Array) -> None:
        """Make values symmetric, in place: those above the diagonal count for both, to the last bit."""
        over_rows(lambda a, b: _mirror(self.arrays, unsigned(self.twin), values, a, b), self.items)

    def matrix(self, values: Array, *, zeros: bool = False) -> csr_array:
        """The matrix with these values; its zeros are stored only with `zeros`."""
        matrix = csr_array((values, self.indices, self.indptr), shape=(self.items, self.items), copy=not zeros)
        if not zeros:
            matrix.eliminate_zeros()
        matrix.has_sorted_indices = True
        return matrix

    def joined(self, first: Array, second: Array) -> "Support":
        """These pairs and new ones, each given once."""
        more = csr_array((np.ones(len(first), np.int8), (first, second)), shape=(self.items, self.items))
        pattern = (self.matrix(np.ones(len(self), np.int8), zeros=True) + more + more.T).tocsr()
        pattern.sort_indices()
        return Support.of(pattern)

    def values(self, matrix: csr_array) -> Values:
        """The entries of a matrix with sorted rows on the pattern, zero where it has none; others are ignored."""
        values = np.zeros(len(self), dtype=np.float32)
        _read((self.indptr, self.indices), (matrix.indptr, matrix.indices, matrix.data), values)
        return values


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def _both_ways(pairs, twin, one_way, factors, x, out, start, stop):  # type: ignore[no-untyped-def]
    (ptr, cols), (scale, ridge) = pairs, factors
    for row in range(start, stop):
        for pair in range(np.uint64(ptr[row]), np.uint64(ptr[row + 1])):
            out[pair] = scale * (one_way[pair] + one_way[twin[pair]]) + (ridge[row] + ridge[cols[pair]]) * x[pair]


@njit(cache=True, nogil=True)
def _mirror(pairs, twin, values, start, stop):  # type: ignore[no-untyped-def]
    ptr, cols = pairs
    for row in range(start, stop):
        for pair in range(np.uint64(ptr[row]), np.uint64(ptr[row + 1])):
            if cols[pair] < row:
                values[pair] = values[twin[pair]]


@njit(cache=True, nogil=True)
def _read(pairs, matrix, out):  # type: ignore[no-untyped-def]
    (ptr, cols), (m_ptr, m_cols, m_data) = pairs, matrix
    for row in range(len(ptr) - 1):
        at, last = m_ptr[row], m_ptr[row + 1]
        for entry in range(ptr[row], ptr[row + 1]):
            while at < last and m_cols[at] < cols[entry]:
                at += 1
            if at < last and m_cols[at] == cols[entry]:
                out[entry] = m_data[at]


# --- projected conjugate gradients over pairs x ≥ 0 ------------------------------------------------------------------


class Conjugate:
    """A point, its gradient, and the direction of the last step, all of them updated in place.

    The next direction is the gradient, scaled, with as much of the last direction as makes the two conjugate
    (Hestenes and Stiefel's rule); pairs at a bound that would cross it stay there. It ends where the bounds end it,
    so that a line search along it stays feasible. Variables are scaled by the roots of the curvature, which is
    c_i + c_j for a pair: what is stored stays unscaled, and the curvature enters where lengths and angles are measured.
    """

    def __init__(
        self,
        support: Support,
        curvature: Array,
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
        """The length of the next direction, and its share of the last one."""
        return self.length, self._share_of_last

    def turn(self) -> float:
        """Make the next direction; returns how steep it goes down, −⟨gradient, direction⟩."""
        descent = self._turn(self._share_of_last)
        if descent <= 0 and self._share_of_last > 0:
            descent = self._turn(0.0)  # rounding or the bounds made it lead up: the gradient alone does not
        return descent

    def move(self, bent: Values, share: float) -> float:
        """Go a share of the direction, whose product is `bent`; returns the norm of the projected gradient there."""
        length = np.float32(share)
        over_rows(lambda a, b: _move(self._pairs, self._state, bent, length, self._sums, a, b), len(self._sums))
        square, along, bend = self._sums.sum(axis=0)
        self._share_of_last = max(0.0, float(along / bend)) if bend > 0 else 0.0
        return float(np.sqrt(square))

    def _turn(self, share_of_last: float) -> float:
        share, length = np.float32(share_of_last), np.float32(self.length)
        over_rows(lambda a, b: _turn(self._pairs, self._state, share, length, self._sums, a, b), len(self._sums))
        return -float(self._sums[:, 0].sum())


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _turn(pairs, state, share_of_last, length, sums, start, stop):  # type: ignore[no-untyped-def]
    (ptr, cols, curvature), (x, gradient, direction), zero = pairs, state, np.float32(0)
    for row in range(start, stop):
        mine, slope = curvature[row], zero
        for pair in range(np.uint64(ptr[row]), np.uint64(ptr[row + 1])):
            here, g = x[pair], gradient[pair]
            free = here > zero or not g >= zero  # NaN is not hidden
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
