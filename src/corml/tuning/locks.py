"""Which process does what with a journal: locks that the system takes back however a process ends.

One file beside the journal, and a byte of it for each lock: 0 for writing a line, 1 for deciding what to do next, and
2 + n for running trial n. Where the system has no such locks, a journal is for one process at a time.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from corml.errors import UsageError, ascii_line

__all__ = ["Locks"]

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # not POSIX
    fcntl = None

WRITING, DECIDING, FIRST_TRIAL = 0, 1, 2
_open: set[str] = set()  # within a process these locks do not exclude, and closing a file drops them all


class Locks:
    """The locks of one process on a journal."""

    def __init__(self, journal: Path) -> None:
        self.path = os.path.realpath(journal) + ".locks"
        if self.path in _open:
            raise UsageError(
                f"This process tunes with {ascii_line(journal, 200)} already: use another process, or another journal."
            )
        self.file = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        _open.add(self.path)

    def close(self) -> None:
        """Give up all locks; their file stays, because another process may have opened it just now."""
        os.close(self.file)
        _open.discard(self.path)

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """While one process decides what to do next the others wait."""
        self.take(DECIDING)
        try:
            yield
        finally:
            self.give(DECIDING)

    def claim(self, trial: int) -> bool:
        """Take the right to run a trial; false if a living process has it."""
        return self.take(FIRST_TRIAL + trial, wait=False)

    def release(self, trial: int) -> None:
        """Give it up."""
        self.give(FIRST_TRIAL + trial)

    @property
    def writing(self) -> "Writing":
        """The lock for writing a line."""
        return Writing(self)

    def take(self, byte: int, *, wait: bool = True) -> bool:
        """Lock a byte; false if it is locked by another process and we do not wait."""
        if fcntl is None:
            return True
        try:
            fcntl.lockf(self.file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), 1, byte)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def give(self, byte: int) -> None:
        """Unlock a byte."""
        if fcntl is not None:
            fcntl.lockf(self.file, fcntl.LOCK_UN, 1, byte)


class Writing:
    """A lock as Optuna asks for it."""

    def __init__(self, locks: Locks) -> None:
        self.locks = locks

    def acquire(self) -> bool:
        """Wait until no other process writes."""
        return self.locks.take(WRITING)

    def release(self) -> None:
        """Let others write."""
        self.locks.give(WRITING)
