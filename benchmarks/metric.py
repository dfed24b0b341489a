"""How far lists follow the distance (run: python benchmarks/metric.py [DATA]).

For a sample of users: which of the ten recommended items are also among the ten nearest unseen ones, by the metric of
H. By Conclusion 1 of the paper the nearest are those with the largest H part of the score, and that order is taken. At
the defaults G has a say as well, with another exponent of the item degrees. With `filter_norm` equal to `item_norm`
both parts together are one metric; with `mix=1` there is no G, and both lists are the same. Writes
results/corml/metric-DATA.json.
"""

import sys
from typing import Any

import numpy as np
from _machine import load_split
from _record import begin, write

import corml

SETTINGS: dict[str, dict[str, Any]] = {"default": {}, "mix=1": {"mix": 1.0}}
SAMPLE, TOP = 2000, 10


def best(scores: Any, seen: Any) -> Any:
    scores[seen.nonzero()] = -np.inf
    return np.argsort(-scores, axis=1, kind="stable")[:, :TOP]


def shared(split: corml.Split, settings: dict[str, Any]) -> float:
    """Mean share of the recommended items that are among the nearest."""
    model = corml.CoRML(**settings).fit(split.train)
    active = np.flatnonzero(split.train.user_degrees > 0)
    users = np.sort(np.random.default_rng(0).choice(active, min(SAMPLE, len(active)), replace=False))
    X = split.train.matrix[users]
    lists = best(model._scoring.block(X, slice(0, X.shape[1])), X)
    nearest = best((X @ model._scoring.H_scaled).toarray(), X)
    return float(np.mean([len(set(a) & set(b)) / TOP for a, b in zip(lists, nearest, strict=True)]))


def main(name: str) -> None:
    begun, split = begin(name), load_split(name)
    shares = {what: round(shared(split, settings), 4) for what, settings in SETTINGS.items()}
    print(write(f"corml/metric-{name}", begun, {"data": name, "users": SAMPLE, "top": TOP, "shared": shares}), shares)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "movielens-small")
