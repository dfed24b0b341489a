"""Diversity: how different the items of a list are from each other."""

import numpy as np

from corml.metrics._lists import Lists, Values

__all__ = ["diversity"]


def diversity(lists: Lists, k: int) -> Values:
    """How different the items of a list are: 1 if no two have a training user in common, 0 if all have the same.

    Formula: mean over pairs i < j of the list of 1 − |U_i ∩ U_j| / √(|U_i| |U_j|),  U_i = training users of item i
    Better: higher, 0 to 1

    Also called intra-list diversity (ILD), by the cosine of the items' users: the same distance for every model. A
    list of fewer than two items has 0.
    """
    shown = lists.items[:, :k]
    row, left, right = _pairs(shown)
    lengths = np.maximum((shown >= 0).sum(axis=1), 1)
    pairs = lengths * (lengths - 1) / 2
    distances = 1 - lists.closeness(left, right)
    total = np.bincount(row, weights=distances, minlength=len(shown))
    return np.asarray(np.clip(total / np.maximum(pairs, 1), 0, 1), dtype=np.float64)


def _pairs(shown: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All pairs of items of each list: the row, and both items."""
    one, other = np.triu_indices(shown.shape[1], 1)
    row, at = np.nonzero(shown[:, other] >= 0)  # a list is never short before an item
    return row, shown[row, one[at]], shown[row, other[at]]
