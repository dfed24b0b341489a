"""What pruning costs EASE and SLIM (run: python benchmarks/pruned.py DATA [DATA …]).

The paper keeps the largest weights of both, as many as take the storage of a factor model of size 64; ours are whole.
Both are evaluated on the test part with the settings of published.toml. Writes results/reproduce/pruned-DATA.json.
"""

import copy
import sys
from dataclasses import replace
from typing import Any

import numpy as np
from _machine import load_split
from _record import begin, write
from scipy.sparse import csr_array

import corml
from corml.experiments.reproduce.published import read_published
from corml.models.recommender import Recommender

MODELS, SIZE, METRIC = ("ease", "slim"), 64, "ndcg@10"


def largest(W: csr_array, count: int) -> csr_array:
    """The entries that are largest in size, at most so many."""
    if W.nnz <= count:
        return W
    kept = W.copy()
    threshold = np.partition(np.abs(W.data), W.nnz - count - 1)[W.nnz - count - 1]
    kept.data[np.abs(W.data) <= threshold] = 0
    kept.eliminate_zeros()
    return kept


def pruned(model: Recommender, users: int) -> Recommender:
    """The same model, stored in no more numbers than a factor model: two for an entry, one for a row."""
    W = model.fitted_.arrays["weights"]
    count = (SIZE * (users + W.shape[0]) - W.shape[0] - 1) // 2
    changed = copy.copy(model)
    changed.fitted_ = replace(model.fitted_, arrays={**model.fitted_.arrays, "weights": largest(W, count)})
    return changed


def run(data: str) -> None:
    begun, split = begin(data), load_split(data)
    record: dict[str, Any] = {"data": data, "part": "test", "size": SIZE}
    for name in MODELS:
        known = read_published().row(name, data)
        assert known is not None
        whole = known.model.fit(split.train)
        both = {"whole": whole, "pruned": pruned(whole, len(split.train.users))}
        record[name] = {
            label: {
                "entries": int(model.fitted_.arrays["weights"].nnz),
                METRIC: corml.evaluate(model, split, [METRIC], intervals=False)[METRIC],
            }
            for label, model in both.items()
        }
        print(data, name, record[name], flush=True)
    write(f"reproduce/pruned-{data}", begun, record)


if __name__ == "__main__":
    for data in sys.argv[1:]:
        run(data)
