"""Weights and times of pairs: how they are kept, and what a model makes of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, vstack

from corml.data.clock import Clock
from corml.data.kinds import Kinds
from corml.errors import DataError, ascii_line

Floats = NDArray[np.float64]

ABOVE_THE_REST = 10  # times the strongest of the other pairs: what one of the few strongest may weigh
FADED = 1e-6  # of the largest weight: less hardly counts in a fit
MANY_FADED = 0.1  # the share of pairs that may weigh so little without a warning
LARGEST_NO = 1e6  # times the strongest item of a history: more says no more, and would not fit into single precision


@dataclass(frozen=True, eq=False)
class Rows:
    """Pairs as a users × items matrix of ones, with the time, event types and weight of each entry where given."""

    pattern: csr_array
    times: Floats | None = None
    kinds: Kinds | None = None
    weights: NDArray[np.float32] | None = None

    @property
    def weighted(self) -> csr_array:
        """The matrix with the weights as its values."""
        return with_values(self.pattern, self.weights)

    @classmethod
    def stacked(cls, parts: "Sequence[Rows | None]", shapes: Sequence[tuple[int, int]]) -> "Rows | None":
        """Parts of these shapes one below the other; None if there are none at all."""
        if all(part is None for part in parts):
            return None
        given = zip(parts, shapes, strict=True)
        every = [cls(csr_array(shape, dtype=np.float32)) if part is None else part for part, shape in given]
        counts = [part.pattern.nnz for part in every]

        def column(name: str, blank: float) -> Any:
            values = [getattr(part, name) for part in every]
            if all(value is None for value in values):
                return None
            pairs = zip(values, counts, strict=True)
            return np.concatenate([np.full(n, blank, np.float32) if one is None else one for one, n in pairs])

        pattern = vstack([part.pattern for part in every], format="csr")
        kinds = Kinds.joined([part.kinds for part in every], counts)
        return cls(pattern, column("times", np.nan), kinds, column("weights", 1))


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


class Cap(NamedTuple):
    """The most that a pair weighs in a fit, and how many pairs weigh more.

    A fit minimises squares, so a few enormous weights, such as the counts of a crawler, would be all that it sees. The
    strongest pairs, one in a thousand (up to ten where that is more, but no more than one in a hundred), weigh at most
    ten times as much as the strongest of all others. A tail that falls as fast as 1/rank stays as it is.
    """

    weight: np.float32
    pairs: int
    largest: np.float32

    @staticmethod
    def strongest(pairs: int) -> int:
        """How many of so many weights, the largest ones, tell the cap: the few, and the first of all others."""
        few = max(pairs // 1000, min(pairs // 100, 10))
        return few + 1 if few else 0  # of fewer than a hundred none is an outlier

    @classmethod
    def of(cls, weights: NDArray[np.float32] | None) -> Self | None:
        """The cap of some weights; None where none is above it."""
        count = 0 if weights is None else cls.strongest(len(weights))
        return None if weights is None or not count else cls.above(np.partition(weights, -count)[-count:])

    @classmethod
    def above(cls, strongest: NDArray[np.float32]) -> Self | None:
        """The cap by the strongest weights, of which the lowest is that of the first of all others."""
        with np.errstate(over="ignore"):
            most = np.float32(ABOVE_THE_REST) * strongest.min()
        pairs = int(np.count_nonzero(strongest > most))
        return cls(most, pairs, strongest.max()) if pairs else None

    def __str__(self) -> str:
        weigh = "1 pair weighs" if self.pairs == 1 else f"{self.pairs:,} pairs weigh"
        return (
            f"{weigh} more than {ABOVE_THE_REST} times the strongest of the others (up to {self.largest:.6g}) and "
            f'counted as {self.weight:.6g} in the fit. Use transform="log1p" if such large weights are meant.'
        )


def capped(weights: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
    """Weights as a fit takes them: the same array where none is above the cap."""
    cap = Cap.of(weights)
    return weights if weights is None or cap is None else np.minimum(weights, cap.weight)


def known_weights(weights: NDArray[Any]) -> NDArray[np.float32] | None:
    """Weights as they are kept: None if they are all one, because then they say nothing."""
    narrow = np.asarray(weights, dtype=np.float32)
    if not (np.isfinite(narrow) & (narrow > 0)).all():
        raise DataError("Weights must be finite numbers above 0: leave pairs out that count for nothing.")
    return None if (narrow == 1).all() else narrow


def faded(weights: NDArray[np.float32] | None, half_life: object) -> str:
    """What to say where a half-life leaves many pairs next to no weight; "" elsewhere."""
    if half_life is None or weights is None or not len(weights):
        return ""
    share = float(np.mean(weights < FADED * weights.max()))
    return (
        f"{share:.0%} of the pairs weigh less than a millionth of the strongest with the half-life "
        f"{ascii_line(half_life)}: a fit learns next to nothing from them"
        if share > MANY_FADED
        else ""
    )


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


def relative(strengths: NDArray[Any], strongest: Any) -> NDArray[Any]:
    """Strengths of a history as it is scored by them: its strongest item counts 1, a no below zero.

    So neither the unit of the weights nor the age of a whole history, with a half-life, changes a list.
    """
    shares: NDArray[Any] = np.maximum(strengths / strongest, -LARGEST_NO)
    return shares


def scored(rows: csr_array, against: csr_array | None) -> csr_array:
    """Histories as models score them: relative strengths, and a negative entry for each item that was refused.

    A history of nothing else stays empty: there is nothing to rank by.
    """
    counts = np.diff(rows.indptr)
    strongest = np.ones(len(counts), dtype=np.float32)
    strongest[counts > 0] = np.maximum.reduceat(rows.data, rows.indptr[:-1][counts > 0]) if rows.nnz else 1
    if (strongest != 1).any():
        rows = with_values(rows, relative(rows.data, np.repeat(strongest, counts)))
    if against is None or not against.nnz:
        return rows
    refused = np.diff(against.indptr)
    kept = np.repeat((refused > 0) & (counts > 0), refused)
    strengths = relative(-against.data[kept], np.repeat(strongest, refused)[kept])
    starts = np.concatenate([[0], np.cumsum(refused * (counts > 0))]).astype(against.indptr.dtype)
    both = csr_array(rows + csr_array((strengths, against.indices[kept], starts), shape=rows.shape))
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
    """Times as numbers, one for each pair; numbers that are dates in any unit as seconds."""
    try:
        numbers = np.asarray(times, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("times must be numbers, such as seconds since 1970: convert dates first.") from None
    if numbers.shape != (count,):
        raise DataError(f"There must be one time for each pair: got {numbers.size:,} times for {count:,} pairs.")
    return Clock.of(numbers).seconds(numbers)


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
    """The latest of some columns of times; None where no time is known."""
    moments = [times[np.isfinite(times)] for times in columns if times is not None]
    return max((float(some.max()) for some in moments if len(some)), default=None)
