"""One fit of generated data, measured: seconds, memory, and where the time went."""

import os
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from _machine import measured, notes
from _powerlaw import as_interactions

import corml
from corml._runtime import memory


def fit(path: str, settings: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    """Figures of a fit to saved pairs; `stages` are wall and processor seconds up to each report of progress."""
    tiny = corml.Interactions.from_pairs(list("aabbc"), list("xyxzz"))
    for warm in (corml.CoRML(rank=2), corml.CoRML(rank=2, candidates=1)):  # compile before timing
        warm.fit(tiny)
    record: dict[str, Any] = {"bytes before": memory.resident()}
    train = as_interactions(path)
    model, stages = corml.CoRML(**settings), Stages()
    plan = model.plan(train).report()
    record["load before"] = round(os.getloadavg()[0], 2)
    stages.begin()
    with measured(record):
        model.fit(train, progress=stages)
        stages("after the last report", 1, 1)
    record |= {name: plan[name] for name in ("predicted bytes", "predicted seconds")}
    return record | {"stages": dict(stages.spent), "notes": notes(model)}


class Stages:
    """Adds up the time between reports of progress, by the stage that reports."""

    def __init__(self) -> None:
        self.spent: dict[str, list[float]] = {}
        self.begin()

    def begin(self) -> None:
        """Start the clocks."""
        self.last = time.perf_counter(), time.process_time()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Take a report."""
        name = stage if done else f"before {stage}"
        before, now = self.last, (time.perf_counter(), time.process_time())
        known = self.spent.get(name, [0.0, 0.0])
        self.spent[name] = [round(a + b - c, 3) for a, b, c in zip(known, now, before, strict=True)]
        self.last = now
