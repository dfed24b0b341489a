"""Precision: how much of the list is right."""

import numpy as np

from corml.evaluation.metrics._lists import Lists, Values

__all__ = ["precision"]


def precision(lists: Lists, k: int) -> Values:
    """Share of the K positions of the list that hold one of the user's items; an empty position is a miss.

    Formula: Σ_{r ≤ K} hit_r / K
    Better: higher, 0 to 1
    """
    return np.asarray(lists.hits[:, :k].sum(axis=1) / k, dtype=np.float64)
