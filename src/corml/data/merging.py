"""Pairs of several interactions on the same ids as one: each pair once, with all that is known of it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corml.data.kinds import Kinds
from corml.data.strength import distinct

if TYPE_CHECKING:
    from corml.data.interactions import Interactions

ALONE: dict[str, Any] = {
    **dict.fromkeys(("times", "weights", "kinds", "seen", "negative", "attributes", "others", "elsewhere")),
    "titles": {},
    "source": {},
}


def cells(data: "Interactions") -> NDArray[np.int64]:
    """One number for each pair."""
    return data.user.astype(np.int64) * len(data.items) + data.item


def together(parts: "Sequence[Interactions]") -> "Interactions":
    """The pairs of several parts on the same ids one after the other: a pair may be there more than once."""
    about: dict[str, Any] = dict(ALONE)
    for name in ("user", "item"):
        about[name] = np.concatenate([getattr(part, name) for part in parts])
    if any(part.times is not None for part in parts):
        times = [np.full(len(part), np.nan) if part.times is None else part.times for part in parts]
        about["times"] = np.concatenate(times)
    if any(part.weights is not None for part in parts):
        weights = [np.ones(len(part), dtype=np.float32) if part.weights is None else part.weights for part in parts]
        about["weights"] = np.concatenate(weights)
    about["kinds"] = Kinds.joined([part.kinds for part in parts], [len(part) for part in parts])
    return replace(parts[0], **about)


def each_once(every: "Interactions") -> "Interactions | None":
    """Pairs that may be there more than once, each once with its latest time and all of its event types."""
    if not len(every):
        return None
    pairs = distinct(every.user.astype(np.int64), every.item.astype(np.int64), every.times, len(every.items))
    about = dict(zip(("user", "item", "times"), pairs, strict=True))
    alone = replace(every, **{**ALONE, **about})
    return alone if every.kinds is None else replace(alone, kinds=events_of(alone, [every]))


def events_of(data: "Interactions", parts: "Sequence[Interactions]") -> Kinds | None:
    """The event types that any of some parts, on the same ids, knows of each pair of the data."""
    every, own = together(parts), cells(data)
    order = np.argsort(own)
    pair = np.append(order, 0)[np.searchsorted(own, cells(every), sorter=order)]
    there = np.append(own, -1)[pair] == cells(every)
    kinds = every.where(there).kinds
    return None if kinds is None else kinds.onto(pair[there], len(data))


def union(first: "Interactions", second: "Interactions") -> "Interactions":
    """Pairs that are in either; a pair in both counts once, as the first has it."""
    if not len(second):
        return first
    every = together([first, second])
    some = every.where(np.unique(cells(every), return_index=True)[1])
    about: dict[str, Any] = {name: getattr(some, name) for name in ("user", "item", "times", "weights", "kinds")}
    return replace(first, **about)


def once(parts: "Sequence[Interactions]", within: NDArray[np.int64]) -> "Interactions | None":
    """The pairs of several parts that are in some cells, each as the first part has it."""
    if not parts:
        return None
    every = together(parts)
    numbers, first = np.unique(cells(every), return_index=True)
    some = every.where(np.sort(first[np.isin(numbers, within)]))
    return some if len(some) else None
