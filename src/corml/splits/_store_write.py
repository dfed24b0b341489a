"""Write a split of a store, some users at a time.

Parts grow in the folder `work` and are moved to their place when they are finished, split.json comes last. Killed at
any moment, the same call goes on: every file is whole or not there, and nothing depends on when it was interrupted.
What the parts have in common with the store, ids and what was only seen, is the same file under another name.
"""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime.progress import Progress
from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.store import ITEMS, MANIFEST, SPLIT, SPLIT_PLAN, WORK, Store, UserHistories, array_name
from corml.data.store.folder import held
from corml.data.store.turning import Turned, write_item_blocks
from corml.data.store.writing import FOLDERS, hashed, put_arrays, put_copy
from corml.errors import UsageError, ascii_line
from corml.persistence import atomic
from corml.splits._file import PARTS
from corml.splits._split import Decide
from corml.splits._store import StoreSplit, read_store_split, split_text

VERSION = 1  # of the way parts are written: those of another version are not continued
COMMON = ("users", "seen", "others", ITEMS)  # files that all parts have as the store has them
ALWAYS = 3  # train, valid and test are there even without a pair
ORDER = (3, 4, 0, 1, 2)  # in which the parts of some users are written: when the last is there, all are


def write_split(
    store: Store,
    histories: UserHistories,
    folder: Path,
    decide: Decide,
    procedure: Mapping[str, Any],
    progress: Progress,
) -> StoreSplit:
    """Write the parts into a folder, or finish what a stopped call began; `decide` numbers the part of a pair."""
    procedure = json.loads(json.dumps(procedure))
    other = "another store or by other options"
    if store.path.resolve() == folder.resolve() or store.path.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{ascii_line(store.path, 200)} lies in the folder to write: choose another folder.")
    if (folder / SPLIT).is_file():
        there = read_store_split(folder)
        if there.procedure != procedure:
            name = ascii_line(folder, 200)
            raise UsageError(f"{name} has a split of {other}: choose another folder, or delete it.")
        shutil.rmtree(folder / WORK, ignore_errors=True)
        return there
    facts = {"version": VERSION, "procedure": procedure}
    with held(folder, SPLIT_PLAN, facts, a="a split", other=other, made=PARTS):
        _divide(store, histories, folder / WORK, decide, progress)
        prints, reached = {}, {}
        for name in PARTS:
            part = _Part(store, folder, name)
            if part.is_there():
                prints[name] = part.finish(procedure, progress)
                reached[name] = part.reach()
        text = split_text(procedure, prints, _counts(store, reached))
        atomic.replace(folder / SPLIT, text.encode())
    shutil.rmtree(folder / WORK)
    return read_store_split(folder)


def _divide(store: Store, histories: UserHistories, work: Path, decide: Decide, progress: Progress) -> None:
    """Write by_user of all parts."""
    starts = store.manifest.user_starts
    for name in PARTS:
        if not (work.parent / name).is_dir():
            (work / name / "by_user").mkdir(parents=True, exist_ok=True)
    for number in range(len(starts) - 1):
        last = work / PARTS[ORDER[-1]] / array_name("by_user", "indptr", number)
        if not last.exists() and not (work.parent / PARTS[ORDER[-1]]).is_dir():
            some = histories.part(number)
            decided = decide(some)
            for part in ORDER:
                chosen = some.where(decided == part)
                if part < ALWAYS or len(chosen):
                    put_arrays(work / PARTS[part], "by_user", number, _rows(chosen, store))
        progress("divide", number + 1, len(starts) - 1)


def _rows(some: Interactions, store: Store) -> dict[str, NDArray[Any]]:
    """Pairs in rows of their users; the rows come last, and say that the others are there."""
    arrays: dict[str, NDArray[Any]] = {"indices": some.item.astype(np.int32)}
    if store.manifest.weighted:
        arrays["weights"] = np.asarray(some.weights, dtype=np.float32)
    if store.manifest.timed:
        arrays["times"] = np.asarray(some.times, dtype=np.float64)
    indptr = np.zeros(len(some.users) + 1, dtype=np.int64)
    np.cumsum(np.bincount(some.user, minlength=len(some.users)), out=indptr[1:])
    return {**arrays, "indptr": indptr}


