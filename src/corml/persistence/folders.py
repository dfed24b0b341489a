"""Folders to write into, checked before any long work."""

import os
from pathlib import Path

from corml.errors import DataError, ascii_line
from corml.persistence import atomic

__all__ = ["writable_folder"]


def writable_folder(path: str | os.PathLike[str], *names: str) -> Path:
    """Check that files, also of these names, can be written into a folder, or that it can be made; makes nothing."""
    folder = Path(path)
    if "\0" in str(folder):
        raise DataError(f"{ascii_line(folder, 200)} has a NUL in it: no folder can have such a name.")
    try:
        os.lstat(folder)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as fault:
        raise DataError(
            f"Cannot write into {ascii_line(folder, 200)}: {fault.strerror or fault}. Choose another folder."
        ) from fault
    there = next(one for one in (folder, *folder.absolute().parents) if os.path.lexists(one))
    if not there.is_dir():
        raise DataError(f"{ascii_line(there, 200)} is a file, not a folder: choose another name.")
    atomic.writable(there / "file")
    for name in names if folder.is_dir() else ():
        atomic.target(folder / name)
    return folder
