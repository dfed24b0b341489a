"""Files that are either the old one or the new one, never something between.

`replace` writes beside the target, flushes to the disk, then renames: a crash, a full disk or a kill at any moment
leaves the previous file as it was. What a killed process leaves behind is removed by the next save: a living writer
holds a lock on its temporary file, which the system takes back however the process ends. A symbolic link is followed
first: the file that it leads to is replaced. Devices, pipes, sockets and folders are refused.
"""

import contextlib
import errno
import os
import re
import secrets
import stat
from pathlib import Path

from corml.errors import DataError, ascii_line
from corml.persistence import locks, unfinished
from corml.persistence.names import followed, stem

__all__ = ["replace", "stem", "sync_folder", "target", "writable"]

POSIX = os.name == "posix"  # elsewhere folders cannot be flushed, nor open files renamed
CHUNK = 1 << 26  # bytes given to the system at a time
_STRAY = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{16}\.tmp", re.DOTALL)


def writable(path: str | os.PathLike[str]) -> Path:
    """Check, before any long work, that a file can be written there, by making one beside it and taking it away."""
    path = target(path)
    try:
        temporary, handle = _create(path, 0o600)
        os.close(handle)
        os.unlink(temporary)
    except OSError as fault:
        raise DataError(
            f"Cannot write {ascii_line(path, 200)}: {fault.strerror or fault}. Choose another name or folder."
        ) from fault
    return path


def target(given: str | os.PathLike[str]) -> Path:
    """The file to replace: the given one, or where it leads as a link; refuse what is clearly no place for a file."""
    path = Path(given)
    if "\0" in str(path):
        raise DataError(f"{ascii_line(path, 200)} has a NUL in it: no file can have such a name.")
    name = ascii_line(path, 200)
    if os.fspath(given) and os.path.isdir(path):
        raise DataError(f"{name} is a folder: give the name of a file in it.")
    if not path.name:
        raise DataError(f"{ascii_line(given, 200)} is not the name of a file: give one.")
    path = followed(path)
    folder = path.parent
    if not os.path.isdir(folder):
        fault = "is not a folder" if os.path.exists(folder) else "does not exist: create it first"
        raise DataError(f"The folder {ascii_line(folder, 200)} {fault}.")
    if os.path.exists(path) and not os.path.isfile(path):
        raise DataError(f"{name} is a device, a pipe or a socket: choose another name.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise DataError(f"No permission to write in {ascii_line(folder, 200)}: choose another folder.")
    if _is_kept_from_us(path):
        raise DataError(f"{name} belongs to another user, who alone may replace it: choose another name.")
    try:
        os.lstat(path)
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as fault:  # a name that is too long, or one that this file system does not know
        reason = getattr(fault, "strerror", None) or fault
        raise DataError(f"Cannot write {name}: {reason}. Choose another name.") from fault
    return path


def _is_kept_from_us(path: Path) -> bool:
    """In a folder such as /tmp only their owners may replace files."""
    with contextlib.suppress(OSError, ValueError):
        file, folder = os.lstat(path), os.lstat(path.parent)
        sticky = bool(folder.st_mode & stat.S_ISVTX)
        return sticky and POSIX and os.geteuid() not in (0, file.st_uid, folder.st_uid)
    return False


def replace(path: str | os.PathLike[str], *parts: bytes | memoryview) -> None:
    """Write a whole file atomically and durably; on any failure before the last step the previous file stays.

    A file that was there keeps its permissions. A link stays, and the file that it leads to is replaced.
    """
    path = target(path)
    sweep(path)
    temporary, placed = path, False
    try:
        mode = _mode(path)
        temporary, handle = _create(path, 0o666 if mode is None else 0o600)
        unfinished.add(temporary)
        try:
            if mode is not None:
                os.chmod(temporary, mode)
            _fill(handle, parts)
            if POSIX:  # renamed while the lock is held, so that no other writer takes it for a stray
                os.replace(temporary, path)
                placed = True
        finally:
            os.close(handle)
        if not placed:
            os.replace(temporary, path)
            placed = True
        sync_folder(path.parent)
    except (OSError, ValueError) as fault:  # ValueError: a name with a NUL in it
        reason = getattr(fault, "strerror", None) or fault
        raise DataError(_failure(ascii_line(path, 200), reason, placed=placed)) from fault
    finally:
        if not placed and temporary != path:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        unfinished.forget(temporary)


def _failure(name: str, reason: object, *, placed: bool) -> str:
    if placed:
        return f"{name} is written and complete, but the disk did not confirm it: {reason}. Save it again."
    return f"Could not write {name}: {reason}. What was there before is as it was."


def sweep(path: Path) -> None:
    """Remove what earlier, killed writers of this same file left beside it."""
    with contextlib.suppress(OSError):
        for stray in os.listdir(path.parent):
            match = _STRAY.fullmatch(stray)
            if match and match["name"] == stem(path):
                with contextlib.suppress(OSError):
                    _remove_if_abandoned(path.with_name(stray))


def _remove_if_abandoned(path: Path) -> None:
    handle = os.open(path, os.O_RDWR | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    try:
        if locks.take(handle):
            os.unlink(path)
    finally:
        os.close(handle)


def _mode(path: Path) -> int | None:
    try:
        return stat.S_IMODE(os.stat(path).st_mode) & 0o777
    except FileNotFoundError:
        return None


def _create(path: Path, mode: int) -> tuple[Path, int]:
    """Open and lock a new file beside the target."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    while True:
        temporary = path.with_name(f".{stem(path)}.{secrets.token_hex(8)}.tmp")
        handle = os.open(temporary, flags, mode)
        if locks.take(handle) is not False and os.path.lexists(temporary):  # else another writer just swept it away
            return temporary, handle
        os.close(handle)


def _fill(handle: int, parts: tuple[bytes | memoryview, ...]) -> None:
    for part in parts:
        view = memoryview(part).cast("B")
        while len(view):
            view = view[os.write(handle, view[:CHUNK]) :]
    os.fsync(handle)


def sync_folder(folder: Path) -> None:
    """Make the new name durable, where the system lets folders be flushed."""
    if not POSIX:
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as fault:
        if fault.errno not in (errno.EACCES, errno.EINVAL, errno.EBADF):
            raise
