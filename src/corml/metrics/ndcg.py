"""NDCG: a hit counts less the lower its rank."""

import numpy as np

from corml.metrics._lists import Lists, Values

__all__ = ["ndcg"]


def ndcg(lists: Lists, k: int) -> Values:
    """Share of the user's items in the list, a lower rank counting less; 1 when no order could be better.

    Formula: Σ_{r ≤ K} hit_r / log₂(r + 1)  ÷  Σ_{r ≤ min(K, relevant)} 1 / log₂(r + 1)
    Better: higher, 0 to 1
    """
    discount = 1 / np.log2(np.arange(2, k + 2))
    best = np.concatenate([[1.0], np.cumsum(discount)])  # a user without items gets 0 / 1
    hits = lists.hits[:, :k]
    gain = np.where(hits, discount[: hits.shape[1]], 0.0).sum(axis=1)  # no BLAS: the same bits on any machine
    return np.asarray(gain / best[np.minimum(k, lists.relevant)], dtype=np.float64)
