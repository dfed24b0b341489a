"""NDCG: a hit counts less the lower its rank."""

from corml.evaluation.metrics._lists import Lists, Values
from corml.linalg.topk import normalised_gain

__all__ = ["ndcg"]


def ndcg(lists: Lists, k: int) -> Values:
    """Share of the user's items in the list, a lower rank counting less; 1 when no order could be better.

    Formula: Σ_{r ≤ K} hit_r / log₂(r + 1)  ÷  Σ_{r ≤ min(K, relevant)} 1 / log₂(r + 1)
    Better: higher, 0 to 1
    """
    return normalised_gain(lists.hits, lists.relevant, k)
