"""Tasks, and how they are run: `Serial` in this process; `corml.outofcore.tasks.cluster` has an executor for many."""

import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from corml._runtime.parallel import each
from corml.errors import DataError, UsageError, ascii_line
from corml.outofcore.tasks.artefacts import Artefacts, Damaged
from corml.persistence import locks

VERSION = 1  # of what kernels write: artefacts of another version are not used
AT_ONCE = 4  # tasks at most that run at once in one process: each holds what it makes
MAX_REPAIRS = 3  # of one artefact that is damaged again and again: then it is the disk

Facts = Mapping[str, Any]
Kernel = Callable[..., Facts | None]
Needed = Callable[[int], int]  # from threads of a worker to bytes
Report = Callable[[int, int], None]


def key_of(*about: Any) -> str:
    """A name for what depends on these values alone, which JSON can write."""
    text = json.dumps([VERSION, *about], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:40]


@dataclass(frozen=True)
class Task:
    """Call `kernel(inputs, out, **params)`, where `inputs` are opened artefacts by name.

    `kernel` is "module:function" of this package. `places` are further parameters, such as the path of a folder, that
    do not change the result: they are no part of the key. What is not `durable` is scratch: it is neither hashed nor
    flushed, and removed after the run. Where the kernel has `one_thread`, several tasks may run at once in one process.
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
            raise UsageError(f"{ascii_line(self.kernel, 200)} is not a kernel of corml.")
        kernel: Kernel = getattr(import_module(module), name)
        return kernel


def perform(artefacts: Artefacts, task: Task) -> dict[str, Any]:
    """Run one task, unless its artefact exists: its facts, or the key of a damaged input."""
    there = artefacts.find(task.key)
    if there is not None:
        return {"facts": dict(there.facts)}
    kernel = task.function()
    try:
        inputs = {name: artefacts.open(key) for name, key in task.inputs.items()}
        facts = artefacts.make(
            task.key, lambda out: kernel(inputs, out, **task.params, **task.places), durable=task.durable
        )
    except Damaged as fault:
        return {"damaged": fault.key}
    return {"facts": dict(facts)}


class Executor(ABC):
    """Runs tasks; see the contract in `corml.outofcore.tasks`."""

    def __init__(self, artefacts: Artefacts) -> None:
        self.artefacts = artefacts
        self.made_by: dict[str, Task] = {}  # so that an artefact that is found damaged can be made again

    def run(self, tasks: Sequence[Task], progress: Report | None = None) -> list[Facts]:
        """Make the artefacts of tasks that do not exist; gives the facts of all."""
        self.made_by |= {task.key: task for task in tasks if task.durable}
        facts: dict[str, Facts] = {}
        for task in tasks:
            there = self.artefacts.find(task.key)
            if there is not None:
                facts[task.key] = there.facts
        repairs: Counter[str] = Counter()
        while missing := [task for task in tasks if task.key not in facts]:
            for task, answer in self._performed(missing):
                if "facts" not in answer:
                    repairs[task.key] += 1
                    self._repair(answer["damaged"], repairs[task.key])
                    continue
                facts[task.key] = answer["facts"]
                if progress:
                    progress(len(facts), len(tasks))
        return [facts[task.key] for task in tasks]

    @abstractmethod
    def require(self, needed: Needed) -> None:
        """Refuse to begin where a worker may not take the memory that a task needs."""

    @abstractmethod
    def _performed(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, dict[str, Any]]]:
        """Tasks as they are finished, with what `perform` gave."""

    def _repair(self, key: str, tries: int) -> None:
        """Make a damaged artefact again."""
        self.artefacts.discard(key)
        if key not in self.made_by or tries > MAX_REPAIRS:
            raise Damaged(key)
        self.run([self.made_by[key]])


class Serial(Executor):
    """Runs tasks here: one after the other, or several at once where a kernel has one thread."""

    def require(self, needed: Needed) -> None:
        """Nothing: the memory of tasks that run here is in the plan of the process."""

    def _performed(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, dict[str, Any]]]:
        at_once = AT_ONCE if all(task.one_thread for task in tasks) else 1
        answers = each(lambda at: perform(self.artefacts, tasks[at]), len(tasks), max_threads=at_once)
        return zip(tasks, answers, strict=True)


@contextmanager
def working_in(place: Path, what: str, instead: str = "give a folder with work=") -> Iterator[Artefacts]:
    """The artefacts in a folder, also those of work that was stopped; locked meanwhile, and emptied in the end.

    `what` is the work, and `instead` what to do where the folder cannot be used.
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
            if os.listdir(place) == ["lock"]:  # removed last: a folder without it would not be recognised
                os.unlink(place / "lock")
                place.rmdir()
    finally:
        os.close(lock)
