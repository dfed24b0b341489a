"""Artefacts: folders of arrays that are whole or not there, found by a key, mapped when they are read.

durable/ab/abcd…/NAME.npy, about.json     hashed: what finished work left, to resume from after a kill
scratch/ab/abcd…/…                        not hashed: what one run passes from step to step
"""

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.errors import DataError, ascii_line
from corml.persistence import atomic, unfinished

__all__ = ["Artefact", "Artefacts", "Damaged", "Draft"]

ABOUT, DURABLE, SCRATCH = "about.json", "durable", "scratch"
TOKEN = ".token-"  # files by which workers show that they reach the folder
PIECE = 1 << 24  # bytes hashed, and copied, at a time
MOST_FACTS = 4096  # bytes

Array = NDArray[Any]


class Damaged(DataError):
    """An artefact is not what was written."""

    def __init__(self, key: str) -> None:
        super().__init__(f"The file of a finished task ({key}) is damaged: run it again, and it is made again.")
        self.key = key

    def __reduce__(self) -> tuple[Any, ...]:  # it travels between processes
        return Damaged, (self.key,)


@dataclass(frozen=True)
class Artefact:
    """A folder of arrays, opened: they are mapped when they are asked for."""

    key: str
    folder: Path
    facts: Mapping[str, Any]
    names: frozenset[str]
    _mapped: dict[str, Array] = field(default_factory=dict, repr=False)

    def __getitem__(self, name: str) -> Array:
        if name not in self.names:
            raise KeyError(name)
        if name not in self._mapped:
            try:
                # "c", not "r": for an array that must not be written to, Numba compiles everything once more
                self._mapped[name] = np.load(self.folder / f"{name}.npy", mmap_mode="c", allow_pickle=False)
            except (OSError, ValueError) as fault:
                raise Damaged(self.key) from fault
        return self._mapped[name]

    def get(self, name: str) -> Array | None:
        """An array, or None if there is none of this name."""
        return self[name] if name in self.names else None


