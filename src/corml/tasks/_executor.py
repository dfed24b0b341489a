"""Who runs tasks: this process, one after the other; `corml.tasks.cluster` has one for many."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from corml.parallel import each
from corml.tasks._artefacts import Artefacts, Damaged
from corml.tasks._task import Task

__all__ = ["BESIDE", "MOST_REPAIRS", "Executor", "Facts", "Needed", "Report", "Serial", "perform"]

BESIDE = 4  # tasks at most that run beside each other: each holds what it makes
MOST_REPAIRS = 3  # of one artefact that is damaged again and again: then it is the disk

Needed = Callable[[int], int]  # from threads of a worker to bytes
Report = Callable[[int, int], None]
Facts = Mapping[str, Any]


class Executor(Protocol):
    """Runs tasks; see the contract in `corml.tasks`."""

    artefacts: Artefacts

    def run(self, tasks: Sequence[Task], progress: Report | None = None) -> list[Facts]:
        """Make the artefacts of tasks, but for those that are there; gives their facts."""

    def require(self, needed: Needed) -> None:
        """Refuse to begin where a worker may not take the memory that a task needs."""


def perform(artefacts: Artefacts, task: Task) -> Facts:
    """Run one task, unless its artefact is there."""
    found = artefacts.find(task.key)
    if found is not None:
        return found.facts
    inputs = {name: artefacts.open(key) for name, key in task.inputs.items()}
    kernel = task.function()
    return artefacts.make(task.key, lambda out: kernel(inputs, out, **task.params, **task.places), durable=task.durable)


class Serial:
    """Runs tasks here: one after the other, or beside each other where a kernel has one thread."""

    def __init__(self, artefacts: Artefacts) -> None:
        self.artefacts = artefacts
        self.made_by: dict[str, Task] = {}  # so that what turns out to be damaged can be made again

    def run(self, tasks: Sequence[Task], progress: Report | None = None) -> list[Facts]:
        """Make the artefacts of tasks, but for those that are there; gives their facts."""
        beside = bool(tasks) and all(task.one_thread for task in tasks)
        facts = []
        for found in each(lambda at: self._perform(tasks[at]), len(tasks), max_threads=BESIDE if beside else 1):
            facts.append(found)
            if progress:
                progress(len(facts), len(tasks))
        return facts

    def require(self, needed: Needed) -> None:
        """Nothing: the memory of tasks that run here is in the plan of the process."""

    def _perform(self, task: Task) -> Facts:
        if task.durable:
            self.made_by[task.key] = task
        for _ in range(MOST_REPAIRS):
            try:
                return perform(self.artefacts, task)
            except Damaged as fault:
                self.artefacts.discard(fault.key)
                if fault.key not in self.made_by:
                    raise
                self._perform(self.made_by[fault.key])
        return perform(self.artefacts, task)
