"""From Parquet parts to a model, in files (run: python benchmarks/larger_than_memory.py INTERACTIONS … [memory=4GB]).

Generated interactions (`_powerlaw.py`) with ten items in a mean history, drawn and written a million at a time; ids are
texts. A store is made of the parts, and `CoRML()` is fitted on it, each in a process of its own by all threads, with
kernels that were compiled on small data before. Anonymous memory is watched: pages of mapped files are not counted.
The estimate of `corml plan` is made before the fit, in another process. With `memory=…` each fit is repeated with
`max_memory`, and V and H must have the same bytes. Written after each size, the others stay as they were:
results/speed/larger_than_memory.json, and docs/images/larger_than_memory.svg, which `picture` alone draws again.
"""

import sys
import tempfile
import time
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from _drawing import BLUE, RED, panels, save
from _machine import alone, measured, watched_memory
from _powerlaw import Habits, degrees, draw, power_law
from _record import begin, read, write

import corml
from corml._runtime.parallel import threads

SMALL = 60_000  # to compile with
HISTORY = 10  # items of a mean user
ITEMS = {SMALL: 5_000, 10**6: 25_000, 10**7: 80_000, 2 * 10**7: 112_000, 10**8: 250_000}
PART = 10**6  # interactions drawn at once
NAME = "speed/larger_than_memory"


def items_of(total: int) -> int:
    """Items of the data: about with the root of the interactions."""
    return ITEMS.get(total, int(25 * total**0.5))


def digest(model: corml.CoRML) -> str:
    """A hash of V and H."""
    H = model.H_
    parts = (model.V_, H.indptr, H.indices, H.data)
    return sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


