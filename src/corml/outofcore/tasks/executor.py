"""Tasks, and who runs them: this process, one after the other; `corml.outofcore.tasks.cluster` has one for many."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from corml._runtime.parallel import each
from corml.errors import DataError, UsageError, ascii_line
from corml.outofcore.tasks.artefacts import Artefacts, Damaged
from corml.persistence import locks

__all__ = [
    "AT_ONCE",
    "MAX_REPAIRS",
    "VERSION",
    "Executor",
    "Facts",
    "Needed",
    "Report",
    "Serial",
    "Task",
    "key_of",
    "perform",
    "working_in",
]

VERSION = 1  # of what kernels write: artefacts of another version are not used
AT_ONCE = 4  # tasks at most that run at once in one process: each holds what it makes
MAX_REPAIRS = 3  # of one artefact that is damaged again and again: then it is the disk

Facts = Mapping[str, Any]
Kernel = Callable[..., Facts | None]
Needed = Callable[[int], int]  # from threads of a worker to bytes
Report = Callable[[int, int], None]


def key_of(*about: Any) -> str:
    """A name for what depends on these values alone, which JSON must know."""
    text = json.dumps([VERSION, *about], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:40]


@dataclass(frozen=True)
class Task:
    """Call `kernel(inputs, out, **params)`, where `inputs` are opened artefacts by name.

    `kernel` is "module:function" of this package. `places` are parameters too, such as the path of a folder, that say
    where things are and change nothing about the answer: they are no part of the key. What is not `durable` is scratch:
    it is neither hashed nor flushed, and does not outlive the run. Where the kernel has `one_thread`, several tasks may
    run at once in one process.
    """

    kernel: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    places: Mapping[str, Any] = field(default_factory=dict)
    durable: bool = True
    one_thread: bool = False

    @cached_property
    def key(self) -> str:
        """The name of its artefact."""
        return key_of(self.kernel, dict(self.inputs), dict(self.params))

    def function(self) -> Kernel:
        """The kernel itself; one from outside this package is refused, for tasks come from other processes."""
        module, _, name = self.kernel.partition(":")
        if module.split(".")[0] != "corml" or not name.isidentifier() or name.startswith("_"):
            raise UsageError(f"{ascii_line(self.kernel, 200)} is no kernel of corml.")
        kernel: Kernel = getattr(import_module(module), name)
        return kernel


class Executor(Protocol):
    """Runs tasks; see the contract in `corml.outofcore.tasks`."""

    artefacts: Artefacts

    def run(self, tasks: Sequence[Task], progress: Report | None = None) -> list[Facts]:
        """Make the artefacts of tasks, except those that are there; gives their facts."""

    def require(self, needed: Needed) -> None:
        """Refuse to begin where a worker may not take the memory that a task needs."""


def perform(artefacts: Artefacts, task: Task) -> Facts:
    """Run one task, unless its artefact is there."""
    there = artefacts.find(task.key)
    if there is not None:
        return there.facts
    inputs = {name: artefacts.open(key) for name, key in task.inputs.items()}
    kernel = task.function()
    return artefacts.make(task.key, lambda out: kernel(inputs, out, **task.params, **task.places), durable=task.durable)


class Serial:
    """Runs tasks here: one after the other, or several at once where a kernel has one thread."""

    def __init__(self, artefacts: Artefacts) -> None:
        self.artefacts = artefacts
        self.made_by: dict[str, Task] = {}  # so that what turns out to be damaged can be made again

    def run(self, tasks: Sequence[Task], progress: Report | None = None) -> list[Facts]:
        """Make the artefacts of tasks, except those that are there; gives their facts."""
        at_once = AT_ONCE if tasks and all(task.one_thread for task in tasks) else 1
        facts = []
        for fact in each(lambda at: self._perform(tasks[at]), len(tasks), max_threads=at_once):
            facts.append(fact)
            if progress:
                progress(len(facts), len(tasks))
        return facts

    def require(self, needed: Needed) -> None:
        """Nothing: the memory of tasks that run here is in the plan of the process."""

    def _perform(self, task: Task) -> Facts:
        if task.durable:
            self.made_by[task.key] = task
        for _ in range(MAX_REPAIRS):
            try:
                return perform(self.artefacts, task)
            except Damaged as fault:
                self.artefacts.discard(fault.key)
                if fault.key not in self.made_by:
                    raise
                self._perform(self.made_by[fault.key])
        return perform(self.artefacts, task)


@contextmanager
def working_in(place: Path, what: str, instead: str = "give a folder with work=") -> Iterator[Artefacts]:
    """The artefacts in a folder, also those of work that was stopped: one process holds it, and empties it in the end.

    `what` is the work, and `instead` what to do where the folder cannot be had.
    """
    name = ascii_line(place, 200)
    if "\0" in str(place):
        raise DataError(f"{name} has a NUL in it: no folder can have such a name.")
    try:
        used = place.is_dir() and any(place.iterdir())
        if (place.exists() and not place.is_dir()) or (used and not (place / "lock").is_file()):
            raise UsageError(f"{name} exists and is not the folder of {what}: choose another name.")
        place.mkdir(parents=True, exist_ok=True)
        lock = os.open(place / "lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as fault:
        raise DataError(f"Could not write {name}: {fault.strerror or fault}: {instead}.") from fault
    try:
        if locks.take(lock) is False:
            raise UsageError(f"Another process works in {name}: wait until it is done, or {instead}.")
        artefacts = Artefacts(place)
        artefacts.prepare()
        yield artefacts
        artefacts.remove()
        with suppress(OSError):
            if os.listdir(place) == ["lock"]:  # it is last: a folder without it would not be known again
                os.unlink(place / "lock")
                place.rmdir()
    finally:
        os.close(lock)
