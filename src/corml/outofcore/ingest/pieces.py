"""The files of the work on a store: whole or not there. What a kill leaves has another name and is removed later."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from corml.data.store.folder import read_json
from corml.errors import DataError, ascii_line
from corml.persistence import atomic

__all__ = ["Piece", "Work", "put_json", "put_piece"]

Array = NDArray[Any]  # of whatever type was written
Arrays = Mapping[str, Array]


def put_piece(path: Path, arrays: Arrays, **facts: int) -> None:
    """Write some arrays and numbers as one file."""
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    atomic.replace(path, save(whole, metadata={"facts": json.dumps(facts)}))


class Piece:
    """Such a file, opened: arrays, or stretches of them, are read when they are needed."""

    def __init__(self, path: Path) -> None:
        opener: Any = safe_open  # its methods have no types
        try:
            self._file = opener(path, framework="numpy")
        except (OSError, SafetensorError) as fault:
            name = ascii_line(path.parent.parent.parent, 200)
            raise DataError(
                f"A piece of {name} is damaged ({fault}): delete the folder and make the store again."
            ) from fault
        self.names: set[str] = set(self._file.keys())

    def __enter__(self) -> "Piece":
        self._file.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self._file.__exit__(kind, fault, at)

    @property
    def facts(self) -> dict[str, int]:
        """The numbers that were written with the arrays."""
        known: dict[str, int] = json.loads(self._file.metadata()["facts"])
        return known

    def __getitem__(self, name: str) -> Array:
        array: Array = self._file.get_tensor(name)
        return array

    def get(self, name: str) -> Array | None:
        """An array, or None if there is none of this name."""
        return self[name] if name in self.names else None

    def between(self, name: str, start: int, end: int) -> Array:
        """A stretch of an array."""
        if start == end:  # of nothing safetensors makes an error
            return self[name][:0]
        stretch: Array = self._file.get_slice(name)[int(start) : int(end)]
        return stretch


def put_json(path: Path, known: object) -> None:
    """Write facts as JSON."""
    atomic.replace(path, (json.dumps(known, indent=1, sort_keys=True) + "\n").encode())


@dataclass(frozen=True)
class Work:
    """The files of the work on a store."""

    folder: Path

    def prepare(self) -> None:
        """Make the folders."""
        for inner in ("source", "split", "number", "merged"):
            (self.folder / inner).mkdir(parents=True, exist_ok=True)

    def source(self, run: int) -> Path:
        """What is known of some files, read together."""
        return self.folder / "source" / f"{run:06d}.json"

    def split(self, run: int, piece: int) -> Path:
        """The rows of a batch."""
        return self.folder / "split" / f"{run:06d}-{piece:06d}.safetensors"

    def number(self, run: int, piece: int) -> Path:
        """The items of these rows."""
        return self.folder / "number" / f"{run:06d}-{piece:06d}.safetensors"

    def merged(self, bucket: int) -> Path:
        """The pairs of a bucket."""
        return self.folder / "merged" / f"{bucket:05d}.safetensors"

    @property
    def catalogue(self) -> Path:
        """All items that occur."""
        return self.folder / "items.safetensors"

    def sources(self) -> list[Any]:
        """What is known of all files, once each was read: run by run."""
        return [read_json(self.source(run)) for run in range(len(list((self.folder / "source").glob("*.json"))))]

    def pieces(self) -> Iterator[tuple[int, int]]:
        """All batches in order, once every file was read."""
        for run, known in enumerate(self.sources()):
            yield from ((run, piece) for piece in range(known["pieces"]))
