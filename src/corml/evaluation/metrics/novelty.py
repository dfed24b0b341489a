"""Novelty, as the CoRML paper measures it."""

import math

from corml.evaluation.metrics._lists import Lists, Values

__all__ = ["novelty"]


def novelty(lists: Lists, k: int) -> Values:
    """How rare the recommended items are: 0 if all training users have them, 1 if one does.

    Formula: mean over the list of −log₂(d_i / |U|) / log₂|U|,  d_i = training users of item i (at least 1)
    Better: higher, 0 to 1

    Others call this surprisal. A list shorter than K is averaged over the items it has; an empty one has 0.
    """
    scale = math.log2(lists.n_users) if lists.n_users > 1 else 1.0  # with one user nothing is rare: 0, not 0/0
    return lists.average(lists.rarity() / scale, k)
