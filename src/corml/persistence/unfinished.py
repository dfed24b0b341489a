"""Unfinished files and folders: removed where the process must end before their writers can."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_paths: set[Path] = set()


@contextmanager
def listed(path: Path) -> Iterator[None]:
    """A file or folder that is removed if the process ends meanwhile."""
    add(path)
    try:
        yield
    finally:
        forget(path)


def add(path: Path) -> None:
    """It is nothing yet."""
    _paths.add(path)


def forget(path: Path) -> None:
    """It is needed from now on, or gone."""
    _paths.discard(path)


def holds(path: Path) -> bool:
    """Whether it goes when something listed goes: that itself, or what is in it."""
    return any(path.is_relative_to(os.path.abspath(one)) for one in list(_paths))


def remove() -> None:
    """Remove all that is listed, and what cannot be removed leave to the next run."""
    for path in list(_paths):
        with contextlib.suppress(OSError):
            os.unlink(path)
            continue
        shutil.rmtree(path, ignore_errors=True)
