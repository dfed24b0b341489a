"""A fit on a store with a watch on every round of tasks: how often each kernel ran, and what it took."""

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import corml
from corml.outofcore.tasks import Artefacts, Serial, Task, cluster


class Watched(Serial):
    """Runs tasks here, and keeps count of them by kernel."""

    kernels: dict[str, dict[str, float]]

    def __init__(self, artefacts: Artefacts) -> None:
        super().__init__(artefacts)
        Watched.kernels = defaultdict(lambda: {"runs": 0, "tasks": 0, "cpu seconds": 0.0})

    def run(self, tasks: Sequence[Task], progress: Any = None) -> list[Any]:
        of_kernel = self.kernels[tasks[0].kernel.partition(":")[2]]
        begun = time.process_time()
        facts = super().run(tasks, progress)
        of_kernel["cpu seconds"] += time.process_time() - begun
        of_kernel["runs"] += 1
        of_kernel["tasks"] += len(tasks)
        return facts


def watched_fit(store: str) -> tuple[corml.CoRML, dict[str, dict[str, float]]]:
    """Fit with the default settings; the model, and what each kernel took."""
    cluster.Serial = Watched  # type: ignore[misc]  # where a fit takes it from
    try:
        return corml.fit_store(corml.CoRML(), corml.Store(store)), dict(Watched.kernels)
    finally:
        cluster.Serial = Serial  # type: ignore[misc]
