"""Projected conjugate gradients over pairs x ≥ 0: the passes over all pairs between two products with the matrix.

Each pass does all that can be done while a number is near the processor, and rows of pairs are shared out over threads.
Variables are scaled by the roots of the curvature, which is c_i + c_j for a pair: what is stored stays unscaled, and
the curvature enters where lengths and angles are measured.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime.compiled import njit
from corml._runtime.parallel import over_rows
from corml.linalg.support import Support

__all__ = ["Conjugate"]

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
