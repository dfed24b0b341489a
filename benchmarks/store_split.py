"""What a split of a store, an evaluation on it and lists for everybody cost (python benchmarks/store_split.py [ROWS]).

The rows of benchmarks/store.py, ratings of 3 and more, in a store with a budget of 64 MB. `item-knn`, fitted on the
train part of the smaller store, is evaluated and makes lists; the evaluation in memory is of the same split, and its
figures must be the same. Each step has a process of its own, which has compiled its kernels on small data before. A
quarter of the rows is measured likewise: memory should not follow. Writes results/speed/store_split.json; with a number
of rows only a file of its own.
"""

import sys
import tempfile
from collections.abc import Callable
from typing import Any

from _machine import alone, measured, watched_memory
from _record import begin, write
from store import ITEMS, generate

import corml

ROWS = 1_000_000
SMALL = 8000
METRICS = ["ndcg@10", "recall@20", "novelty@10", "coverage@10"]


def step(name: str, folder: str, rows: int) -> dict[str, Any]:
    model = corml.read_model(f"{folder}/model.corml") if name in ("evaluate", "in memory", "lists") else None
    work(name, f"{folder}/{SMALL}", model, f"{folder}/{SMALL}.{name}")()
    record: dict[str, Any] = {}
    with watched_memory(record), measured(record):
        made = work(name, f"{folder}/{rows}", model, f"{folder}/{rows}.{name}")()
    store = corml.Store(f"{folder}/{rows}")
    record |= {"users": store.users, "interactions": len(store)}
    each = store.users if model is not None else len(store)
    record["microseconds a user" if model is not None else "microseconds a pair"] = round(
        1e6 * record["cpu seconds"] / each, 3
    )
    return record | ({"figures": dict(made.means), "evaluated": len(made.users)} if hasattr(made, "means") else {})


def work(name: str, store: str, model: Any, out: str) -> Callable[[], Any]:
    """What is measured, by its name."""
    if name in ("ratio", "temporal", "new-users"):
        return lambda: corml.split(corml.Store(store), name, out=out)
    if name == "evaluate":
        return lambda: corml.evaluate(model, f"{store}.ratio", METRICS, intervals=False)
    if name == "in memory":
        whole = corml.read_split(f"{store}.ratio").interactions()  # type: ignore[union-attr]
        return lambda: corml.evaluate(model, whole, METRICS, intervals=False)
    return lambda: corml.recommend_to(model, out, data=corml.Store(store), k=20)


def prepare(folder: str, rows: int) -> None:
    generate(rows, folder, "parquet")
    corml.build_store(f"{folder}/parquet-{rows}-*.parquet", f"{folder}/{rows}", memory="64MB", at_least=3)


def fit(folder: str, rows: int) -> None:
    train = corml.read_split(f"{folder}/{rows}.ratio").train.interactions()  # type: ignore[union-attr]
    corml.models.make("item-knn", {}).fit(train).save(f"{folder}/model.corml")


def main(arguments: list[int]) -> None:
    rows = arguments[0] if arguments else ROWS
    begun = begin(
        generated={"by": "benchmarks/store.py, generate(rows)", "items": ITEMS, "seed": 0}, seed=0, packages=("polars",)
    )
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in (SMALL, rows // 4, rows):
            alone(prepare, folder, size)
        for size in (rows // 4, rows):
            for name in ("ratio", "temporal", "new-users"):
                found[f"{name}, {size:,} rows"] = alone(step, name, folder, size)
        alone(fit, folder, rows // 4)
        for size in (rows // 4, rows):
            for name in ("evaluate", "in memory", "lists"):
                found[f"{name}, {size:,} rows"] = alone(step, name, folder, size)
            store, memory = (found[f"{name}, {size:,} rows"]["figures"] for name in ("evaluate", "in memory"))
            assert store == memory, (store, memory)
    print(write(f"speed/store_split-{rows}" if arguments else "speed/store_split", begun, {"runs": found}))
    for name, one in found.items():
        each = next(f"{value} {key}" for key, value in one.items() if key.startswith("microseconds"))
        print(f"{name}: {each}, {one['seconds']} s, {one['peak anonymous bytes'] >> 20} MiB")


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]])