class Draft:
    """An artefact that is being written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, name: str, array: Array) -> None:
        """Write an array."""
        np.save(self.folder / f"{name}.npy", np.ascontiguousarray(array), allow_pickle=False)

    def create(self, name: str, shape: tuple[int, ...], dtype: Any) -> Array:
        """A new array in a mapped file, to be filled piece by piece."""
        path = self.folder / f"{name}.npy"
        if 0 in shape:  # nothing can be mapped of an empty file
            self.put(name, np.zeros(shape, dtype))
            return np.zeros(shape, dtype)
        array: Array = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
        _reserve(path)
        return array


class Artefacts:
    """All artefacts of one piece of work, in a folder that all who work on it can reach."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._whole: set[str] = set()  # durable ones whose hashes were compared by this process

    def prepare(self) -> None:
        """Make the folder, and remove what earlier runs left for themselves alone."""
        try:
            (self.folder / DURABLE).mkdir(parents=True, exist_ok=True)
            self.clear_scratch()
            for token in self.folder.glob(f"{TOKEN}*"):
                token.unlink(missing_ok=True)
            (self.folder / SCRATCH).mkdir(exist_ok=True)
        except OSError as fault:
            raise DataError(f"Could not write {ascii_line(self.folder, 200)}: {fault.strerror or fault}.") from fault

    def clear_scratch(self) -> None:
        """Remove all scratch."""
        shutil.rmtree(self.folder / SCRATCH, ignore_errors=True)

    def remove(self) -> None:
        """Remove everything that was made; the folder itself, and what else is in it, is somebody else's."""
        self.clear_scratch()
        shutil.rmtree(self.folder / DURABLE, ignore_errors=True)

    def path(self, key: str, *, durable: bool) -> Path:
        """Where an artefact is."""
        return self.folder / (DURABLE if durable else SCRATCH) / key[:2] / key

    def write(self, key: str, *, durable: bool, **arrays: Array) -> str:
        """Keep some arrays of the driver; gives the key back."""

        def fill(out: Draft) -> None:
            for name, array in arrays.items():
                out.put(name, array)

        self.make(key, fill, durable=durable)
        return key

    @staticmethod
    def content_key(**arrays: Array) -> str:
        """A name for what some arrays hold."""
        found = hashlib.sha256()
        for name, array in sorted(arrays.items()):
            found.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
            found.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
        return found.hexdigest()[:40]

    def keep(self, **arrays: Array) -> str:
        """Keep some arrays of the driver under a name that is a hash of what they hold."""
        key = self.content_key(**arrays)
        return key if self.find(key) is not None else self.write(key, durable=True, **arrays)

    def make(self, key: str, fill: Callable[[Draft], Mapping[str, Any] | None], *, durable: bool) -> Mapping[str, Any]:
        """Let `fill(draft)` write an artefact, then give it its name; gives its facts."""
        place = self.path(key, durable=durable)
        draft = place.with_name(f".{place.name}.{secrets.token_hex(8)}")
        unfinished.add(draft)
        try:
            draft.mkdir(parents=True)
            facts = dict(fill(Draft(draft)) or {})
            self._finish(draft, facts, durable=durable)
            try:
                os.rename(draft, place)
            except OSError:
                if not (place / ABOUT).is_file():  # what a kill left of one that was being removed
                    _remove(place)
                    os.rename(draft, place)
                # else somebody was faster: theirs is the same
            if durable:
                atomic.sync_folder(place.parent)
                self._whole.add(key)
        except OSError as fault:
            name = ascii_line(self.folder, 200)
            raise DataError(
                f"Could not write {name}: {fault.strerror or fault}. What is finished stays: make room and start again."
            ) from fault
        finally:
            shutil.rmtree(draft, ignore_errors=True)
            unfinished.forget(draft)
        return facts

    def _finish(self, draft: Path, facts: dict[str, Any], *, durable: bool) -> None:
        text = json.dumps(facts)
        assert len(text) <= MOST_FACTS, "facts of a task are small"
        files = {path.name: _about(path, durable=durable) for path in sorted(draft.iterdir())}
        with open(draft / ABOUT, "w", encoding="utf-8") as file:
            json.dump({"facts": facts, "files": files, "sha256": _digest_of(facts, files)}, file)
            if durable:
                file.flush()
                os.fsync(file.fileno())

    def find(self, key: str) -> Artefact | None:
        """The artefact, if it is there and whole; what is damaged is removed."""
        try:
            return self.open(key)
        except KeyError:
            return None
        except Damaged:
            self.discard(key)
            return None

    def open(self, key: str) -> Artefact:
        """The artefact; KeyError if it is not there, Damaged if it is not what was written."""
        for durable in (True, False):
            folder = self.path(key, durable=durable)
            try:
                about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
                files, facts = about["files"], about["facts"]
                if about["sha256"] != _digest_of(facts, files):
                    raise Damaged(key)
            except FileNotFoundError:
                continue
            except (OSError, ValueError, KeyError, TypeError, RecursionError) as fault:
                raise Damaged(key) from fault
            if not self._is_whole(key, folder, files, durable=durable):
                raise Damaged(key)
            return Artefact(key, folder, facts, frozenset(name.removesuffix(".npy") for name in files))
        raise KeyError(key)

    def _is_whole(self, key: str, folder: Path, files: Mapping[str, Any], *, durable: bool) -> bool:
        if durable and key in self._whole:
            return True
        try:
            for name, known in files.items():
                if (folder / name).stat().st_size != known["size"]:
                    return False
                if durable and _digest(folder / name) != known["sha256"]:
                    return False
        except OSError:
            return False
        if durable:
            self._whole.add(key)
        return True

    def trust(self, key: str) -> None:
        """Take another process's word that it has just written this artefact: it is not read once more."""
        self._whole.add(key)

    def discard(self, key: str) -> None:
        """Remove an artefact."""
        self._whole.discard(key)
        for durable in (True, False):
            _remove(self.path(key, durable=durable))


def _remove(folder: Path) -> None:
    """Remove an artefact; from the first moment on it is not there, not even in part."""
    gone = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}")
    try:
        os.rename(folder, gone)
    except OSError:  # it is not there
        return
    shutil.rmtree(gone, ignore_errors=True)


def _reserve(path: Path) -> None:
    """Take the room of a mapped file now: a disk that is full then says so, and does not end the process later."""
    if hasattr(os, "posix_fallocate"):
        with open(path, "rb+") as file:
            os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)


def _about(path: Path, *, durable: bool) -> dict[str, Any]:
    if not durable:
        return {"size": path.stat().st_size}
    with open(path, "rb+") as file:
        os.fsync(file.fileno())
    return {"size": path.stat().st_size, "sha256": _digest(path)}


def _digest_of(facts: Any, files: Any) -> str:
    return hashlib.sha256(json.dumps([facts, files], sort_keys=True).encode()).hexdigest()


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(PIECE):
            found.update(piece)
    return found.hexdigest()
