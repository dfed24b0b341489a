"""What a cluster costs on one machine (run: python benchmarks/workers.py [gowalla | INTERACTIONS] [WORKERS …]).

The same fit, `CoRML(adapt=False)` on a store, by one process and by local workers of Dask, each with one thread.
Processor seconds are those of all processes together, without starting the workers and compiling; the bytes of V and H
must be the same. `gowalla` is the public data set, whose tasks are short; a number is generated data
(`larger_than_memory.py`), whose tasks take a second and more. Writes results/speed/workers-NAME.json.
"""

import os
import sys
import tempfile
import time
from dataclasses import asdict
from typing import Any

from _machine import alone, load_split
from _powerlaw import Habits
from _record import begin, write
from larger_than_memory import HISTORY, SMALL, digest, generate

import corml
from corml.outofcore.fit import files as cuts
from corml.outofcore.tasks.cluster import local_workers

COUNTS = (1, 2, 4)


def spent() -> float:
    """Processor seconds of this process so far."""
    return time.process_time()


def fit(store: str, warm: str, workers: int) -> dict[str, Any]:
    """One fit by this process and so many workers; 0 is this process alone."""
    corml.fit_store(corml.CoRML(adapt=False), corml.Store(warm))
    if workers == 0:
        return measured(store, None)
    with local_workers(workers) as client:
        corml.fit_store(corml.CoRML(adapt=False), corml.Store(warm), cluster=client)  # compiled, and opened
        return measured(store, client)


def measured(store: str, client: Any) -> dict[str, Any]:
    def all_processes() -> float:
        others = client.run(spent).values() if client is not None else []
        return spent() + sum(others)

    wall, before = time.perf_counter(), all_processes()
    model = corml.fit_store(corml.CoRML(adapt=False), corml.Store(store), cluster=client)
    return {
        "seconds": round(time.perf_counter() - wall, 2),
        "cpu seconds": round(all_processes() - before, 2),
        "bytes of V and H": digest(model),
    }


def make(name: str, folder: str) -> None:
    if name == "gowalla":
        load_split(name).train.to_frame().write_parquet(f"{folder}/data.parquet")
        corml.build_store(f"{folder}/data.parquet", f"{folder}/data.store")
    else:
        generate(int(float(name)), folder)
        corml.build_store(f"{folder}/{int(float(name))}/*.parquet", f"{folder}/data.store")
    generate(SMALL, folder)
    corml.build_store(f"{folder}/{SMALL}/*.parquet", f"{folder}/warm.store")


def main(name: str, counts: tuple[int, ...]) -> None:
    os.environ |= {"CORML_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    how = {"by": "benchmarks/larger_than_memory.py", "mean history": HISTORY, **asdict(Habits()), "seed": 0}
    data, made = (["gowalla"], None) if name == "gowalla" else ([], how)
    begun = begin(*data, generated=made, seed=0, packages=("dask", "distributed"))
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        alone(make, name, folder)
        store = corml.Store(f"{folder}/data.store")
        for count in (0, *counts):
            title = f"{count} workers" if count else "serial"
            found[title] = alone(fit, str(store.path), f"{folder}/warm.store", count)
            found[title]["over serial"] = round(found[title]["cpu seconds"] / found["serial"]["cpu seconds"], 3)
            print(title, found[title], flush=True)
        assert len({one["bytes of V and H"] for one in found.values()}) == 1, "workers change the answer"
        size = {"users": store.users, "items": store.items, "interactions": len(store), "gathers a task": cuts.GATHERS}
    print(write(f"speed/workers-{name}", begun, {**size, "runs": found}))


if __name__ == "__main__":
    given = sys.argv[1:] or ["gowalla"]
    main(given[0], tuple(map(int, given[1:])) or COUNTS)
