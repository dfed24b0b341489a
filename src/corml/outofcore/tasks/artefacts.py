"""Artefacts: folders of arrays that are complete or do not exist, named by a key and mapped when they are read.

durable/ab/abcd…/NAME.npy, about.json     hashed: results of finished work, to resume from after a kill
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
from numpy.typing import DTypeLike, NDArray

from corml.errors import DataError, ascii_line
from corml.persistence import atomic, unfinished

ABOUT, DURABLE, SCRATCH = "about.json", "durable", "scratch"
TOKEN = ".token-"  # files by which workers show that they reach the folder
MOST_FACTS = 4096  # bytes

Array = NDArray[Any]


class Damaged(DataError):
    """An artefact is not what was written."""

    def __init__(self, key: str) -> None:
        super().__init__(f"The file of a finished task ({key}) is damaged: run the same again, and it is rebuilt.")
        self.key = key

    def __reduce__(self) -> tuple[type["Damaged"], tuple[str]]:  # it travels between processes
        return Damaged, (self.key,)


@dataclass(frozen=True)
class Artefact:
    """A folder of arrays, which are mapped on first use."""

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


@dataclass(frozen=True)
class Draft:
    """An artefact that is being written."""

    folder: Path

    def put(self, name: str, array: Array) -> None:
        """Write an array."""
        np.save(self.folder / f"{name}.npy", np.ascontiguousarray(array), allow_pickle=False)

    def create(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
        """A new array in a mapped file, to be filled piece by piece."""
        path = self.folder / f"{name}.npy"
        if 0 in shape:  # an empty file cannot be mapped
            self.put(name, np.zeros(shape, dtype))
            return np.zeros(shape, dtype)
        array: Array = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
        if hasattr(os, "posix_fallocate"):  # a full disk raises an error now, and does not end the process later
            with open(path, "rb+") as file:
                os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)
        return array


class Artefacts:
    """All artefacts of one computation, in a folder that all processes that work on it can reach."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._whole: set[str] = set()  # durable ones whose hashes were compared by this process

    def prepare(self) -> None:
        """Make the folder, and remove the scratch files and tokens of earlier runs."""
        try:
            (self.folder / DURABLE).mkdir(parents=True, exist_ok=True)
            shutil.rmtree(self.folder / SCRATCH, ignore_errors=True)
            for token in self.folder.glob(f"{TOKEN}*"):
                token.unlink(missing_ok=True)
            (self.folder / SCRATCH).mkdir(exist_ok=True)
        except OSError as fault:
            raise DataError(f"Could not write {ascii_line(self.folder, 200)}: {fault.strerror or fault}.") from fault

    def remove(self) -> None:
        """Remove everything that was made, but not the folder itself and other files in it."""
        for kind in (SCRATCH, DURABLE):
            shutil.rmtree(self.folder / kind, ignore_errors=True)

    def path(self, key: str, *, durable: bool) -> Path:
        """Where an artefact is."""
        return self.folder / (DURABLE if durable else SCRATCH) / key[:2] / key

    @staticmethod
    def content_key(**arrays: Array) -> str:
        """A name for the contents of some arrays."""
        digest = hashlib.sha256()
        for name, array in sorted(arrays.items()):
            digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
            digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
        return digest.hexdigest()[:40]

    def keep(self, **arrays: Array) -> str:
        """Write some arrays of the driver, unless they exist; the key is a hash of their contents."""
        key = self.content_key(**arrays)
        return key if self.find(key) is not None else self.write(key, durable=True, **arrays)

    def write(self, key: str, *, durable: bool, **arrays: Array) -> str:
        """Write some arrays of the driver; gives the key back."""

        def fill(out: Draft) -> None:
            for name, array in arrays.items():
                out.put(name, array)

        self.make(key, fill, durable=durable)
        return key

    def make(self, key: str, fill: Callable[[Draft], Mapping[str, Any] | None], *, durable: bool) -> Mapping[str, Any]:
        """Let `fill(draft)` write an artefact, then give it its name; gives its facts."""
        target = self.path(key, durable=durable)
        draft = _hidden(target)
        unfinished.add(draft)
        try:
            draft.mkdir(parents=True)
            facts = dict(fill(Draft(draft)) or {})
            _write_about(draft, facts, durable=durable)
            try:
                os.rename(draft, target)
            except OSError:
                if not (target / ABOUT).is_file():  # left by a kill while it was being removed
                    _remove(target)
                    os.rename(draft, target)
                # otherwise another process was faster, and wrote the same
            if durable:
                atomic.sync_folder(target.parent)
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

    def find(self, key: str) -> Artefact | None:
        """The artefact, if it exists and is complete; a damaged one is removed."""
        try:
            return self.open(key)
        except KeyError:
            return None
        except Damaged:
            self.discard(key)
            return None

    def open(self, key: str) -> Artefact:
        """The artefact; KeyError if it does not exist, Damaged if it is not what was written."""
        for durable in (True, False):
            folder = self.path(key, durable=durable)
            try:
                about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
                files, facts = about["files"], about["facts"]
                whole = about["sha256"] == _digest_of(facts, files) and (
                    (durable and key in self._whole)
                    or all(_about(folder / name, durable=durable) == known for name, known in files.items())
                )
            except FileNotFoundError as fault:
                if (folder / ABOUT).exists():
                    raise Damaged(key) from fault
                continue
            except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
                raise Damaged(key) from fault
            if not whole:
                raise Damaged(key)
            if durable:
                self._whole.add(key)
            return Artefact(key, folder, facts, frozenset(name.removesuffix(".npy") for name in files))
        raise KeyError(key)

    def trust(self, key: str) -> None:
        """Believe another process that it has just written this artefact: it is not read once more."""
        self._whole.add(key)

    def discard(self, *keys: str) -> None:
        """Remove artefacts."""
        for key in keys:
            self._whole.discard(key)
            for durable in (True, False):
                _remove(self.path(key, durable=durable))


def _hidden(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.{secrets.token_hex(8)}")


def _remove(folder: Path) -> None:
    """Remove an artefact; from the first moment on it does not exist, not even in part."""
    gone = _hidden(folder)
    try:
        os.rename(folder, gone)
    except OSError:  # it does not exist
        return
    shutil.rmtree(gone, ignore_errors=True)


def _write_about(draft: Path, facts: dict[str, Any], *, durable: bool) -> None:
    assert len(json.dumps(facts)) <= MOST_FACTS, "facts of a task are small"
    paths = sorted(draft.iterdir())
    for path in paths if durable else ():
        with open(path, "rb+") as file:
            os.fsync(file.fileno())
    files = {path.name: _about(path, durable=durable) for path in paths}
    with open(draft / ABOUT, "w", encoding="utf-8") as file:
        json.dump({"facts": facts, "files": files, "sha256": _digest_of(facts, files)}, file)
        if durable:
            file.flush()
            os.fsync(file.fileno())


def _about(path: Path, *, durable: bool) -> dict[str, int | str]:
    """The size of a file, and its hash if it is durable."""
    size = path.stat().st_size
    if not durable:
        return {"size": size}
    with open(path, "rb") as file:
        return {"size": size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _digest_of(facts: object, files: object) -> str:
    return hashlib.sha256(json.dumps([facts, files], sort_keys=True).encode()).hexdigest()
