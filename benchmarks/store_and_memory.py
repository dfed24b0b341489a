"""A fit in files beside one in memory (run: python benchmarks/store_and_memory.py [DATA]).

`CoRML(adapt=False)` on the training pairs of a public data set, in memory and on a store, each in a process of its own
by one thread; then H, the lists of 20 of all users and NDCG@10 on the test part are compared. Writes
results/speed/store_and_memory-DATA.json.
"""

import os
import sys
import tempfile
from typing import Any

import numpy as np
from _machine import alone, load_split, measured
from _record import begin, write

import corml


def fit(data: str, folder: str, in_files: bool) -> dict[str, Any]:
    split, path = load_split(data), f"{folder}/data.store"
    if not os.path.exists(path):
        split.train.to_frame().write_parquet(f"{folder}/data.parquet")
        corml.build_store(f"{folder}/data.parquet", path)
    train = corml.Store(path) if in_files else corml.Store(path).interactions()  # without items nobody has in train
    corml.CoRML(adapt=False).fit(train)  # compiled
    record: dict[str, Any] = {}
    with measured(record):
        model = corml.CoRML(adapt=False).fit(train)  # type: ignore[arg-type]
    record["ndcg@10"] = corml.evaluate(model, split, ["ndcg@10"]).means["ndcg@10"]
    model.save(f"{folder}/{'files' if in_files else 'memory'}.corml")
    return record


def compare(folder: str) -> dict[str, Any]:
    files, memory = (corml.read_model(f"{folder}/{name}.corml") for name in ("files", "memory"))
    assert files.items == memory.items
    difference = abs(files.H_ - memory.H_).max()
    users = list(memory.users_)
    lists = [model.recommend(users, k=20).items for model in (files, memory)]
    return {
        "largest difference of H": float(difference),
        "lists": len(users),
        "equal lists": int(np.sum((lists[0] == lists[1]).all(axis=1))),
    }


def main(data: str) -> None:
    os.environ |= {"CORML_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    begun = begin(data, seed=0)
    with tempfile.TemporaryDirectory() as folder:
        found = {name: alone(fit, data, folder, name == "files") for name in ("memory", "files")}
        print(found, flush=True)
        record = {**found, **alone(compare, folder)}
    print(write(f"speed/store_and_memory-{data}", begun, record))


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["gowalla"]))
