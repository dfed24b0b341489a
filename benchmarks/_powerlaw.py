"""Generated interactions with power laws and clusters: data of any size that co-occur like real ones.

Items have a popularity, users a length of their history. Items are dealt out to clusters of equal size that lie on a
ring, like towns on a road. A user has a home there and goes to some clusters, most of them near; how many depends on
the length of the history. There, or now and then anywhere, items are drawn by popularity. Clusters do not grow with the
catalogue, so neither does the number of items that one item co-occurs with.
"""

from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

import corml
from corml.data.ids import Ids

Numbers = NDArray[np.float64]
ROUNDS = 12  # of drawing what is still missing by taste; what is missing after them is drawn from all items


@dataclass(frozen=True)
class Habits:
    """Clusters of `size` items; a user has one for each `stay` items; a share `loyal` of the history lies there."""

    size: int = 200
    stay: int = 10
    loyal: float = 0.95


def power_law(size: int, exponent: float) -> Numbers:
    """Quantiles of a power law that begins at zero: a few are large, the largest grows with size^exponent."""
    return ((np.arange(size) + 0.5) / size) ** -exponent - 1


def degrees(shape: Numbers, total: int, *, min_degree: int) -> NDArray[np.int64]:
    """Whole numbers of this shape above `min_degree` with exactly this sum."""
    ends = np.cumsum(shape) * ((total - min_degree * len(shape)) / shape.sum())
    return min_degree + np.diff(np.round(ends).astype(np.int64), prepend=0)


def draw(
    popularity: Numbers,
    activity: NDArray[np.int64],
    habits: Habits,
    *,
    min_degree: int = 0,
    seed: int = 0,
    catalogue: int | None = None,
) -> dict[str, Any]:
    """Distinct pairs to be saved: as many for a user as `activity` says, about `min_degree` or more for an item.

    `catalogue` is a seed for the items alone: draws that have it in common are parts of one data set.
    """
    rng = np.random.default_rng(seed)
    of_items = rng if catalogue is None else np.random.default_rng(catalogue)
    users, items = len(activity), len(popularity)
    popularity, activity = of_items.permutation(popularity), rng.permutation(activity)
    first, tastes = _tastes(popularity, activity, habits, rng)
    ends = np.concatenate([[0.0], np.cumsum(popularity)])
    pairs = _first(activity, items, min_degree, rng)
    for turn in count():
        missing = np.repeat(np.arange(users), activity - np.bincount(pairs // items, minlength=users))
        if len(missing) == 0:
            break
        by_taste = rng.random(len(missing)) < (habits.loyal if turn < ROUNDS else 0)
        cluster = tastes[rng.integers(first[missing], first[missing + 1])]
        low = np.where(by_taste, ends[np.minimum(cluster * habits.size, items)], 0)
        high = np.where(by_taste, ends[np.minimum((cluster + 1) * habits.size, items)], ends[-1])
        drawn = np.searchsorted(ends, low + (high - low) * rng.random(len(missing)), side="right") - 1
        pairs = _united(pairs, missing * items + np.minimum(drawn, items - 1))
    names = of_items.permutation(items)  # numbers that tell nothing: neighbours on the ring are far apart in memory
    user, item = pairs // items, names[pairs % items]
    return {"user": user.astype(np.int32), "item": item.astype(np.int32), "shape": (users, items)}


def _tastes(
    popularity: Numbers, activity: NDArray[np.int64], habits: Habits, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the clusters of each user begin in a list of clusters, and that list: a home, then others around it."""
    many = 1 + activity // habits.stay
    first = np.concatenate([[0], np.cumsum(many)])
    ends = np.cumsum(np.add.reduceat(popularity, np.arange(0, len(popularity), habits.size)))
    home = np.searchsorted(ends, rng.random(len(activity)) * ends[-1], side="right")
    away = np.floor(len(ends) ** (rng.random(first[-1]) ** 3)).astype(np.int64) - 1  # most are near, some far
    away[first[:-1]] = 0
    return first, (np.repeat(home, many) + rng.choice([-1, 1], len(away)) * away) % len(ends)


def _first(activity: NDArray[np.int64], items: int, min_degree: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """`min_degree` users for each item, so that none is left out; by slots, so that nobody gets more than asked for."""
    slots = rng.choice(activity.sum(), min_degree * items, replace=False)
    users = np.searchsorted(np.cumsum(activity), slots, side="right")
    return np.unique(users * items + np.arange(len(slots)) % items)


def _united(pairs: NDArray[np.int64], more: NDArray[np.int64]) -> NDArray[np.int64]:
    """Both without repetition, sorted; a stable sort only merges what is sorted already."""
    both = np.sort(np.concatenate([pairs, np.unique(more)]), kind="stable")
    return both[np.diff(both, prepend=-1) != 0]


def as_interactions(path: str) -> corml.Interactions:
    """Saved pairs, on numbers as ids."""
    saved = np.load(path)
    users, items = saved["shape"]
    return corml.Interactions(Ids(range(users), kind="user"), Ids(range(items)), saved["user"], saved["item"])
