"""Files that are either the old one or the new one, never something between.

`replace` writes beside the target, flushes to the disk, then renames: a crash, a full disk or a kill at any moment
leaves the previous file as it was. Files left behind by a killed process are removed by the next save.
"""

import contextlib
import os
import re
import secrets
from pathlib import Path

from corml.errors import DataError, ascii_line

__all__ = ["replace", "target"]

_STRAY = re.compile(r"\.(?P<name>.+)\.(?P<pid>\d+)-[0-9a-f]{8}\.tmp")


def target(path: str | os.PathLike[str]) -> Path:
    """Check, before any long work, that a file can be written there."""
    path = Path(path)
    folder = path.parent
    if path.is_dir():
        raise DataError(f"{ascii_line(path, 200)} is a folder: give the name of a file in it.")
    if not folder.is_dir():
        raise DataError(f"The folder {ascii_line(folder, 200)} does not exist: create it first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise DataError(f"No permission to write in {ascii_line(folder, 200)}: choose another folder.")
    return path


def replace(path: str | os.PathLike[str], data: bytes | memoryview) -> None:
    """Write a whole file atomically and durably; on any failure the previous file stays."""
    path = target(path)
    sweep(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        _write(temporary, data, mode=0o666 & ~_umask())
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except OSError as fault:
        raise DataError(f"Could not write {ascii_line(path, 200)}: {fault.strerror or fault}. The file is as it was.") from fault
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def sweep(path: Path) -> None:
    """Remove what earlier, killed writers of this same file left beside it."""
    with contextlib.suppress(OSError):
        for stray in path.parent.iterdir():
            match = _STRAY.fullmatch(stray.name)
            if match and match["name"] == path.name and not _alive(int(match["pid"])):
                stray.unlink(missing_ok=True)


def _write(path: Path, data: bytes | memoryview, *, mode: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        view = memoryview(data)
        while len(view):
            view = view[os.write(handle, view[: 1 << 26]) :]
        os.chmod(path, mode)
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":  # other systems do not open folders
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _alive(pid: int) -> bool:
    if pid == os.getpid():
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
