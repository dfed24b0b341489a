"""What making a store costs (run: python benchmarks/store.py [ROWS]).

Generated rows: a user, an item, a rating and a time; ten rows a user in the mean, items by a power law, one row in
twenty repeats a pair. They are written as eight Parquet files, and as eight CSV files; a store is made of each, with
the default budget and with a small one, in a process of its own that has compiled its kernels before. A quarter of the
rows is measured likewise: memory should not follow. Writes results/speed/store.json; with a number of rows only a file
of its own, results/speed/store-ROWS.json.
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from _machine import alone, measured, watched_memory
from _record import begin, write

import corml

ROWS = 2_000_000
FILES = 8
ITEMS = 50_000
BUDGETS = ("1GB", "64MB")


def generate(rows: int, folder: str, kind: str) -> None:
    rng = np.random.default_rng(0)
    for part in range(FILES):
        size = rows // FILES
        user, item = rng.integers(0, rows // 10, size), (ITEMS * rng.random(size) ** 3).astype(np.int64)
        again = rng.integers(0, size, size // 20)
        user[: len(again)], item[: len(again)] = user[again], item[again]
        frame = pl.DataFrame(
            {
                "user": user,
                "item": pl.Series(item).cast(pl.String).str.zfill(8).str.replace("^", "sku-"),
                "rating": rng.integers(1, 6, size),
                "time": rng.integers(1_500_000_000, 1_700_000_000, size),
            }
        )
        name = f"{folder}/{kind}-{rows}-{part}.{kind}"
        frame.write_parquet(name) if kind == "parquet" else frame.write_csv(name)


def build(pattern: str, warm: str, out: str, budget: str) -> dict[str, Any]:
    corml.build_store(warm, f"{out}.warm", memory=budget)
    record: dict[str, Any] = {}
    stages: dict[str, float] = {}
    clock = [time.process_time()]

    def stage(name: str, count: int, total: int) -> None:
        now = time.process_time()
        stages[name], clock[0] = stages.get(name, 0.0) + now - clock[0], now

    with watched_memory(record), measured(record):
        store = corml.build_store(pattern, out, memory=budget, progress=stage)
    rows = store.manifest.counts["rows"]
    size = sum(path.stat().st_size for path in Path(out).rglob("*") if path.is_file())
    return record | {
        "rows": rows,
        "interactions": len(store),
        "parts": len(store.manifest.user_starts) - 1,
        "microseconds a row": round(1e6 * record["cpu seconds"] / rows, 3),
        "by stage": {name: round(1e6 * seconds / rows, 3) for name, seconds in stages.items()},
        "bytes on disk": size,
    }


def main(arguments: list[int]) -> None:
    rows = arguments[0] if arguments else ROWS
    begun = begin(
        generated={"by": "benchmarks/store.py, generate(rows)", "items": ITEMS, "seed": 0}, seed=0, packages=("polars",)
    )
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("parquet", "csv"):
            alone(generate, 8000, folder, kind)
            for size in (rows // 4, rows):
                alone(generate, size, folder, kind)
                for budget in BUDGETS:
                    warm, pattern = (f"{folder}/{kind}-{number}-*.{kind}" for number in (8000, size))
                    found[f"{kind}, {size:,} rows, {budget}"] = alone(
                        build, pattern, warm, f"{folder}/{kind}-{size}-{budget}", budget
                    )
    print(write(f"speed/store-{rows}" if arguments else "speed/store", begun, {"runs": found}))
    for name, one in found.items():
        print(
            f"{name}: {one['microseconds a row']} us a row, {one['peak anonymous bytes'] >> 20} MiB, {one['by stage']}"
        )


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]])
