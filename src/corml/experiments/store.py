"""Where finished runs are kept: in memory, or in a folder from which a later call continues.

    FOLDER/study.json        what is planned
    FOLDER/runs/KEY.json     a finished (or failed) run of a comparison, or a trial of a search
    FOLDER/searches/KEY/     the search for the hyperparameters of a tuned model: a folder like this one

Files are written whole or not at all, so an interrupted program loses only what it was running. The locks of a process
that ends are freed by the system, however it ends.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, Protocol, Self, TypeVar

from corml.errors import CormlError, DataError, ascii_line
from corml.persistence import atomic, locks

PLAN = "study.json"


class Record(Protocol):
    """What a store keeps: something with a key that can be written and read."""

    @property
    def key(self) -> str:
        """The name of its file."""

    def to_bytes(self) -> bytes:
        """The content of its file."""

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """The record in a file; a ValueError or CormlError if there is none."""


R = TypeVar("R", bound=Record)


class Store(Generic[R]):
    """Records of one type by their keys, and the plan they belong to; without a folder they are kept in memory."""

    def __init__(self, kind: type[R], folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = None if folder is None else Path(folder)
        self._kind = kind
        self._memory: dict[str, R] = {}
        self._plan: object = None
        self._locks: dict[str, int] = {}

    def create(self) -> None:
        """Make the folder, unless it exists."""
        if self.folder is not None:
            try:
                (self.folder / "runs").mkdir(parents=True, exist_ok=True)
            except OSError as fault:
                name = ascii_line(self.folder, 200)
                raise DataError(f"Cannot make the folder {name}: {fault.strerror or fault}.") from None

    def plan(self) -> object:
        """What was planned, as plain facts; None in a new store."""
        if self.folder is None:
            return self._plan
        try:
            return json.loads((self.folder / PLAN).read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, RecursionError):
            raise damaged(self.folder / PLAN) from None

    def write_plan(self, plan: Mapping[str, object]) -> None:
        """Keep what is planned."""
        self._plan = plan
        if self.folder is not None:
            text = json.dumps(plan, indent=2, ensure_ascii=False, default=str)
            atomic.replace(self.folder / PLAN, text.encode("utf-8", "surrogatepass"))

    def get(self, key: str) -> R | None:
        """The record of a key, or None."""
        if self.folder is None:
            return self._memory.get(key)
        path = self._file(key)
        try:
            record = self._kind.from_bytes(path.read_bytes())
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError, CormlError):
            raise damaged(path) from None
        if record.key != key:
            raise damaged(path)
        return record

    def put(self, record: R) -> None:
        """Keep a record."""
        if self.folder is None:
            self._memory[record.key] = record
        else:
            atomic.replace(self._file(record.key), record.to_bytes())

    def damaged(self, key: str) -> DataError:
        """The error for a record that does not fit the plan."""
        return damaged(self._file(key))

    # --- several processes at one store ------------------------------------------------------------------------------

    def claim(self, key: str) -> bool:
        """Take the right to run something; false if a living process has it."""
        return self._take(key, wait=False)

    def release(self, *keys: str) -> None:
        """Give up rights, or all of them."""
        for key in keys or tuple(self._locks):
            handle = self._locks.pop(key, None)
            if handle is not None:
                locks.closed(self._lock(key), handle)

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """While one process decides what to run next the others wait."""
        self._take("next", wait=True)
        try:
            yield
        finally:
            self.release("next")

    def _take(self, key: str, *, wait: bool) -> bool:
        if self.folder is None:
            return True
        handle = locks.opened(self._lock(key), wait=wait)
        if handle is not None:
            self._locks[key] = handle
        return handle is not None

    def _lock(self, key: str) -> Path:
        return self._file(key).with_suffix(".lock")

    def _file(self, key: str) -> Path:
        return (self.folder or Path()) / "runs" / f"{key}.json"


def damaged(path: Path) -> DataError:
    """The error for a file that no run has written."""
    return DataError(f"{ascii_line(path, 200)} is damaged: delete it, and run again.")
