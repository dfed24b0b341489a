"""Files and folders that are either the old one or the new one, never something between.

`replace` and `building` write beside the target, flush to the disk, then rename: a crash, a full disk or a kill at any
moment leaves what was there before. What a killed process leaves behind is removed by the next one that writes the same
target: a living writer holds a lock, which the system takes back however the process ends. A symbolic link is followed
first, and what it leads to is replaced. Devices, pipes and sockets are refused.
"""

import contextlib
import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from corml.errors import DataError, ascii_line
from corml.persistence import locks, unfinished
from corml.persistence.names import Name, followed, reason, shown, stem

POSIX = os.name == "posix"  # elsewhere folders cannot be flushed, nor open files renamed
CHUNK = 1 << 26  # bytes given to the system at a time
_STRAY = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{16}\.(tmp|building)", re.DOTALL)


# --- names to write to -----------------------------------------------------------------------------------------------


def writable(path: Name) -> Path:
    """Check, before any long work, that a file can be written there, by making one beside it and removing it."""
    path = target(path)
    try:
        temporary, handle = _create(path, 0o600)
        os.close(handle)
        os.unlink(temporary)
    except OSError as fault:
        raise DataError(f"Cannot write {shown(path)}: {reason(fault)}. Choose another name or folder.") from fault
    return path


def writable_folder(path: Name, *names: str) -> Path:
    """Check that files, also of these names, can be written into a folder, or that it can be made; makes nothing."""
    folder = Path(path)
    if "\0" in str(folder):
        raise DataError(f"{shown(folder)} contains a NUL character: no folder can have such a name.")
    try:
        os.lstat(folder)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as fault:
        raise DataError(f"Cannot write into {shown(folder)}: {reason(fault)}. Choose another folder.") from fault
    there = next(one for one in (folder, *folder.absolute().parents) if os.path.lexists(one))
    if not there.is_dir():
        raise DataError(f"{shown(there)} is a file, not a folder: choose another name.")
    writable(there / "file")
    for name in names if folder.is_dir() else ():
        target(folder / name)
    return folder


def target(given: Name) -> Path:
    """The file to replace: the given one, or where it leads as a link; refuse what cannot be a file of ours."""
    path = Path(given)
    name = shown(path)
    if "\0" in str(path):
        raise DataError(f"{name} contains a NUL character: no file can have such a name.")
    if os.fspath(given) and os.path.isdir(path):
        raise DataError(f"{name} is a folder: give the name of a file in it.")
    if not path.name:
        raise DataError(f"{ascii_line(given, 200)} is not the name of a file: give one.")
    path = followed(path)
    folder = path.parent
    if not os.path.isdir(folder):
        fault = "is not a folder" if os.path.exists(folder) else "does not exist: create it first"
        raise DataError(f"The folder {shown(folder)} {fault}.")
    if os.path.exists(path) and not os.path.isfile(path):
        raise DataError(f"{name} is a device, a pipe or a socket: choose another name.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise DataError(f"No permission to write in {shown(folder)}: choose another folder.")
    if _belongs_to_another(path):
        raise DataError(f"{name} belongs to another user, who alone may replace it: choose another name.")
    try:
        os.lstat(path)
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as fault:  # a name that is too long, or one that this file system does not know
        raise DataError(f"Cannot write {name}: {reason(fault)}. Choose another name.") from fault
    return path


def _belongs_to_another(path: Path) -> bool:
    """In a folder such as /tmp only their owners may replace files."""
    with contextlib.suppress(OSError, ValueError):
        file, folder = os.lstat(path), os.lstat(path.parent)
        sticky = bool(folder.st_mode & stat.S_ISVTX)
        return sticky and POSIX and os.geteuid() not in (0, file.st_uid, folder.st_uid)
    return False


# --- files -----------------------------------------------------------------------------------------------------------


def replace(path: Name, *parts: bytes | memoryview) -> None:
    """Write a whole file atomically and durably; on any failure before the last step the previous file stays.

    A file that was there keeps its permissions. A link stays, and the file that it leads to is replaced.
    """
    path = target(path)
    _sweep(path)
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
        if placed:
            words = f"{shown(path)} is written and complete, but the disk did not confirm it: {reason(fault)}."
            raise DataError(f"{words} Save it again.") from fault
        raise _kept(path, fault) from fault
    finally:
        if not placed and temporary != path:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        unfinished.forget(temporary)


def _kept(path: Path, fault: OSError | ValueError) -> DataError:
    return DataError(f"Could not write {shown(path)}: {reason(fault)}. What was there before is unchanged.")


def _mode(path: Path) -> int | None:
    try:
        return stat.S_IMODE(os.stat(path).st_mode) & 0o777
    except FileNotFoundError:
        return None


def _create(path: Path, mode: int) -> tuple[Path, int]:
    """Open and lock a new file beside the target."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    while True:
        temporary = _beside(path, "tmp")
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


# --- files and folders that another library writes -------------------------------------------------------------------


@contextlib.contextmanager
def building(path: Path) -> Iterator[Path]:
    """Where to build the file or folder that will stand at `path`; it is moved there if the block ends well.

    A database opens its file by name and writes to it for minutes, so it gets a name in a private folder.
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
        _move(inside, path, folder / "old")
    except OSError as fault:
        raise _kept(path, fault) from fault
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.forget(folder)
        os.close(lock)


def _private_folder(path: Path) -> tuple[Path, int]:
    while True:
        folder = _beside(path, "building")
        try:
            folder.mkdir(mode=0o700)
            lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except FileNotFoundError as fault:  # another process took the empty folder for a stray
            if path.parent.is_dir():
                continue
            raise DataError(f"The folder {shown(path.parent)} does not exist: create it first.") from fault
        except OSError as fault:
            raise DataError(f"Could not write {shown(path)}: {reason(fault)}.") from fault
        locks.take(lock)
        return folder, lock


def _flush(built: Path) -> None:
    """Make what was written durable before it gets its name."""
    if built.is_dir():
        for inner in sorted(built.iterdir()):
            _flush(inner)
        sync_folder(built)
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
    sync_folder(path.parent)


# --- both ------------------------------------------------------------------------------------------------------------


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(f".{stem(path)}.{secrets.token_hex(8)}.{ending}")


def _sweep(path: Path) -> None:
    """Remove what earlier, killed writers of this same target left beside it."""
    with contextlib.suppress(OSError):
        for stray in os.listdir(path.parent):
            match = _STRAY.fullmatch(stray)
            if match and match["name"] == stem(path):
                with contextlib.suppress(OSError):
                    _remove_if_abandoned(path.with_name(stray))


def _remove_if_abandoned(stray: Path) -> None:
    folder = stray.suffix == ".building"
    try:
        flags = os.O_RDWR | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
        handle = os.open(stray / "lock" if folder else stray, flags)
    except FileNotFoundError:
        stray.rmdir()  # succeeds only if it is empty: killed before the lock was there
        return
    try:
        if locks.take(handle):
            shutil.rmtree(stray) if folder else os.unlink(stray)
    finally:
        os.close(handle)


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
