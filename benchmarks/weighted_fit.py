"""What weights cost: the same pairs alike and with random weights (run: python benchmarks/weighted_fit.py DATA).

Fits take turns in one process, after tiny ones have loaded the compiled kernels; the median of their processor seconds
counts. Kernels that are given weights read a number for each interaction where the others count. Writes
results/corml/weighted-fit-DATA.json.
"""

import sys
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
from _machine import SEED, load_split, measured, notes
from _record import begin, write

import corml
from corml import models

FITS: dict[str, tuple[int, dict[str, Any]]] = {"corml": (2, {}), "ease": (1, {"route": "local"})}  # how often, and how


def with_weights(data: corml.Interactions) -> corml.Interactions:
    """Some pairs count three times as much, few ten times."""
    weights = np.random.default_rng(SEED).choice([1.0, 3.0, 10.0], len(data), p=[0.7, 0.2, 0.1])
    return replace(data, weights=weights.astype(np.float32))


def warm() -> None:
    """Load compiled kernels, for both kinds of data."""
    rng = np.random.default_rng(0)
    plain = corml.Interactions.from_pairs(*np.nonzero(rng.random((300, 60)) < 0.1))
    for data in (plain, with_weights(plain)):
        for settings in ({}, {"candidates": 5, "pair_tol": 0.01}):
            corml.CoRML(rank=4, solver="sparse", **settings).fit(data)
        models.make("ease", {"route": "local"}).fit(data)


def fits(name: str, train: corml.Interactions) -> dict[str, Any]:
    """Figures of a model, alike and weighted in turn."""
    runs, settings = FITS[name]
    kinds, figures = {"alike": train, "weighted": with_weights(train)}, {"alike": [], "weighted": []}
    record: dict[str, Any] = {"runs": runs}
    for _ in range(runs):
        for kind, data in kinds.items():
            one: dict[str, Any] = {}
            with measured(one):
                model = models.make(name, settings).fit(data)
            figures[kind].append(one)
            record[kind] = {"runs": figures[kind], "notes": notes(model)}
            print(name, kind, one, flush=True)
    medians = {kind: median(one["cpu seconds"] for one in some) for kind, some in figures.items()}
    ratio = round(medians["weighted"] / medians["alike"], 3)
    return record | {"median cpu seconds": medians, "weighted / alike": ratio}


def main(data: str) -> None:
    """Measure and write."""
    split = load_split(data)
    begun = begin((data, split))
    warm()
    record: dict[str, Any] = {"data": data}
    for name in FITS:
        record[name] = fits(name, split.train)
        write(f"corml/weighted-fit-{data}", begun, record)


if __name__ == "__main__":
    main(sys.argv[1])
