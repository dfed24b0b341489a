"""From rows to pairs: what repeated rows mean, and which pairs count as an interaction.

A pair that occurs more than once is one interaction, standing where it first stood, with the latest of its times.
Where its ratings differ, the latest rating counts; without times the highest does. Then the threshold is applied:
`at_least`, or without one anything above zero.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.datasets._rows import Rows

__all__ = ["Pairs", "merge"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pairs:
    """Distinct pairs in order of first appearance, and how many rows it took."""

    user: NDArray[Any]
    item: NDArray[Any]
    time: Floats | None
    duplicates: int
    conflicts: int
    filtered: int


def merge(rows: Rows, at_least: float | None) -> Pairs:
    """Make each pair one interaction and leave out those rated too low."""
    _, first, group = np.unique(rows.user * len(rows.items) + rows.item, return_index=True, return_inverse=True)
    order = np.argsort(first)
    time = None if rows.time is None else _highest(rows.time, group, len(first))[order]
    keep, conflicts = np.ones(len(first), dtype=bool), 0
    if rows.rating is not None:
        rating = _deciding(rows.rating, rows.time, group, len(first))[order]
        keep = rating > 0 if at_least is None else rating >= at_least
        top = _highest(rows.rating, group, len(first))
        conflicts = len(np.unique(group[rows.rating != top[group]]))
    kept = first[order][keep]
    user, item = rows.user[kept].astype(np.int32), rows.item[kept].astype(np.int32)
    time = None if time is None else time[keep]
    return Pairs(user, item, time, len(group) - len(first), conflicts, len(first) - len(kept))


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
