"""Numbers at given ranks among more numbers than fit into memory, by counting their leading digits."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["at_ranks", "ordered", "value_of"]

HELD = 1 << 20  # numbers: as many are simply held
DIGIT = 16  # bits counted in one walk

Numbers = NDArray[np.uint64]
Walk = Callable[[], Iterable[Numbers]]


def at_ranks(walk: Walk, ranks: Sequence[int]) -> list[int]:
    """The numbers at these ranks, from 0, of all that a walk gives; each call of it is one walk through them."""
    held = _few(walk())
    if held is not None:
        return [int(number) for number in np.partition(held, list(ranks))[list(ranks)]]
    found, left = [0] * len(ranks), list(ranks)
    for shift in range(64 - DIGIT, -1, -DIGIT):
        counts = _counted(walk(), found, shift)
        for which, before in enumerate(np.cumsum(counts, axis=1)):
            digit = int(np.searchsorted(before, left[which], side="right"))
            left[which] -= int(before[digit] - counts[which, digit])
            found[which] = found[which] << DIGIT | digit
    return found


def ordered(values: NDArray[np.float64]) -> Numbers:
    """Whole numbers in the order of the values, none of which is NaN."""
    bits = (values + 0.0).view(np.uint64)  # so that −0 is 0
    top = np.uint64(1 << 63)
    return np.where(bits & top, ~bits, bits | top)


def value_of(number: int) -> float:
    """The value that `ordered` made a number of."""
    top = 1 << 63
    bits = number ^ top if number & top else number ^ (2**64 - 1)
    return float(np.array([bits], dtype=np.uint64).view(np.float64)[0])


def _few(some: Iterable[Numbers]) -> Numbers | None:
    """All numbers, unless they are too many."""
    held: list[Numbers] = []
    for numbers in some:
        held.append(numbers)
        if sum(map(len, held)) > HELD:
            return None
    return np.concatenate([np.zeros(0, dtype=np.uint64), *held])


def _counted(some: Iterable[Numbers], found: Sequence[int], shift: int) -> NDArray[Any]:
    """How often each next digit occurs among the numbers that begin as what was found."""
    counts = np.zeros((len(found), 1 << DIGIT), dtype=np.int64)
    for numbers in some:
        for which, prefix in enumerate(found):
            digits = numbers >> np.uint64(shift)
            digits = digits[digits >> np.uint64(DIGIT) == np.uint64(prefix)] & np.uint64((1 << DIGIT) - 1)
            counts[which] += np.bincount(digits.astype(np.int64), minlength=1 << DIGIT)
    return counts
