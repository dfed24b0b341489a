"""What weights cost: the same pairs alike and with random weights (run: python benchmarks/weighted_fit.py DATA).

Each fit runs in a process of its own, in turn, several times over; the median of its processor seconds counts. Kernels
that are given weights read a number for each interaction where the others count. Writes
results/corml/weighted-fit-DATA.json.
"""

import sys
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
from _machine import SEED, alone, load_split, measured, notes
from _record import begin, write

import corml
from corml import models

RUNS = 2
FITS: dict[str, tuple[str, dict[str, Any]]] = {"corml": ("corml", {}), "ease": ("ease", {"route": "local"})}


def fit(data: str, fit: str, weighted: bool) -> dict[str, Any]:
    """One fit, after another one has compiled what it takes."""
    name, settings = FITS[fit]
    tiny = load_split("movielens-small").train
    models.make(name, settings).fit(with_weights(tiny) if weighted else tiny)
    if name == "corml":
        corml.CoRML(candidates=50, adapt=False).fit(with_weights(tiny) if weighted else tiny)
    train = load_split(data).train
    train = with_weights(train) if weighted else train
    record: dict[str, Any] = {}
    with measured(record):
        model = models.make(name, settings).fit(train)
    return record | {"notes": notes(model)}


def with_weights(data: corml.Interactions) -> corml.Interactions:
    """Some pairs count three times as much, few ten times."""
    weights = np.random.default_rng(SEED).choice([1.0, 3.0, 10.0], len(data), p=[0.7, 0.2, 0.1])
    return replace(data, weights=weights.astype(np.float32))


def main(data: str) -> None:
    """Measure and write."""
    begun, record = begin(data), {"data": data, "runs": RUNS}
    for name in FITS:
        runs = [
            {kind: alone(fit, data, name, kind == "weighted") for kind in ("alike", "weighted")} for _ in range(RUNS)
        ]
        record[name] = {kind: min((run[kind] for run in runs), key=lambda one: one["cpu seconds"]) for kind in runs[0]}
        for what in ("cpu seconds", "peak bytes"):
            medians = {kind: median(run[kind][what] for run in runs) for kind in runs[0]}
            record[name][f"median {what}"] = medians
            record[name][f"{what}, weighted / alike"] = round(medians["weighted"] / medians["alike"], 3)
        print(name, {key: value for key, value in record[name].items() if "median" in key or "/" in key}, flush=True)
    write(f"corml/weighted-fit-{data}", begun, record)


if __name__ == "__main__":
    main(sys.argv[1])
