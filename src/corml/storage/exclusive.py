"""One process at a time that reads a file and then writes it anew, so that no change is lost to another."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

__all__ = ["exclusive"]

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # not POSIX: files are whole all the same, but the last writer wins
    fcntl = None


@contextmanager
def exclusive(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold the file while it is changed; another process that wants to change it waits.

    The lock is on the file that stands under this name, and a change puts another file there. So whoever has waited
    looks whether it is still the one. The system takes the lock back however the process ends.
    """
    handle = _locked(path)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _locked(path: str | os.PathLike[str]) -> int | None:
    while fcntl is not None:
        try:
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0))
        except OSError:
            return None  # who reads it says what is wrong
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        except OSError:
            os.close(handle)
            return None  # a file system without locks
        os.close(handle)
    return None
