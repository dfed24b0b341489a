"""MAP: precision at every hit, averaged."""

import numpy as np

from corml.evaluation.metrics._lists import Lists, Values

__all__ = ["map"]


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
