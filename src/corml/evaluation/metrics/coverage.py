"""Coverage: how much of the catalogue is ever shown."""

import numpy as np

from corml.evaluation.metrics._lists import Lists

__all__ = ["coverage"]


def coverage(lists: Lists, k: int) -> float:
    """Share of the catalogue that is in at least one list.

    Formula: |{i : i in anyone's first K}| / items
    Better: higher, 0 to 1

    About all lists together: it grows with their number, so compare it over the same users only.
    """
    return float(np.count_nonzero(lists.counts(k)) / max(lists.n_items, 1))
