"""Seconds of a fit beside EASE, ALS and SANSA, in one run (run: python benchmarks/race.py [DATA …]).

CoRML() and CoRML(adapt=False), our own EASE by the faster of its routes, ALS of implicit (256 factors, 16 iterations)
and SANSA (density 0.01, incomplete Cholesky), each in a process of its own, compiled before it is timed; the smallest
of several runs counts. What is not installed is left out, and the reason is written down. Predicted seconds are those
of the plan. Writes results/speed/race-DATA.json and the table in docs/speed.md.
"""

import logging
import sys
import warnings
from typing import Any

import _rivals
from _machine import alone, load_split, measured
from _packages import missing
from _record import begin, write
from pages import write_tables

import corml
from corml.models.linear.ease import EASE

RUNS = {"movielens-small": 7}
DENSE = 20_000  # items, up to which the dense route of EASE is run
ALS = {"factors": 256, "alpha": 10, "regularization": 10.0}
SANSA = {"l2": 10.0, "density": 0.01, "factorizer": "icf"}
PACKAGES = {"ALS": "implicit", "SANSA": "sansa"}


def fit(model: str, train: corml.Interactions) -> None:
    """One whole fit."""
    if model == "ALS":
        list(_rivals.als(train, **ALS))
    elif model == "SANSA":
        list(_rivals.sansa(train, **SANSA))
    elif model.startswith("EASE"):
        EASE(route=model.split(", ")[1]).fit(train)
    else:
        corml.CoRML(adapt=model == "CoRML()").fit(train)


def time_of(model: str, data: str, runs: int) -> dict[str, Any]:
    """The fastest of some fits."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    small = corml.split(corml.load("movielens-small", at_least=4, k_core=5), "ratio", seed=2026).train
    train = load_split(data).train
    fit(model, small)
    if model.startswith("CoRML"):
        corml.CoRML(candidates=50, adapt=False).fit(small)  # as on large data
    records: list[dict[str, Any]] = [{} for _ in range(runs)]
    for record in records:
        with measured(record):
            fit(model, train)
    best = min(records, key=lambda record: record["seconds"])
    if model.startswith("CoRML"):
        plan = corml.CoRML(adapt=model == "CoRML()").plan(train)
        best["predicted seconds"] = round(plan.predicted_seconds, 3)
    return best


def run(data: str) -> None:
    begun = begin(data, packages=("implicit", "sansa"))
    items = len(load_split(data).train.items)
    models = ["CoRML(adapt=False)", "CoRML()", "EASE, local", "ALS", "SANSA"]
    models += ["EASE, dense"] if items <= DENSE else []
    record: dict[str, Any] = {"data": data, "items": items, "models": {}}
    for model in models:
        reason = alone(missing, PACKAGES[model]) if model in PACKAGES else None
        if model == "SANSA" and items > DENSE:
            reason = f"not run above {DENSE:,} items: a trial was stopped after five minutes"
        record["models"][model] = {"skipped": reason} if reason else alone(time_of, model, data, RUNS.get(data, 1))
        print(data, model, record["models"][model], flush=True)
        write(f"speed/race-{data}", begun, record)


if __name__ == "__main__":
    for name in sys.argv[1:] or ("movielens-small", "pinterest", "gowalla"):
        run(name)
    write_tables()
