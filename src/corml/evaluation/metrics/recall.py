"""Recall: how many of the user's targets are in the list."""

import numpy as np

from corml.evaluation.metrics._lists import Lists, Values

__all__ = ["recall"]


def recall(lists: Lists, k: int) -> Values:
    """Share of the user's items that are in the list.

    Formula: Σ_{r ≤ K} hit_r / relevant
    Better: higher, 0 to 1
    """
    return np.asarray(lists.hits[:, :k].sum(axis=1) / np.maximum(lists.relevant, 1), dtype=np.float64)
