"""An item in at most so many lists: who may keep it, where more want it.

Everybody asks for a whole list at once; every item that is in too many keeps those who gain most by it and turns the
others away, for good; who was turned away makes a new list without that item, and so on until no item is in too many.
This is deferred acceptance (Gale and Shapley, 1962). It does not depend on the order of the users, and where a list is
simply the best items, its outcome is the one that suits users best among all that are stable: nobody is without an item
that another one has and gains less by.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime.progress import Progress, silent

__all__ = ["hold_quota"]

Whole = NDArray[np.integer[Any]]
Relist = Callable[[Any, Any], tuple[Whole, NDArray[np.float64]]]


def hold_quota(
    columns: Whole,
    gains: NDArray[np.float64],
    quota: int,
    order: Whole,
    relist: Relist,
    *,
    progress: Progress = silent,
) -> NDArray[np.int64]:
    """Change lists (rows of item numbers, −1 where short) in place until none is in more than `quota` of them.

    `gains` say how much each list gains by each of its items; of equal ones the first by `order` counts. `relist` is
    told rows and the items they lose (the same row may come several times), and gives the new lists of the distinct
    rows, ascending, with their gains. Returns how many items each row was turned away from.
    """
    turned_away = np.zeros(len(columns), dtype=np.int64)
    wanted = int((columns >= 0).sum())
    while True:
        rows, places = _above(columns, gains, quota, order)
        progress("share out", wanted - len(rows), wanted)
        if not len(rows):
            return turned_away
        np.add.at(turned_away, rows, 1)
        changed = np.unique(rows)
        columns[changed], gains[changed] = relist(rows, columns[rows, places])


def _above(columns: Whole, gains: NDArray[np.float64], quota: int, order: Whole) -> tuple[Whole, Whole]:
    """Rows and places that lose their item: of each item with too many, all but those who gain most."""
    listed = columns >= 0
    counts = np.bincount(columns[listed], minlength=1)
    over = listed & (counts > quota)[np.where(listed, columns, 0)]
    rows, places = np.nonzero(over)
    items = columns[rows, places]
    sorting = np.lexsort((order[rows], -gains[rows, places], items))
    items = items[sorting]
    starts = np.flatnonzero(np.append(True, items[1:] != items[:-1])) if len(items) else np.zeros(0, dtype=np.int64)
    place_in_queue = np.arange(len(items)) - np.repeat(starts, np.diff(np.append(starts, len(items))))
    lost = np.sort(sorting[place_in_queue >= quota])
    return rows[lost], places[lost]