def generate(total: int, folder: str) -> None:
    items = items_of(total)
    popularity = degrees(power_law(items, 0.45), total, min_degree=1).astype(np.float64)
    Path(f"{folder}/{total}").mkdir()
    for part, begin_at in enumerate(range(0, total, PART)):
        size = min(PART, total - begin_at)
        activity = degrees(power_law(size // HISTORY, 0.25), size, min_degree=3)
        drawn = draw(popularity, activity, Habits(), seed=part + 1, catalogue=0)
        user, item = drawn["user"].astype(np.int64) + begin_at // HISTORY, drawn["item"]
        rows = np.random.default_rng(part).permutation(len(user))
        pl.DataFrame({"user": user[rows], "item": item[rows]}).select(
            user="u" + pl.col("user").cast(pl.String), item="sku-" + pl.col("item").cast(pl.String)
        ).write_parquet(f"{folder}/{total}/{part:04}.parquet")


class Clock:
    """Wall seconds of each stage that reports its progress."""

    def __init__(self) -> None:
        self.stages: dict[str, float] = {}
        self.last = time.perf_counter()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Take a report."""
        now = time.perf_counter()
        self.stages[stage] = round(self.stages.get(stage, 0.0) + now - self.last, 2)
        self.last = now


def build(total: int, folder: str) -> dict[str, Any]:
    if total != SMALL:
        corml.build_store(f"{folder}/{SMALL}/*.parquet", f"{folder}/{SMALL}.warm")
    record: dict[str, Any] = {}
    clock = Clock()
    with watched_memory(record), measured(record):
        store = corml.build_store(f"{folder}/{total}/*.parquet", f"{folder}/{total}.store", progress=clock)
    return record | {"stages": clock.stages, "bytes on disk": size_of(f"{folder}/{total}.store"), "rows": len(store)}


def size_of(folder: str) -> int:
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def fit(total: int, folder: str, limit: str | None) -> dict[str, Any]:
    corml.fit_store(corml.CoRML(), corml.Store(f"{folder}/{SMALL}.store"))
    record: dict[str, Any] = {"threads": threads()}
    clock, out = Clock(), Path(f"{folder}/{total}.corml")
    with watched_memory(record), measured(record):
        model = corml.fit_store(corml.CoRML(max_memory=limit), corml.Store(f"{folder}/{total}.store"), progress=clock)
        clock("after the last report", 1, 1)
    file: dict[str, Any] = {}
    with measured(file):
        model.save(out)
    plan = model.fitted_.plan
    assert plan is not None
    return record | {
        "stages": clock.stages,
        "predicted driver bytes": plan.predicted_bytes,
        "pairs of H": int(model.H_.nnz),
        "rank": int(model.V_.shape[1]),
        "solver": [one.report() for one in model.fitted_.certificates],
        "arrays": digest(model),
        "model file": file | {"bytes": out.stat().st_size},
    }


def foresee(total: int, folder: str) -> dict[str, Any]:
    found = corml.estimate(corml.CoRML(), corml.Store(f"{folder}/{total}.store"), nodes=1, cores=threads())
    seconds = sum(
        cost.seconds for cost in found.stages if cost.stage.name not in ("read and encode", "lists for everybody")
    )
    return {
        "fit seconds": round(seconds, 1),
        "core seconds": round(found.fit_seconds, 1),
        "driver bytes": int(found.driver_bytes),
    }


def measure(total: int, limit: str | None) -> dict[str, Any]:
    how = {
        "by": "benchmarks/larger_than_memory.py, generate(total)",
        "mean history": HISTORY,
        **asdict(Habits()),
        "seed": 0,
    }
    begun = begin(generated=how, seed=0, packages=("polars",))
    with tempfile.TemporaryDirectory() as folder:
        for size in (SMALL, total):
            alone(generate, size, folder)
        alone(build, SMALL, folder)
        row: dict[str, Any] = {"interactions": total, "items": items_of(total), "users": total // HISTORY}
        row |= {key: begun[key] for key in ("commit", "date", "machine")}
        row["bytes of Parquet"] = size_of(f"{folder}/{total}")
        row["store"] = alone(build, total, folder)
        print(total, "store", row["store"], flush=True)
        row["estimated"] = alone(foresee, total, folder)
        print(total, "estimated", row["estimated"], flush=True)
        row["fit"] = alone(fit, total, folder, None)
        print(total, "fit", row["fit"], flush=True)
        row["seconds from Parquet to model"] = round(
            row["store"]["seconds"] + row["fit"]["seconds"] + row["fit"]["model file"]["seconds"], 1
        )
        if limit is not None:
            again = alone(fit, total, folder, limit)
            assert again["arrays"] == row["fit"]["arrays"], "max_memory changed the answer"
            row[f"fit, max_memory={limit}"] = again | {"same bytes": True}
            print(total, limit, again, flush=True)
    known = (read(NAME) or {"rows": []})["rows"]
    rows = sorted([*(one for one in known if one["interactions"] != total), row], key=lambda one: one["interactions"])
    print(write(NAME, begun, {"rows": rows}))
    picture(rows)
    return row


def picture(rows: list[dict[str, Any]]) -> None:
    figure, (time, memory) = panels(2, height=3.2)
    size = [row["interactions"] for row in rows]
    for color, part in ((BLUE, "store"), (RED, "fit")):
        time.loglog(
            size, [row[part]["seconds"] / 60 for row in rows], color=color, marker="o", markersize=3, label=part
        )
        peaks = [row[part]["peak anonymous bytes"] / 2**30 for row in rows]
        memory.loglog(size, peaks, color=color, marker="o", markersize=3, label=part)
    time.loglog(size, [row["estimated"]["fit seconds"] / 60 for row in rows], ":", color=RED, label="fit, estimated")
    memory.loglog(
        size, [row["estimated"]["driver bytes"] / 2**30 for row in rows], ":", color=RED, label="fit, estimated"
    )
    time.set(xlabel="interactions", ylabel="minutes, two cores")
    memory.set(xlabel="interactions", ylabel="GiB of anonymous memory")
    for axes, ticks in ((time, (0.01, 0.1, 1, 10)), (memory, (0.2, 0.5, 1, 2, 5))):
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_yticks([], minor=True)
        axes.legend(frameon=False, fontsize=8)
    save(figure, "larger_than_memory")


if __name__ == "__main__":
    given = dict(argument.split("=") for argument in sys.argv[1:] if "=" in argument)
    if sys.argv[1:] == ["picture"]:
        picture((read(NAME) or {"rows": []})["rows"])
        raise SystemExit
    for argument in sys.argv[1:]:
        if "=" not in argument:
            measure(int(float(argument)), given.get("memory"))
