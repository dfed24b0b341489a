"""How far `corml plan` is from what happens (run: python benchmarks/plan.py [INTERACTIONS … | DATA … | walk]).

Stores of generated interactions (`_powerlaw.py`) at three sizes, or of the training pairs of public data. Each is made,
fitted on with the default settings and recommended to, all users, in a process of its own by one thread, with kernels
that are compiled before; every round of tasks is watched. The estimate is made in another process, which times its
kernels itself. CPU seconds are compared: in all, of each kernel, and of the driver, which is what is left. Writes
results/speed/plan.json; with sizes or names only a file of its own. `walk` only estimates, from 10⁶ to 10⁹
interactions: results/speed/plan_walk.json.
"""

import os
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl
from _machine import alone, load_split, peak
from _powerlaw import Habits, degrees, draw, power_law
from _record import begin, write
from _watched import watched_fit

import corml
from corml.outofcore import Shape
from corml.outofcore.fit.stages import LISTS, STORE

SIZES = {300_000: 5_000, 1_000_000: 20_000, 3_000_000: 50_000}  # interactions, and items
HISTORY = 20
WALK = {  # interactions, users, items, nodes, cores
    "1e6": (10**6, 50_000, 20_000, 1, 2),
    "1e7": (10**7, 10**6, 100_000, 1, 2),
    "1e8": (10**8, 10**7, 250_000, 1, 2),
    "1e9": (10**9, 10**8, 10**6, 1, 16),
    "1e9, 32 nodes": (10**9, 10**8, 10**6, 32, 16),
}
SMALL, SMALL_ITEMS = 60_000, 5_000  # to compile with


