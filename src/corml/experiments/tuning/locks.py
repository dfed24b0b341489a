"""Which process does what with a journal: locks that the system takes back however a process ends.

A folder next to the journal has a file for each lock that is taken: for writing a line, for deciding what to do next,
and for running each trial. Where the system has no such locks, a journal is for one process at a time.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from corml.persistence import locks

__all__ = ["Locks"]


class Locks:
    """The locks that one search has on a journal."""

    def __init__(self, journal: Path) -> None:
        self.folder = Path(os.path.realpath(journal) + ".locks")
        self._handles: dict[str, int] = {}

    def close(self) -> None:
        """Give up all locks."""
        for name in list(self._handles):
            self.give(name)

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """While one process decides what to do next the others wait."""
        self.take("deciding")
        try:
            yield
        finally:
            self.give("deciding")

    def claim(self, trial: int) -> bool:
        """Take the right to run a trial; false if a living process has it."""
        return self.take(f"trial {trial}", wait=False)

    def release(self, trial: int) -> None:
        """Give it up."""
        self.give(f"trial {trial}")

    @property
    def writing(self) -> "Writing":
        """The lock for writing a line."""
        return Writing(self)

    def take(self, name: str, *, wait: bool = True) -> bool:
        """Take a lock; false if another search has it and we do not wait."""
        while True:
            self.folder.mkdir(exist_ok=True)
            with suppress(FileNotFoundError):  # another search has just ended, and removed the empty folder
                handle = locks.opened(self.folder / name, wait=wait)
                if handle is not None:
                    self._handles[name] = handle
                return handle is not None

    def give(self, name: str) -> None:
        """Give a lock back; the folder goes with the last one."""
        handle = self._handles.pop(name, None)
        if handle is not None:
            locks.closed(self.folder / name, handle)
            with suppress(OSError):
                self.folder.rmdir()


class Writing:
    """A lock as Optuna asks for it."""

    def __init__(self, locks: Locks) -> None:
        self.locks = locks

    def acquire(self) -> bool:
        """Wait until no other process writes."""
        return self.locks.take("writing")

    def release(self) -> None:
        """Let others write."""
        self.locks.give("writing")
