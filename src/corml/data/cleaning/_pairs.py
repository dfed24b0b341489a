"""From rows to pairs: what repeated rows mean, and which pairs count as an interaction.

A pair that occurs more than once is one interaction, standing where it first stood, with the latest of its times.
Where its ratings differ, the latest rating counts; without times the highest does. With a threshold of 0 or more,
negative quantities (returns) do not count next to others. Then the threshold is applied: `at_least`, or without one
anything above zero. Pairs below it are exclude-only: not used for training, and never recommended.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from corml.data._options import Options
from corml.data.cleaning._columns import Floats
from corml.data.cleaning._rows import Rows
from corml.data.cleaning._weights import of_pairs, of_ratings
from corml.data.kinds import Kinds
from corml.data.strength import known_weights


@dataclass(frozen=True)
class Pairs:
    """Distinct pairs in order of first appearance, exclude-only pairs, and how many rows it took."""

    user: NDArray[np.int32]
    item: NDArray[np.int32]
    time: Floats | None
    weights: NDArray[np.float32] | None = None
    kinds: Kinds | None = None
    duplicates: int = 0
    conflicts: int = 0
    exact: int = 0  # of the duplicates, rows that say nothing but what another says, at the same time
    filtered: int = 0  # rated too low
    seen: "Pairs | None" = None  # exclude-only: rated too low, or with a negative last event
    negative: "Pairs | None" = None  # those of them with negative feedback, and its weight


@dataclass(frozen=True)
class _About:
    """What is known of each pair, at its first row: how strong it is, or the no to it; and its event types."""

    weight: Floats | None
    against: Floats | None
    kinds: Kinds | None  # in the order of the numbers of pairs
    pair: NDArray[np.int64] | None  # the number of the pair of each row

    def kinds_of(self, first: NDArray[np.bool_]) -> Kinds | None:
        """The event types of the pairs with these first rows."""
        return None if self.kinds is None or self.pair is None else self.kinds.where(self.pair[first])


def merge(rows: Rows, items: int, options: Options) -> Pairs:
    """Make each pair one interaction and exclude those rated too low, or without weight; so many items there are."""
    key = rows.user * items + rows.item
    first, repeated = _repeats(key)
    distinct = int(first.sum())
    rating, time, conflicts = rows.rating, rows.time, 0
    exact = 0
    if distinct < len(first):
        positive = options.at_least is not None and options.at_least >= 0
        several = np.flatnonzero(repeated())
        exact = _exact(rows, key, several)
        rating, time, conflicts = _settle(rows, key, several, positive)
    liked, at_least = np.ones(len(first), dtype=bool), options.at_least
    if rating is not None:
        liked = rating > 0 if at_least is None else rating >= at_least
    filtered = int((first & ~liked).sum())
    about = _about(rows, key, rating, options)
    if about.weight is not None:
        liked &= about.weight > 0
    seen = _pairs(rows, time, first & ~liked, None, about) if (first & ~liked).any() else None
    refused = first & ~liked & (False if about.against is None else about.against > 0)
    return replace(
        _pairs(rows, time, first & liked, about.weight, about),
        duplicates=len(first) - distinct,
        conflicts=conflicts,
        exact=exact,
        filtered=filtered,
        seen=seen,
        negative=_pairs(rows, time, refused, about.against, about) if refused.any() else None,
    )


def _repeats(key: NDArray[np.int64]) -> tuple[NDArray[np.bool_], Callable[[], NDArray[np.bool_]]]:
    """Which rows are the first of their pair, and, when asked, which belong to a pair that has several."""
    from corml._runtime.lazy_polars import polars as pl

    step = np.diff(key)
    if (step >= 0).all():  # in order of pairs, where neighbours tell: a tenth of the time
        first = np.append(np.ones(min(len(key), 1), dtype=bool), step > 0)
        return first, lambda: ~first | ~np.append(first[1:], True)[: len(first)]
    series = pl.Series(key)
    return series.is_first_distinct().to_numpy(), lambda: series.is_duplicated().to_numpy()


def _about(rows: Rows, key: NDArray[np.int64], rating: Floats | None, options: Options) -> _About:
    weight = against = kinds = pair = None
    if rows.weights is not None:
        _, leader, pair = np.unique(key, return_index=True, return_inverse=True)
        weight, against = np.zeros(len(key)), np.zeros(len(key))
        given = rows.weights, pair, len(leader), rows.time, options.transform
        weight[leader], against[leader], kinds = of_pairs(*given)
    if rating is not None and (options.rating_strength or options.low_ratings == "negative"):
        factor, low = of_ratings(rating, options)
        base = np.ones(len(key)) if weight is None else weight
        weight, against = base * factor, base * low + (0.0 if against is None else against)
    return _About(_representable(weight), _representable(against), kinds, pair)


def _representable(weights: Floats | None) -> Floats | None:
    """Weights above 0 that stay above 0 in single precision, however old a pair is."""
    return None if weights is None else np.where(weights > 0, np.maximum(weights, np.finfo(np.float32).tiny), weights)


def _pairs(rows: Rows, time: Floats | None, keep: NDArray[np.bool_], weight: Floats | None, about: _About) -> Pairs:
    user, item = rows.user[keep].astype(np.int32), rows.item[keep].astype(np.int32)
    weights = None if weight is None or not keep.any() else known_weights(weight[keep])
    return Pairs(user, item, None if time is None else time[keep], weights, about.kinds_of(keep))


def _exact(rows: Rows, key: NDArray[np.int64], at: NDArray[np.int64]) -> int:
    """How many of the rows at these positions say exactly what another says; without times none is known to."""
    if rows.time is None:
        return 0
    columns: list[NDArray[np.generic]] = [key, rows.time]
    columns += [] if rows.rating is None else [rows.rating]
    if rows.weights is not None:
        columns += [rows.weights.numbers]
        columns += [] if rows.weights.events is None else [rows.weights.events.codes]
    some = [column[at] for column in columns]
    order = np.lexsort(some)
    return int(np.logical_and.reduce([np.diff(column[order]) == 0 for column in some]).sum())


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
    """Leave out negative quantities if there are others: one returned of six bought does not undo the purchase."""
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
