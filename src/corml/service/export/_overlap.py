"""How much of the model's lists survives when pairs are dropped, measured on some of its own users."""

from typing import Any, Self

import numpy as np
from scipy.sparse import csc_array, csr_array

from corml.linalg.products import add_sparse_product
from corml.linalg.topk import TopK
from corml.models.recommender import Recommender
from corml.recommend.rank import top_k

USERS = 500
NUMBERS = 1 << 25  # scores of all these users, which are held at once
SEED = 2026


class Overlap:
    """Lists of a sample of users: the model's own, and those of the kept weights, which are summed as they pass."""

    def __init__(self, model: Recommender, histories: csr_array, k: int) -> None:
        self.k = min(k, len(model.items_))
        self.histories = histories
        self.columns = csc_array(histories)
        self.exact, _ = top_k(model, histories, self.k, seen=histories)
        self.scores = np.zeros(histories.shape, dtype=np.float32)

    @classmethod
    def of(cls, model: Recommender, k: int) -> Self | None:
        """Of users drawn at random who have a history; None if the model file has none."""
        if not len(model.fitted_.users):  # how many there were is then only a number of the file
            return None
        train = model.train_
        known = np.flatnonzero(np.diff(train.indptr))
        size = min(USERS, len(known), max(1, NUMBERS // train.shape[1]))
        if not size:
            return None
        rows = np.sort(np.random.default_rng(SEED).choice(known, size=size, replace=False))
        histories = csr_array(train[rows])
        histories.sort_indices()
        return cls(model, histories, k)

    def add(self, first: int, kept: csr_array) -> None:
        """Add the weights of some items, those from `first` on, to the scores of histories that have them."""
        part = csr_array(self.columns[:, first : first + kept.shape[0]])
        add_sparse_product(part, kept, self.scores)

    def facts(self) -> dict[str, Any]:
        """The mean share of a list that is the same, and the share of lists that are, in whatever order."""
        best = TopK(len(self.exact), self.k, self.histories)
        best.add(self.scores, 0)
        shares = [
            len(np.intersect1d(mine[mine >= 0], theirs[theirs >= 0])) / max(1, int((theirs >= 0).sum()))
            for mine, theirs in zip(best.columns, self.exact, strict=True)
        ]
        return {
            "overlap": round(float(np.mean(shares)), 4),
            "overlap_same_lists": round(float(np.mean(np.array(shares) == 1)), 4),
            "overlap_k": self.k,
            "overlap_users": len(shares),
        }
