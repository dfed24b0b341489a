"""Capped recall: recall as the papers of autoencoders define it, where a full list is a perfect one."""

import numpy as np

from corml.evaluation.metrics._lists import Lists, Values

__all__ = ["capped_recall"]


def capped_recall(lists: Lists, k: int) -> Values:
    """Share of the user's items that are in the list, of those that fit into it; 1 when no list could be better.

    Formula: Σ_{r ≤ K} hit_r / min(K, relevant)
    Better: higher, 0 to 1
    """
    return np.asarray(lists.hits[:, :k].sum(axis=1) / np.clip(lists.relevant, 1, k), dtype=np.float64)