@dataclass(frozen=True)
class _Part:
    """One part while it is made: in the folder `work` first, then in its place."""

    store: Store
    folder: Path
    name: str

    @property
    def work(self) -> Path:
        """Where it grows."""
        return self.folder / WORK / self.name

    @property
    def place(self) -> Path:
        """Where it will stand."""
        return self.folder / self.name

    def is_there(self) -> bool:
        """Whether the part has to be there: histories need not."""
        return self.name in PARTS[:ALWAYS] or self.place.is_dir() or self._has_rows()

    def finish(self, procedure: Mapping[str, Any], progress: Progress) -> str:
        """Make a store of the rows that were written, and move it to its place; give its fingerprint."""
        if self.place.is_dir():
            return Store(self.place).fingerprint
        self._fill_up()
        common = self._take_over(progress)
        known = self.store.manifest
        degrees = self._degrees()
        turned = Turned(degrees, known.user_starts, known.weighted, known.timed)
        item_starts = write_item_blocks(self.work, turned, known.memory, progress)
        manifest = replace(
            known,
            interactions=int(degrees.sum()),
            item_starts=item_starts,
            files={**common, **hashed(self.work, progress, known=common)},
            split={"part": self.name, "of": self.store.fingerprint, "procedure": procedure},
        )
        atomic.replace(self.work / MANIFEST, manifest.text().encode())
        os.rename(self.work, self.place)
        atomic.sync_folder(self.folder)
        return manifest.fingerprint

    def reach(self) -> dict[str, Any]:
        """How many users, items and pairs the finished part has."""
        store = Store(self.place)
        users = sum(int(np.count_nonzero(np.diff(chunk.indptr))) for chunk in store.chunks())
        items = sum(int(np.count_nonzero(np.diff(chunk.indptr))) for chunk in store.item_chunks())
        return {"users": users, "items": items, "pairs": len(store)}

    def _has_rows(self) -> bool:
        return any(not path.name.startswith(".") for path in (self.work / "by_user").iterdir())

    def _fill_up(self) -> None:
        """Histories without a pair of some users have empty rows of these."""
        starts = self.store.manifest.user_starts
        for number, (first, last) in enumerate(pairwise(starts)):
            if not (self.work / array_name("by_user", "indptr", number)).exists():
                nobody = Ids(range(last - first), kind="user")  # of whom the number is enough
                nothing = np.zeros(0, dtype=np.int32)
                empty = Interactions(nobody, nobody, nothing, nothing, np.zeros(0), weights=np.zeros(0, np.float32))
                put_arrays(self.work, "by_user", number, _rows(empty, self.store))

    def _take_over(self, progress: Progress) -> dict[str, Mapping[str, Any]]:
        """Link what is the same in the store; give size and hash of these files."""
        for inner in FOLDERS:
            (self.work / inner).mkdir(exist_ok=True)
        files = self.store.manifest.files
        common = {name: about for name, about in files.items() if name.partition("/")[0] in COMMON}
        for done, name in enumerate(common, start=1):
            put_copy(self.work / name, self.store.file(name))
            progress("link", done, len(common))
        for inner in FOLDERS:
            atomic.sync_folder(self.work / inner)  # a link is a name, which a power cut must not lose
        return common

    def _degrees(self) -> NDArray[np.int64]:
        degrees = np.zeros(self.store.items, dtype=np.int64)
        for number in range(len(self.store.manifest.user_starts) - 1):
            items = np.load(self.work / array_name("by_user", "indices", number), mmap_mode="r", allow_pickle=False)
            degrees += np.bincount(items, minlength=len(degrees))
        return degrees


def _counts(store: Store, reached: Mapping[str, dict[str, int]]) -> dict[str, Any]:
    """What `Split.counts` tells."""
    return {
        **reached,
        "cold items": store.items - reached["train"]["items"],
        "users without train rows": store.users - reached["train"]["users"],
        "users without test rows": store.users - reached["test"]["users"],
    }
