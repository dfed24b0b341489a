"""What one writes first: a loop over users in NumPy, one score row, one sort and plain Python metrics for each."""

import math
from collections import Counter
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import corml

CUTS = (5, 10, 20)
NAMES = (
    *("ndcg", "mrr", "recall", "capped_recall", "precision", "hit_rate", "map"),
    *("novelty", "self_information", "popularity", "coverage", "gini"),
)


class Plain:
    """The scores of a fitted CoRML, made for one user at a time from the same arrays."""

    def __init__(self, model: corml.CoRML, split: corml.Split) -> None:
        scoring = model._scoring
        self.H, self.left, self.right = scoring.H_scaled, scoring.left, scoring.right
        self.train, self.test = split.train.matrix, split.test.matrix
        self.seen = csr_array(split.train.matrix + split.valid.matrix)
        self.degrees, self.users = split.train.item_degrees, int((split.train.user_degrees > 0).sum())

    def ranked(self, user: int, seen: csr_array) -> Any:
        history = row(self.train, user)
        scores = (self.train[[user]] @ self.H).toarray()[0] + self.left[history].sum(axis=0) @ self.right.T
        scores[row(seen, user)] = -np.inf
        return np.argsort(-scores)

    def evaluate(self, users: list[int]) -> dict[str, list[float]]:
        """The metrics of NAMES at every cut; those about all lists together have one value."""
        values: dict[str, list[float]] = {}
        shown = {k: Counter[int]() for k in CUTS}
        for user in users:
            best, targets = self.ranked(user, self.seen)[: max(CUTS)].tolist(), set(row(self.test, user).tolist())
            for k in CUTS:
                shown[k].update(best[:k])
                for name, value in self.metrics_of(best[:k], targets, k).items():
                    values.setdefault(f"{name}@{k}", []).append(value)
        for k in CUTS:
            counts = sorted(shown[k].values())
            n, total = len(self.degrees), sum(counts)
            order = range(n - len(counts) + 1, n + 1)
            values[f"coverage@{k}"] = [len(counts) / n]
            values[f"gini@{k}"] = [sum((2 * j - n - 1) * c for j, c in zip(order, counts, strict=True)) / (n * total)]
        return values

    def metrics_of(self, best: list[int], targets: set[int], k: int) -> dict[str, float]:
        hits = [item in targets for item in best]
        ranks = [rank for rank, hit in enumerate(hits, start=1) if hit]
        ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(targets)) + 1))
        shares = [max(int(self.degrees[item]), 1) / self.users for item in best]
        bits = sum(-math.log2(share) for share in shares) / k
        return {
            "ndcg": sum(1 / math.log2(rank + 1) for rank in ranks) / ideal,
            "mrr": 1 / ranks[0] if ranks else 0.0,
            "recall": len(ranks) / len(targets),
            "capped_recall": len(ranks) / min(k, len(targets)),
            "precision": len(ranks) / k,
            "hit_rate": float(bool(ranks)),
            "map": sum(hit / rank for hit, rank in enumerate(ranks, start=1)) / min(k, len(targets)),
            "novelty": bits / math.log2(self.users),
            "self_information": bits,
            "popularity": sum(int(self.degrees[item]) for item in best) / self.users / k,
        }


def row(matrix: csr_array, user: int) -> Any:
    return matrix.indices[matrix.indptr[user] : matrix.indptr[user + 1]]
