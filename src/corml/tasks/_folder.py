"""A folder of work: held by one process at a time, removed when the work is done."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from corml.errors import DataError, UsageError, ascii_line
from corml.storage import atomic
from corml.tasks._artefacts import Artefacts

__all__ = ["working_in"]


@contextmanager
def working_in(place: Path, what: str, instead: str = "give a folder with work=") -> Iterator[Artefacts]:
    """The artefacts in a folder: those that work which was stopped left, too. Work that ends well leaves none.

    `what` is the work, and `instead` what to do where the folder cannot be had.
    """
    name = ascii_line(place, 200)
    if "\0" in str(place):
        raise DataError(f"{name} has a NUL in it: no folder can have such a name.")
    try:
        known = place.is_dir() and any(place.iterdir())
        if (place.exists() and not place.is_dir()) or (known and not (place / "lock").is_file()):
            raise UsageError(f"{name} exists and is not the folder of {what}: choose another name.")
        place.mkdir(parents=True, exist_ok=True)
        lock = os.open(place / "lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as fault:
        raise DataError(f"Could not write {name}: {fault.strerror or fault}: {instead}.") from fault
    try:
        if atomic.lock(lock) is False:
            raise UsageError(f"Another process works in {name}: wait until it is done, or {instead}.")
        artefacts = Artefacts(place)
        artefacts.prepare()
        yield artefacts
        artefacts.remove()
        with suppress(OSError):
            if os.listdir(place) == ["lock"]:  # it is last: a folder without it would not be known again
                os.unlink(place / "lock")
                place.rmdir()
    finally:
        os.close(lock)
