"""From rows to pairs: what repeated rows mean, and which pairs count as an interaction.

A pair that occurs more than once is one interaction, standing where it first stood, with the latest of its times.
Where its ratings differ, the latest rating counts; without times the highest does. With a threshold of 0 or more,
negative quantities (returns) do not count beside others. Then the threshold is applied: `at_least`, or without one
anything above zero. Pairs below it are not learned from, but were seen.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.datasets._rows import Rows
from corml.datasets._strength import Strength, of_pairs
from corml.strength import known_weights

__all__ = ["Pairs", "merge"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pairs:
    """Distinct pairs in order of first appearance, those that were only seen, and how many rows it took."""

    user: NDArray[Any]
    item: NDArray[Any]
    time: Floats | None
    weights: NDArray[np.float32] | None = None
    duplicates: int = 0
    conflicts: int = 0
    filtered: int = 0  # rated too low
    seen: "Pairs | None" = None  # not learned from: rated too low, or by negative events


def merge(rows: Rows, at_least: float | None, transform: str | None = None) -> Pairs:
    """Make each pair one interaction and leave out those rated too low, or not strong at all."""
    import polars as pl

    key = pl.Series(rows.user * len(rows.items) + rows.item)
    first = key.is_first_distinct().to_numpy()
    distinct = int(first.sum())
    rating, time, conflicts = rows.rating, rows.time, 0
    if distinct < len(first):
        at = np.flatnonzero(key.is_duplicated().to_numpy())
        rating, time, conflicts = _settle(rows, key.to_numpy(), at, at_least is not None and at_least >= 0)
    liked = np.ones(len(first), dtype=bool)
    if rating is not None:
        liked = rating > 0 if at_least is None else rating >= at_least
    filtered = int((first & ~liked).sum())
    weight = None
    if rows.strength is not None:
        weight = _weights(rows.strength, key.to_numpy(), rows.time, transform)
        liked &= weight > 0
    seen = _pairs(rows, time, None, first & ~liked) if (first & ~liked).any() else None
    return replace(
        _pairs(rows, time, weight, first & liked),
        duplicates=len(first) - distinct,
        conflicts=conflicts,
        filtered=filtered,
        seen=seen,
    )


def _weights(strength: Strength, key: NDArray[np.int64], time: Floats | None, transform: str | None) -> Floats:
    """The strength of each pair, at its first row."""
    _, leader, pair = np.unique(key, return_index=True, return_inverse=True)
    weights = np.zeros(len(key))
    weights[leader] = of_pairs(strength, pair, len(leader), time, transform)
    return weights


def _pairs(rows: Rows, time: Floats | None, weight: Floats | None, keep: NDArray[np.bool_]) -> Pairs:
    user, item = rows.user[keep].astype(np.int32), rows.item[keep].astype(np.int32)
    weights = None if weight is None or not keep.any() else known_weights(weight[keep])
    return Pairs(user, item, None if time is None else time[keep], weights)


def _settle(
    rows: Rows, key: NDArray[np.int64], at: NDArray[np.int64], positive: bool
) -> tuple[Floats | None, Floats | None, int]:
    """Give the first row of each repeated pair (they stand `at`) the rating and the time that count for all of them."""
    _, leader, group = np.unique(key[at], return_index=True, return_inverse=True)
    rating, time, conflicts, first = rows.rating, rows.time, 0, at[leader]
    if rating is not None:
        conflicts = len(np.unique(group[rating[at] != rating[first][group]]))
        if positive:
            counts = _counts(rating[at], group, len(leader))
            at, group = at[counts], group[counts]
        decided = _deciding(rating[at], None if time is None else time[at], group, len(leader))
        rating = rating.copy()
        rating[first] = decided
    if time is not None:
        latest = _highest(time[at], group, len(leader))
        time = time.copy()
        time[first] = latest
    return rating, time, conflicts


def _counts(rating: Floats, group: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
    """Leave out negative quantities beside others: one that comes back of six bought does not undo the purchase."""
    bought = np.zeros(count, dtype=bool)
    bought[group[rating >= 0]] = True
    return (rating >= 0) | ~bought[group]


def _highest(values: Floats, group: NDArray[np.int64], count: int) -> Floats:
    """Find the largest value of each group."""
    highest = np.full(count, -np.inf)
    np.maximum.at(highest, group, values)
    return highest


def _deciding(rating: Floats, time: Floats | None, group: NDArray[np.int64], count: int) -> Floats:
    """Find the rating of each group that counts: the latest (of equal times the lowest line), else the highest."""
    if time is None:
        return _highest(rating, group, count)
    order = np.lexsort((time, group))  # stable: of equal times, the later row comes last
    decided = np.empty(count)
    decided[group[order]] = rating[order]  # of repeated positions the last one stays
    return decided