def generate(total: int | str, items: int | None, folder: str) -> None:
    """Write the pairs of a size, or those of a public data set."""
    if isinstance(total, str):
        load_split(total).train.to_frame().write_parquet(f"{folder}/{total}.parquet")
        return
    assert items is not None
    popularity = degrees(power_law(items, 0.45), total, min_degree=1).astype(np.float64)
    activity = degrees(power_law(total // HISTORY, 0.25), total, min_degree=5)
    drawn = draw(popularity, activity, Habits(), min_degree=1)
    pl.DataFrame({name: drawn[name] for name in ("user", "item")}).write_parquet(f"{folder}/{total}.parquet")


def build(total: int | str, folder: str) -> float:
    if total != SMALL:
        build(SMALL, folder)
    begun = time.process_time()
    corml.build_store(f"{folder}/{total}.parquet", f"{folder}/{total}.store", memory="256MB")
    return round(time.process_time() - begun, 3)


def measure(total: int | str, folder: str) -> dict[str, Any]:
    small, _ = watched_fit(f"{folder}/{SMALL}.store")
    corml.recommend_to(small, f"{folder}/lists-{SMALL}-{total}", data=corml.Store(f"{folder}/{SMALL}.store"), k=20)
    wall, begun = time.perf_counter(), time.process_time()
    model, kernels = watched_fit(f"{folder}/{total}.store")
    took, waited, most = time.process_time() - begun, time.perf_counter() - wall, peak()
    begun = time.process_time()
    corml.recommend_to(model, f"{folder}/lists-{total}", data=corml.Store(f"{folder}/{total}.store"), k=20)
    in_tasks = sum(one["cpu seconds"] for one in kernels.values())
    return {
        "fit": round(took, 3),
        "fit, wall": round(waited, 3),
        "peak bytes": most,
        "lists": round(time.process_time() - begun, 3),
        "rank": int(model.settings_.rank),
        "driver": round(took - in_tasks, 3),
        "kernels": {name: {**one, "cpu seconds": round(one["cpu seconds"], 3)} for name, one in kernels.items()},
    }


def foresee(total: int | str, folder: str) -> dict[str, Any]:
    begun = time.process_time()
    found = corml.estimate(corml.CoRML(), corml.Store(f"{folder}/{total}.store"), nodes=1, cores=1)
    kernels: dict[str, dict[str, float]] = defaultdict(lambda: {"runs": 0, "tasks": 0, "cpu seconds": 0.0})
    for cost in found.stages:
        if cost.stage.kernel:
            of_kernel = kernels[cost.stage.kernel]
            of_kernel["runs"] += cost.stage.runs
            of_kernel["tasks"] += cost.stage.all_tasks
            of_kernel["cpu seconds"] = round(of_kernel["cpu seconds"] + cost.core_seconds, 3)
    by_name = {cost.stage.name: cost for cost in found.stages}
    return {
        "fit": round(found.fit_seconds, 3),
        "lists": round(by_name[LISTS].core_seconds, 3),
        "store": round(by_name[STORE].core_seconds, 3),
        "driver": round(sum(cost.driver_seconds for cost in found.stages), 3),
        "driver bytes": int(found.driver_bytes),
        "kernels": dict(kernels),
        "assumptions that would give these counts": found.counts.unevenness,
        "rates": dict(found.rates),
        "calibration and counting": round(time.process_time() - begun, 3),
    }


def walk() -> None:
    begun = begin(generated={"by": "nothing: numbers alone", "seed": 0}, seed=0)
    found = {}
    for name, (interactions, users, items, nodes, cores) in WALK.items():
        shape = Shape(interactions=interactions, users=users, items=items)
        one = corml.estimate(corml.CoRML(), shape, nodes=nodes, cores=cores)
        stages = {
            cost.stage.name: {
                "tasks": cost.stage.all_tasks,
                "core seconds": round(cost.core_seconds, 1),
                "seconds": round(cost.seconds, 1),
                "driver seconds": round(cost.driver_seconds, 1),
            }
            for cost in one.stages
        }
        fit = sum(cost.seconds for cost in one.fit)
        found[name] = {
            "label": "estimated",
            "store seconds": stages[STORE]["seconds"],
            "fit seconds": round(fit, 1),
            "fit core seconds": round(one.fit_seconds, 1),
            "lists seconds": stages[LISTS]["seconds"],
            "driver bytes": int(one.driver_bytes),
            "worker bytes": int(one.worker_bytes),
            "counts": one.counts.report(),
            "nodes": nodes,
            "cores": cores,
            "stages": stages,
        }
        print(name, {key: value for key, value in found[name].items() if isinstance(value, int | float)})
        print("   ", one.sentence())
    assumed = {"user_skew": Shape.user_skew, "distinct": Shape.distinct}
    print(write("speed/plan_walk", begun, {"assumptions": assumed, "estimates": found}))


def main(arguments: list[int | str]) -> None:
    os.environ |= {"CORML_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    sizes = {one: None if isinstance(one, str) else SIZES.get(one, one // 60) for one in arguments} or SIZES
    public = [one for one in sizes if isinstance(one, str)]
    how = {"by": "benchmarks/plan.py, generate", "mean history": HISTORY, **asdict(Habits()), "seed": 0}
    if 0 < len(public) < len(sizes):
        raise SystemExit("Give sizes or names of data, not both.")
    begun, found = begin(*public, generated=None if public else how, seed=0, packages=("polars",)), {}
    with tempfile.TemporaryDirectory() as folder:
        alone(generate, SMALL, SMALL_ITEMS, folder)
        alone(build, SMALL, folder)
        for total, items in sizes.items():
            alone(generate, total, items, folder)
            made = alone(build, total, folder)
            measured, estimated = alone(measure, total, folder), alone(foresee, total, folder)
            measured["store"] = made
            ratio = round(estimated["fit"] / measured["fit"], 2)
            name = total if isinstance(total, str) else f"{total:,} interactions"
            found[name] = {
                "items": items, "measured": measured, "estimated": estimated, "estimated / measured": ratio,
            }  # fmt: skip
            print(f"{name}: measured {measured['fit']} s, estimated {estimated['fit']} s, {ratio}")
            for kernel, one in measured["kernels"].items():
                print(
                    f"    {kernel}: {one['cpu seconds']} s, {estimated['kernels'].get(kernel, {}).get('cpu seconds')} s"
                )
            for part in ("driver", "store", "lists"):
                print(f"    {part}: {measured[part]} s, {estimated[part]} s")
    print(write("speed/plan-" + "-".join(map(str, arguments)) if arguments else "speed/plan", begun, {"runs": found}))


if __name__ == "__main__":
    given = sys.argv[1:]
    walk() if given == ["walk"] else main([int(float(one)) if one[:1].isdigit() else one for one in given])
