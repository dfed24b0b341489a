"""Locks on files and folders, which the system takes back however a process ends.

    take       lock a file that is open
    opened     make and lock a file that exists only while it is locked
    held       be the only process that writes a file or folder; another is refused, and told which process has it
    exclusive  be the only process that changes a file that is there; another waits

Where the system has no such locks, files are whole all the same, but the last writer wins.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from types import ModuleType

from corml.errors import DataError, UsageError, ascii_line
from corml.persistence import unfinished
from corml.persistence.names import Name, followed, reason, shown, stem

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # not POSIX
    fcntl = None

LOCK = ".lock"
FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_mine: set[tuple[Path, int]] = set()  # locks of this process and the thread that has each


def take(handle: int, *, wait: bool = False) -> bool | None:
    """Lock an open file: false if another process has it, None where there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


# --- files that are nothing but locks --------------------------------------------------------------------------------


def opened(path: Path, *, wait: bool = False) -> int | None:
    """Make and lock a file; None if another process has it."""
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | FLAGS, 0o666)
        except PermissionError:  # of another user, who may have been killed
            handle = os.open(path, os.O_RDONLY | FLAGS)
        if take(handle, wait=wait) is False:
            os.close(handle)
            return None
        if _stands_for(handle, path):
            return handle
        os.close(handle)  # it was removed by the process that had it


def closed(path: Path, handle: int) -> None:
    """Remove such a file and unlock it, in this order: a file without a name cannot be opened."""
    with suppress(OSError):
        os.unlink(path)
    os.close(handle)


def _stands_for(handle: int, path: Name) -> bool:
    """Whether the open file is the one of this name."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


@contextmanager
def held(path: Name, *, folder: bool = False) -> Iterator[None]:
    """Be the only process that writes this file, or into this folder, which is made; inside one another it is one lock.

    The lock is a hidden file, beside the file or in the folder, and says which process has it.
    """
    place = followed(Path(os.path.abspath(path)))
    lock = place / LOCK if folder else place.with_name(f".{stem(place)}{LOCK}")
    mine = lock, threading.get_ident()
    if mine in _mine:
        yield
        return
    made = folder and not place.is_dir()
    handle = _held(lock, path, folder=folder)
    _mine.add(mine)
    unfinished.add(lock)
    try:
        yield
    finally:
        _mine.discard(mine)
        unfinished.forget(lock)
        closed(lock, handle)
        if made:
            with suppress(OSError):  # there is something in it
                place.rmdir()


def _held(lock: Path, path: Name, *, folder: bool) -> int:
    """The lock, with our name in it."""
    try:
        if folder:
            lock.parent.mkdir(parents=True, exist_ok=True)
        handle = opened(lock)
    except (OSError, ValueError) as fault:
        what = "make the folder" if folder else "write"
        raise DataError(f"Cannot {what} {shown(path)}: {reason(fault)}.") from fault
    if handle is None:
        raise UsageError(f"{_owner(lock)} is writing {shown(path)}: wait until it has ended, or choose another name.")
    with suppress(OSError):
        os.truncate(handle, 0)
        os.write(handle, f"Process {os.getpid()}, started {datetime.now():%Y-%m-%d %H:%M:%S},".encode())
    return handle


def _owner(lock: Path) -> str:
    with suppress(OSError, ValueError):
        return ascii_line(lock.read_text("ascii")[:100]).strip("'") or "Another process"
    return "Another process"


# --- files that are changed ------------------------------------------------------------------------------------------


@contextmanager
def exclusive(path: Name) -> Iterator[None]:
    """Hold a file while it is read and then replaced, so that no change is lost; another process waits.

    The lock is on the file that stands under this name, and a change puts another file there: whoever has waited checks
    that it is still the same file.
    """
    handle = _locked(path)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _locked(path: Name) -> int | None:
    while True:
        try:
            handle = os.open(path, os.O_RDONLY | FLAGS)
        except OSError:
            return None  # who reads it says what is wrong
        if take(handle, wait=True) is None or _stands_for(handle, path):
            return handle
        os.close(handle)
