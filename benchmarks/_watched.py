"""A fit on a store with a watch on every task: how often each kernel ran, what it took and what it wrote."""

import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import corml
from corml.fitted import Settings
from corml.method.out_of_core.fit import fit_store
from corml.settings import values_of
from corml.tasks import Artefacts, Serial, Task


class Watched(Serial):
    """Runs tasks here, and keeps count of them by kernel."""

    def __init__(self, artefacts: Artefacts) -> None:
        super().__init__(artefacts)
        self.kernels: dict[str, dict[str, float]] = defaultdict(lambda: {"runs": 0, "tasks": 0, "seconds": 0.0})

    def run(self, tasks: Sequence[Task], progress: Any = None) -> list[Any]:
        of_kernel = self.kernels[tasks[0].kernel.partition(":")[2]]
        begun = time.process_time()
        facts = super().run(tasks, progress)
        of_kernel["seconds"] += time.process_time() - begun
        of_kernel["runs"] += 1
        of_kernel["tasks"] += len(tasks)
        return facts


def watched_fit(store: str, work: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Fit, and tell what it took: processor seconds in all and of each kernel; the rest is the driver's."""
    Path(work).mkdir()
    artefacts = Artefacts(work)
    artefacts.prepare()
    executor = Watched(artefacts)
    model = corml.CoRML(**settings)
    wall, begun = time.perf_counter(), time.process_time()
    learned = fit_store(corml.Store(store), Settings(values_of(model)), executor)
    took = time.process_time() - begun
    return {
        "cpu seconds": round(took, 3),
        "seconds": round(time.perf_counter() - wall, 3),
        "kernels": {name: {**one, "seconds": round(one["seconds"], 3)} for name, one in executor.kernels.items()},
        "pairs": int(learned.certificates[0].pairs or 0) * 2,
        "steps": learned.certificates[0].steps,
        "column generation": learned.certificates[0].column_generation,
    }
