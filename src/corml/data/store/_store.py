"""`Store`: interactions on disk, opened."""

import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime import memory
from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.store._chunk import Chunk
from corml.data.store._layout import ITEMS, array_name, labels_name
from corml.data.store._manifest import Manifest, digest
from corml.data.store._users import UserHistories
from corml.errors import DataError, ascii_line

if TYPE_CHECKING:
    import polars as pl

PER_LABEL = 80  # bytes of an id in memory, while it is read
PER_PAIR = 24  # of a pair, with what is needed to put the parts together
PER_VALUE = 16  # of a weight or a time likewise


class Store:
    """Interactions in a folder, as `corml data store` makes it.

    Parameters
    ----------
    path
        The folder.
    verify
        Compare the hash of every file with the manifest now. Otherwise each is compared when it is first read.

    """

    def __init__(self, path: str | os.PathLike[str], *, verify: bool = False) -> None:
        self.path = Path(path)
        self.manifest = Manifest.read(self.path)
        self._compared: set[str] = set()
        self._sound: set[tuple[str, int]] = set()  # parts whose arrays were looked through
        if verify:
            self.verify()

    def __repr__(self) -> str:
        return f"Store({self.users:,} users x {self.items:,} items, {len(self):,} pairs)"

    def __len__(self) -> int:
        return self.manifest.interactions

    @property
    def users(self) -> int:
        """How many users there are."""
        return self.manifest.users

    @property
    def items(self) -> int:
        """How many items there are."""
        return self.manifest.items

    @property
    def shape(self) -> tuple[int, int]:
        """Number of users and of items."""
        return self.users, self.items

    @property
    def fingerprint(self) -> str:
        """Hash of all its files; the fingerprint of `interactions()` is another, of the pairs alone."""
        return self.manifest.fingerprint

    def verify(self) -> None:
        """Compare the hash of every file with the manifest."""
        for name in self.manifest.files:
            self.file(name)

    def chunks(self) -> Iterator[Chunk]:
        """Users × items, some users at a time, in order."""
        return self._chunks("by_user", self.manifest.user_starts, self.items)

    def item_chunks(self) -> Iterator[Chunk]:
        """Items × users, some items at a time, in order."""
        return self._chunks("by_item", self.manifest.item_starts, self.users)

    def item_labels(self) -> "pl.Series":
        """The ids of all items, in order."""
        return self.labels(ITEMS)

    def user_labels(self) -> "Iterator[pl.Series]":
        """The ids of users, those of one chunk at a time."""
        return (self.labels(labels_name("users", part)) for part in range(len(self.manifest.user_starts) - 1))

    def labels(self, name: str) -> "pl.Series":
        """The ids in one of its files."""
        from corml._runtime.lazy_polars import polars as pl

        try:
            labels = pl.read_parquet(self.file(name), columns=["id"]).to_series()
        except pl.exceptions.PolarsError as fault:
            raise DataError(f"{name} of {ascii_line(self.path, 200)} cannot be read: make the store again.") from fault
        if labels.dtype != pl.String or labels.null_count():
            raise DataError(f"{name} of {ascii_line(self.path, 200)} has no ids: make the store again.")
        return labels

    def user_histories(self, items: Ids | None = None) -> UserHistories:
        """Its users, and after them the others, some at a time; `items` are the ids of items, where one has them."""
        return UserHistories(self, items)

    def chunk(self, folder: str, part: int) -> Chunk:
        """The rows of one part of by_user, seen or others; `first` is not known of the last two, and 0."""
        first = self.manifest.user_starts[part] if folder == "by_user" else 0
        return self._chunk(folder, part, first, self.items)

    def interactions(self) -> Interactions:
        """Everything as ordinary interactions, where they fit into memory.

        They are those that `load` gives for the same files and options; only the order of users and of rows differs.
        """
        about = self.manifest
        values = PER_VALUE * (about.weighted + about.timed)
        needed = PER_LABEL * (self.users + self.items + about.others) + (PER_PAIR + values) * (len(self) + about.seen)
        name = ascii_line(self.path, 200)
        instead = "add memory, or go through it in pieces with Store.chunks()."
        memory.require(needed, what=f"Holding all of {name}", instead=instead)
        return replace(self.user_histories().everything(pairs=True), source=self._source)

    def without_pairs(self) -> Interactions:
        """All but the pairs to learn from: ids, excluded pairs, and users excluded from training."""
        return replace(self.user_histories().everything(pairs=False), source=self._source)

    @property
    def _source(self) -> dict[str, Any]:
        about = self.manifest
        facts = {"from": os.fspath(self.path), "options": dict(about.options), "notes": [], "store": about.fingerprint}
        return {**facts, **about.counts}

    def _chunks(self, folder: str, starts: Any, width: int) -> Iterator[Chunk]:
        """The parts of by_user or by_item; together they have the rows and the pairs that the manifest promises."""
        name, pairs = ascii_line(self.path, 200), 0
        for part, (first, end) in enumerate(pairwise(starts)):
            chunk = self._chunk(folder, part, first, width)
            if len(chunk) != end - first:
                raise DataError(f"{folder}, part {part}, of {name} has {len(chunk):,} rows, not {end - first:,}.")
            given = chunk.weights is not None, folder == "by_item" or chunk.times is not None
            pairs += len(chunk.indices)
            if given != (self.manifest.weighted, folder == "by_item" or self.manifest.timed) or pairs > len(self):
                raise DataError(f"{folder}, part {part}, of {name} is not as its manifest says: make the store again.")
            yield chunk
        if pairs != len(self):
            raise DataError(f"{folder} of {name} has {pairs:,} pairs, not {len(self):,}: make the store again.")

    def _chunk(self, folder: str, part: int, first: int, width: int) -> Chunk:
        arrays = {
            what: self._array(array_name(folder, what, part))
            for what in ("indptr", "indices", "weights", "times")
            if array_name(folder, what, part) in self.manifest.files
        }
        name = f"{folder}, part {part}, of {ascii_line(self.path, 200)}"
        if not {"indptr", "indices"} <= set(arrays):
            raise DataError(f"{name} is missing: make the store again.")
        chunk = Chunk(first, width, arrays["indptr"], arrays["indices"], arrays.get("weights"), arrays.get("times"))
        if (folder, part) not in self._sound:
            if not chunk.is_sound():
                raise DataError(f"{name} does not add up: make the store again.")
            self._sound.add((folder, part))
        return chunk

    def _array(self, name: str) -> NDArray[Any]:
        path = self.file(name)
        # "c", not "r": for an array that must not be written to, Numba compiles everything once more
        try:
            mapped: NDArray[Any] = np.load(path, mmap_mode="c", allow_pickle=False)
        except Exception as fault:  # numpy complains about a hostile header in a dozen ways
            reason = ascii_line(fault, 200)
            raise DataError(f"{name} of {ascii_line(self.path, 200)} is no array ({reason}): make it again.") from fault
        return mapped

    def file(self, name: str) -> Path:
        """The path of a file, whose hash is compared with the manifest unless it was before."""
        path = self.path / name
        if name in self._compared:
            return path
        try:
            whole = path.stat().st_size == self.manifest.files[name]["size"]
            whole = whole and digest(path) == self.manifest.files[name]["sha256"]
        except (OSError, KeyError) as fault:
            reason = getattr(fault, "strerror", None) or "the manifest does not name it"
            raise DataError(f"{name} of the store {ascii_line(self.path, 200)} cannot be read: {reason}.") from fault
        if not whole:
            raise DataError(
                f"{name} of the store {ascii_line(self.path, 200)} is damaged: its hash is not that of the manifest. "
                "Make the store again, or take the file from a copy."
            )
        self._compared.add(name)
        return path
