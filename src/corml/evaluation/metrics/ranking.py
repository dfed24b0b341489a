"""Accuracy: how many of the held-out items a list contains, and how far up."""

import numpy as np

from corml.evaluation.metrics._lists import Lists, Values
from corml.linalg.topk import normalised_gain

__all__ = ["capped_recall", "hit_rate", "map", "mrr", "ndcg", "precision", "recall"]


def ndcg(lists: Lists, k: int) -> Values:
    """Share of the user's items in the list, a lower rank counting less; 1 when no order could be better.

    Formula: Σ_{r ≤ K} hit_r / log₂(r + 1)  ÷  Σ_{r ≤ min(K, relevant)} 1 / log₂(r + 1)
    Better: higher, 0 to 1
    """
    return normalised_gain(lists.hits, lists.relevant, k)


def mrr(lists: Lists, k: int) -> Values:
    """One divided by the rank of the first of the user's items; 0 where none is among the first K.

    Formula: 1 / min{r ≤ K : hit_r},  0 without a hit
    Better: higher, 0 to 1
    """
    hits = lists.hits[:, :k]
    return np.where(hits.any(axis=1), 1.0 / (hits.argmax(axis=1) + 1), 0.0)


def recall(lists: Lists, k: int) -> Values:
    """Share of the user's items that are in the list.

    Formula: Σ_{r ≤ K} hit_r / relevant
    Better: higher, 0 to 1
    """
    return np.asarray(lists.hits[:, :k].sum(axis=1) / np.maximum(lists.relevant, 1), dtype=np.float64)


def capped_recall(lists: Lists, k: int) -> Values:
    """Share of the user's items that are in the list, of those that fit into it; 1 when no list could be better.

    Formula: Σ_{r ≤ K} hit_r / min(K, relevant)
    Better: higher, 0 to 1
    """
    return np.asarray(lists.hits[:, :k].sum(axis=1) / np.clip(lists.relevant, 1, k), dtype=np.float64)


def precision(lists: Lists, k: int) -> Values:
    """Share of the K positions of the list that hold one of the user's items; an empty position is a miss.

    Formula: Σ_{r ≤ K} hit_r / K
    Better: higher, 0 to 1
    """
    return np.asarray(lists.hits[:, :k].sum(axis=1) / k, dtype=np.float64)


def hit_rate(lists: Lists, k: int) -> Values:
    """Share of users who find at least one of their items in the list.

    Formula: 1 if Σ_{r ≤ K} hit_r > 0,  else 0
    Better: higher, 0 to 1
    """
    return lists.hits[:, :k].any(axis=1).astype("float64")


def map(lists: Lists, k: int) -> Values:
    """Average, over the user's items, of the precision at the rank of each.

    Formula: Σ_{r ≤ K} hit_r · (hits up to r) / r  ÷  min(K, relevant)
    Better: higher, 0 to 1

    The divisor is that of RecBole and LensKit, so that a perfect list has 1 whatever K. The AP@K of trec_eval divides
    by `relevant` alone: multiply by min(K, relevant) / relevant to get it.
    """
    hits = lists.hits[:, :k]
    precisions = hits.cumsum(axis=1) / np.arange(1, hits.shape[1] + 1)
    return np.asarray((precisions * hits).sum(axis=1) / np.clip(lists.relevant, 1, k), dtype=np.float64)
