"""Weights and moments of pairs: how they are kept, and what a model makes of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from corml.errors import DataError

__all__ = [
    "Kinds",
    "Negative",
    "are_too_many",
    "distinct",
    "known_weights",
    "latest_of",
    "moments",
    "of_mean_square_one",
    "only_positive",
    "pushed_down",
    "summed",
    "with_values",
]

Floats = NDArray[np.float64]

MOST_KINDS = 10_000  # of events; each name is an object of Python
LONGEST_NAMES = 1 << 20  # bytes of all of them


def are_too_many(kinds: int, size: int) -> bool:
    """Whether so many names, of so many bytes together, are no kinds of events."""
    return kinds > MOST_KINDS or size > LONGEST_NAMES


@dataclass(frozen=True, eq=False)
class Kinds:
    """The kind of each pair, such as "buy": a number into some names."""

    names: tuple[str, ...]
    codes: NDArray[np.int32]

    def where(self, keep: NDArray[Any]) -> "Kinds":
        """Of some pairs (a mask, or positions)."""
        return Kinds(self.names, self.codes[keep])

    def words(self) -> list[str]:
        """The name of each."""
        return [self.names[code] for code in self.codes]

    @classmethod
    def joined(cls, parts: "Sequence[Kinds | None]", counts: Sequence[int]) -> "Kinds | None":
        """The kinds of so many pairs each, one part after the other; "" where a part does not know them."""
        if all(part is None for part in parts):
            return None
        every = [
            cls(("",), np.zeros(count, dtype=np.int32)) if part is None else part
            for part, count in zip(parts, counts, strict=True)
        ]
        place = {name: code for code, name in enumerate(dict.fromkeys(name for part in every for name in part.names))}
        codes = [np.array([place[name] for name in part.names], dtype=np.int32)[part.codes] for part in every]
        return cls(tuple(place), np.concatenate(codes))


@dataclass(frozen=True, eq=False)
class Negative:
    """What users said no to: how strongly, as a users × items matrix, and when and by which kind, where it is known."""

    matrix: csr_array
    times: Floats | None = None
    kinds: Kinds | None = None


def with_values(pattern: csr_array, values: NDArray[np.float32] | None) -> csr_array:
    """A matrix of the same pattern with other values; itself where there are none."""
    if values is None:
        return pattern
    matrix = csr_array((values, pattern.indices, pattern.indptr), shape=pattern.shape)
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


def of_mean_square_one(matrix: csr_array) -> csr_array:
    """Values whose mean square is 1, so that ridges and scales mean what they mean for a binary matrix."""
    if (matrix.data == 1).all():
        return matrix
    mean = np.sqrt(np.mean(matrix.data.astype(np.float64) ** 2)) if matrix.nnz else 1.0
    return matrix if mean == 1 else with_values(matrix, (matrix.data / mean).astype(np.float32))


def known_weights(weights: NDArray[Any]) -> NDArray[np.float32] | None:
    """Weights as they are kept: None if they are all one, because then they say nothing."""
    narrow = np.asarray(weights, dtype=np.float32)
    if not (np.isfinite(narrow) & (narrow > 0)).all():
        raise DataError("Weights must be finite numbers above 0: leave pairs out that count for nothing.")
    return None if (narrow == 1).all() else narrow


def summed(weights: ArrayLike, cells: NDArray[np.int64]) -> NDArray[np.float32] | None:
    """The sum of the weights of each pair, in the order of first appearance."""
    try:
        given = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as fault:
        raise DataError("Weights must be finite numbers above 0: leave pairs out that have none.") from fault
    if given.shape != (len(cells),):
        raise DataError(f"There must be one weight for each pair: got {given.size:,} weights for {len(cells):,} pairs.")
    _, first, which = np.unique(cells, return_index=True, return_inverse=True)
    return known_weights(np.bincount(which, weights=given)[np.argsort(first)])


def pushed_down(rows: csr_array, against: csr_array | None) -> csr_array:
    """Histories in which what was said no to has a negative entry, so that what is like it scores lower.

    A history of nothing else stays empty: there is nothing to rank by.
    """
    if against is None or not against.nnz:
        return rows
    counts = np.diff(against.indptr) * (np.diff(rows.indptr) > 0)
    kept = np.repeat(counts > 0, np.diff(against.indptr))
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(against.indptr.dtype)
    pushed = csr_array((against.data[kept], against.indices[kept], starts), shape=rows.shape)
    both = csr_array(rows - pushed)
    both.sort_indices()
    return both


def only_positive(rows: csr_array) -> csr_array:
    """Histories without their negative entries."""
    keep = rows.data > 0
    if keep.all():
        return rows
    starts = np.concatenate([[0], np.cumsum(keep)])[rows.indptr].astype(rows.indptr.dtype)
    return csr_array((rows.data[keep], rows.indices[keep], starts), shape=rows.shape)


def moments(times: ArrayLike, count: int) -> Floats:
    """Times as numbers, one for each pair."""
    try:
        numbers = np.asarray(times, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("times must be numbers, such as seconds since 1970: convert dates first.") from None
    if numbers.shape != (count,):
        raise DataError(f"There must be one time for each pair: got {numbers.size:,} times for {count:,} pairs.")
    return numbers


def distinct(
    user: NDArray[np.int64], item: NDArray[np.int64], times: Floats | None, n_items: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], Floats | None]:
    """Keep the first of each repeated pair, in order, with the latest of their times."""
    _, first, which = np.unique(user * n_items + item, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rows = first[order]
    if times is not None:
        latest = np.full(len(first), np.nan)
        np.fmax.at(latest, which, times)  # a missing time never wins
        times = latest[order]
    return user[rows].astype(np.int32), item[rows].astype(np.int32), times


def latest_of(*columns: NDArray[np.float64] | None) -> float | None:
    """The latest moment of some columns of times; None where no time is known."""
    moments = [times[np.isfinite(times)] for times in columns if times is not None]
    return max((float(some.max()) for some in moments if len(some)), default=None)
