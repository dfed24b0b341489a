"""A folder that is being made: held by one process, for one plan, until its last file is there."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from corml.data.store._layout import WORK
from corml.errors import DataError, UsageError, ascii_line
from corml.persistence import atomic, locks


@contextmanager
def held(
    folder: Path, plan: str, facts: Mapping[str, Any], *, a: str, other: str, made: Sequence[str]
) -> Iterator[None]:
    """Hold a folder for a plan with these facts: no other process may work in it, and no other plan continue it.

    `a` says what is made, such as "a store", `other` what another plan would be of, and `made` names what is written:
    it is removed again where the data cannot be used.
    """
    name = ascii_line(folder, 200)
    if "\0" in str(folder):
        raise DataError(f"{name} has a NUL in it: no folder can have such a name.")
    if folder.exists() and not (folder.is_dir() and _is_ours(folder, plan)):
        raise UsageError(f"{name} exists and is not {a}: choose another name.")
    try:
        (folder / WORK).mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / WORK / "lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as fault:
        raise DataError(f"Could not write {name}: {fault.strerror or fault}.") from fault
    try:
        if locks.take(lock) is False:
            raise UsageError(f"Another process is making {name}: wait until it is done.")
        known = read_json(folder / plan)
        if known is not None and known != facts:
            raise UsageError(f"{name} has {a} of {other}: choose another folder, or delete it.")
        if known is None:
            atomic.replace(folder / plan, (json.dumps(facts, indent=1, sort_keys=True) + "\n").encode())
        with _cleared(folder, [WORK, *made]):
            yield
    finally:
        os.close(lock)


def _is_ours(folder: Path, plan: str) -> bool:
    """Whether a folder has this kind of work in it, or nothing yet."""
    inside = [path for inner in (folder, folder / WORK) if inner.is_dir() for path in inner.iterdir()]
    begun = all(path in (folder / WORK, folder / WORK / "lock") or path.name.startswith(".") for path in inside)
    return (folder / plan).is_file() or begun


@contextmanager
def _cleared(folder: Path, made: Sequence[str]) -> Iterator[None]:
    """Remove what was begun where the data cannot be used: resuming would fail in the same way.

    What a full disk or a file that cannot be read has stopped is kept, and the error says how to resume.
    """
    try:
        yield
    except (DataError, UsageError) as fault:
        if isinstance(fault.__cause__, OSError):
            name = ascii_line(folder, 200)
            hint = f"What is done is kept in {name}: the same command resumes; else delete the folder."
            raise DataError(f"{fault} {hint}") from fault.__cause__
        for path in (folder / name for name in made):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        with suppress(OSError):  # there is something else in it
            folder.rmdir()
        raise


def read_json(path: Path) -> Any:
    """Read facts; None if the file is not there."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as fault:
        raise DataError(
            f"{ascii_line(path, 200)} cannot be read ({ascii_line(fault, 200)}): delete the folder and start again."
        ) from fault
