"""Files and folders that another library writes: built beside their target, and moved there when they are whole.

A database opens its file by name and writes to it for minutes. So it gets a name inside a private folder beside the
target. When all is written, that is flushed and renamed; a kill at any moment leaves the previous target as it was.
What a killed process leaves behind is removed by the next one that builds the same target: a living one holds a lock.
"""

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from corml.errors import DataError, ascii_line
from corml.persistence import atomic, locks, unfinished
from corml.persistence.names import followed, stem

__all__ = ["building"]

LOCK, OLD = "lock", "old"
_STRAY = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{16}\.building", re.DOTALL)


@contextlib.contextmanager
def building(path: Path) -> Iterator[Path]:
    """Where to build the file or folder that will stand at `path`; it is moved there if the block ends well.

    A link at `path` stays, and what it leads to is replaced.
    """
    path = followed(path)
    _sweep(path)
    folder, lock = _private_folder(path)
    unfinished.add(folder)
    try:
        inside = folder / "new" / path.name
        inside.parent.mkdir()
        yield inside
        _flush(inside)
        unfinished.forget(folder)  # for a moment it may hold what stood there before
        _move(inside, path, folder / OLD)
    except OSError as fault:
        reason = fault.strerror or fault
        raise DataError(
            f"Could not write {ascii_line(path, 200)}: {reason}. What was there before is as it was."
        ) from fault
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.forget(folder)
        os.close(lock)


def _private_folder(path: Path) -> tuple[Path, int]:
    """A new folder beside the target, with a lock in it that the system takes back however the process ends."""
    while True:
        folder = path.with_name(f".{stem(path)}.{secrets.token_hex(8)}.building")
        try:
            folder.mkdir(mode=0o700)
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except FileNotFoundError as fault:  # another process took the empty folder for a stray
            if path.parent.is_dir():
                continue
            raise DataError(f"The folder {ascii_line(path.parent, 200)} does not exist: create it first.") from fault
        except OSError as fault:
            raise DataError(f"Could not write {ascii_line(path, 200)}: {fault.strerror or fault}.") from fault
        locks.take(lock)
        return folder, lock


def _sweep(path: Path) -> None:
    """Remove what earlier, killed processes left of the same target."""
    with contextlib.suppress(OSError):
        for stray in os.listdir(path.parent):
            match = _STRAY.fullmatch(stray)
            if match and match["name"] == stem(path):
                with contextlib.suppress(OSError):
                    _remove_if_abandoned(path.with_name(stray))


def _remove_if_abandoned(folder: Path) -> None:
    try:
        handle = os.open(folder / LOCK, os.O_RDWR)
    except FileNotFoundError:
        folder.rmdir()  # succeeds only if it is empty: killed before the lock was there
        return
    try:
        if locks.take(handle):
            shutil.rmtree(folder)
    finally:
        os.close(handle)


def _flush(built: Path) -> None:
    """Make what was written durable before it gets its name."""
    if built.is_dir():
        for inner in sorted(built.iterdir()):
            _flush(inner)
        atomic.sync_folder(built)
        return
    handle = os.open(built, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _move(built: Path, path: Path, aside: Path) -> None:
    """Give it its name. A file replaces a file in one step; a folder that is there is moved aside first."""
    if path.is_dir():
        os.replace(path, aside)
        try:
            os.replace(built, path)
        except OSError:
            os.replace(aside, path)
            raise
    else:
        if path.is_file():
            os.chmod(built, path.stat().st_mode & 0o777)
        os.replace(built, path)
    atomic.sync_folder(path.parent)
