"""From a decision per pair to a Split."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.interactions import Interactions, Rows
from corml.splits._split import PARTS, Split

__all__ = ["by_counts", "by_number", "places", "record"]

Whole = NDArray[np.int64]


def record(name: str, data: Interactions, **options: Any) -> dict[str, Any]:
    """Note what it takes to make the split again, in plain values that a file can hold."""
    plain = {key: list(value) if isinstance(value, tuple) else value for key, value in options.items()}
    return {"name": name, **plain, "data": data.fingerprint}


def by_number(data: Interactions, part: NDArray[Any], procedure: dict[str, Any]) -> Split:
    """Split by one number per pair, its position in PARTS; histories exist if any pair is in them."""
    present = [n for n in range(len(PARTS)) if n < 3 or (part == n).any()]
    made: dict[str, Any] = {PARTS[n]: data.where(part == n) for n in present}
    return Split(**made, procedure=procedure)


def by_counts(data: Interactions, place: Whole, counts: Whole) -> Whole:
    """Part of each pair: a user with d pairs gives the first `counts[d]` places to train, valid and test in turn."""
    ends = np.cumsum(counts, axis=1)[data.user_degrees[data.user]]
    return (place >= ends[:, 0]).astype(np.int64) + (place >= ends[:, 1])


def places(user: Rows, key: NDArray[Any]) -> Whole:
    """Place of each pair among the pairs of its user, from 0, in the order of the keys (of equal keys, of the rows)."""
    order = np.lexsort((key, user))
    grouped = user[order]
    degrees = np.bincount(grouped)
    place = np.empty(len(user), dtype=np.int64)
    place[order] = np.arange(len(user)) - (np.cumsum(degrees) - degrees)[grouped]
    return place
