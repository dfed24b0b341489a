"""Diversity: how different the items of a list are from each other."""

import numpy as np

from corml.evaluation.metrics._lists import Lists, Values, Whole

__all__ = ["diversity"]

PAIRS_AT_ONCE = 1 << 22


def diversity(lists: Lists, k: int) -> Values:
    """How different the items of a list are: 1 if no two have a training user in common, 0 if all have the same.

    Formula: mean over pairs i < j of the list of 1 − |U_i ∩ U_j| / √(|U_i| |U_j|),  U_i = training users of item i
    Better: higher, 0 to 1

    Also called intra-list diversity (ILD), by the cosine of the items' users: the same distance for every model. A
    list of fewer than two items has 0.
    """
    shown = lists.items[:, :k]
    at_once = max(1, PAIRS_AT_ONCE // max(k * (k - 1) // 2, 1))
    parts = [_mean_distance(lists, shown[at : at + at_once]) for at in range(0, len(shown), at_once)]
    return np.concatenate([np.zeros(0), *parts])


def _mean_distance(lists: Lists, shown: Whole) -> Values:
    """Mean distance of the pairs of each list; 0 where there is none."""
    one, other = np.triu_indices(shown.shape[1], 1)
    row, at = np.nonzero(shown[:, other] >= 0)  # a list is never short before an item
    left, right = shown[row, one[at]], shown[row, other[at]]
    code = np.minimum(left, right).astype(np.int64) * lists.n_items + np.maximum(left, right)
    pairs, back = np.unique(code, return_inverse=True)  # the same pairs are in many lists
    close = lists.closeness.between(pairs // max(lists.n_items, 1), pairs % max(lists.n_items, 1))
    count = np.bincount(row, minlength=len(shown))
    total = np.bincount(row, weights=1 - close[back], minlength=len(shown))
    return np.asarray(np.clip(total / np.maximum(count, 1), 0, 1), dtype=np.float64)
