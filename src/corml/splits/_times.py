"""Times for the splits that cannot do without."""

import numpy as np
from numpy.typing import NDArray

from corml.errors import DataError, quoted
from corml.interactions import Interactions

__all__ = ["known_times"]


def known_times(data: Interactions, how: str) -> NDArray[np.float64]:
    """Give the moment of every pair, or say how to provide it."""
    if data.times is None:
        raise DataError(
            f"The split '{how}' needs the moment of each pair, and these data have none: "
            "name their column when loading (time=), or choose a split that needs none, such as 'ratio'."
        )
    missing = np.flatnonzero(~np.isfinite(data.times))
    if len(missing):
        first = quoted([data.users.labels[data.user[missing[0]]], data.items.labels[data.item[missing[0]]]])
        raise DataError(
            f"{len(missing):,} pairs have no time (the first: {first}), and the split '{how}' needs one: drop them."
        )
    return data.times
