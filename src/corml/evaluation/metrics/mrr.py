"""MRR: how soon the first hit comes."""

import numpy as np

from corml.evaluation.metrics._lists import Lists, Values

__all__ = ["mrr"]


def mrr(lists: Lists, k: int) -> Values:
    """One divided by the rank of the first of the user's items; 0 where none is among the first K.

    Formula: 1 / min{r ≤ K : hit_r},  0 without a hit
    Better: higher, 0 to 1
    """
    hits = lists.hits[:, :k]
    return np.where(hits.any(axis=1), 1.0 / (hits.argmax(axis=1) + 1), 0.0)
