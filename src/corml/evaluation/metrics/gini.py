"""Gini: how unevenly the catalogue is shown."""

import numpy as np

from corml.evaluation.metrics._lists import Lists

__all__ = ["gini"]


def gini(lists: Lists, k: int) -> float:
    """How unevenly positions in the lists are shared out: 0 if all items get as many, near 1 if few get all.

    Formula: Σ_j (2j − n − 1) c_j / (n Σ_j c_j),  c_1 ≤ … ≤ c_n = lists with each of the n items of the catalogue
    Better: lower, 0 to 1

    About all lists together; items in no list count with c = 0.
    """
    counts = np.sort(lists.counts(k)).astype(np.float64)
    n, shown = len(counts), counts.sum()
    if shown == 0:
        return 0.0
    return float(((2 * np.arange(1, n + 1) - n - 1) * counts).sum() / (n * shown))
