"""The users of a store by number, and after them those excluded from training."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.labels import Labels, concatenated, of_series
from corml.data.store._chunk import Chunk
from corml.data.store._layout import labels_name
from corml.data.store._manifest import Manifest
from corml.data.strength import latest_of
from corml.errors import DataError

if TYPE_CHECKING:
    import polars as pl


class Opened(Protocol):
    """What is asked of an opened store."""

    manifest: Manifest

    @property
    def fingerprint(self) -> str:
        """Hash of its files."""

    def labels(self, name: str) -> "pl.Series":
        """The ids in a file."""

    def item_labels(self) -> "pl.Series":
        """The ids of all items."""

    def chunk(self, folder: str, part: int) -> Chunk:
        """The rows of one part."""


class UserHistories:
    """Histories of some users at a time: in memory are the requested ones and the ids of the items.

    `items` are these ids if they are in memory already.
    """

    def __init__(self, store: Opened, items: Ids | None = None) -> None:
        self.store = store
        self._items = items
        self._read: tuple[str, pl.Series] | None = None  # the ids that were read last: those of one part

    def __len__(self) -> int:
        return self.users + self.store.manifest.others

    @property
    def users(self) -> int:
        """How many of them are users."""
        return self.store.manifest.users

    @property
    def fingerprint(self) -> str:
        """That of the store."""
        return self.store.fingerprint

    @cached_property
    def items(self) -> Ids:
        """The catalogue, one object for all who are asked for."""
        return Ids(of_series(self.store.item_labels()), kind="item") if self._items is None else self._items

    def parts(self) -> Iterator[Interactions]:
        """The users of one part after the other, without excluded pairs."""
        return map(self.part, range(len(self.store.manifest.user_starts) - 1))

    def part(self, number: int) -> Interactions:
        """The users of one part, without excluded pairs."""
        return self.pairs(*self.store.manifest.user_starts[number : number + 2])

    def pairs(self, first: int, last: int) -> Interactions:
        """The pairs of the users from the first to before the last, without excluded pairs."""
        return self._users(first, last, seen=False)

    def some(self, first: int, last: int) -> Interactions:
        """The pairs of the users from the first to before the last, excluded ones too."""
        users = self.users
        if last <= users:
            return self._users(first, last)
        others = self._others(max(first - users, 0), last - users)
        return others if first >= users else _joined(self._users(first, users), others)

    @cached_property
    def latest(self) -> float | None:
        """The latest time of any pair; None without times."""
        folders = ["by_user", *(["seen"] if self.store.manifest.seen else [])]
        folders += ["others"] if self.store.manifest.others else []
        chunks = (chunk for folder in folders for chunk in self._all(folder))
        moments = [latest_of(chunk.times) for chunk in chunks if chunk.times is not None]
        return max((moment for moment in moments if moment is not None), default=None)

    def everything(self, *, pairs: bool) -> Interactions:
        """All users, with `others`; without `pairs` all but the pairs to learn from."""
        others = self._others(0, self.store.manifest.others) if self.store.manifest.others else None
        return replace(self._users(0, self.users, pairs=pairs), others=others)

    def _users(self, first: int, last: int, *, pairs: bool = True, seen: bool = True) -> Interactions:
        starts = self.store.manifest.user_starts
        ids = Ids(self._labels("users", starts, first, last), kind="user")
        nothing = np.zeros(0, dtype=np.int32)
        empty = Interactions(ids, self.items, nothing, nothing)
        data = self._pairs(ids, "by_user", starts, first, last) if pairs else empty
        if not (seen and self.store.manifest.seen):
            return data
        return replace(data, seen=self._pairs(ids, "seen", starts, first, last))

    def _others(self, first: int, last: int) -> Interactions:
        ids = Ids(self._labels("others", self._other_starts, first, last), kind="user")
        nothing = np.zeros(0, dtype=np.int32)
        times = np.zeros(0) if self.store.manifest.timed else None
        seen = self._pairs(ids, "others", self._other_starts, first, last)
        return Interactions(ids, self.items, nothing, nothing, times, seen=seen)

    @cached_property
    def _other_starts(self) -> list[int]:
        return list(accumulate((len(chunk) for chunk in self._all("others")), initial=0))

    def _all(self, folder: str) -> Iterator[Chunk]:
        parts = len(self.store.manifest.user_starts) - 1
        return (self.store.chunk(folder, part) for part in range(parts))

    def _labels(self, folder: str, starts: Sequence[int], first: int, last: int) -> Labels:
        labels: list[Labels] = []
        for part, low, high in _overlaps(starts, first, last):
            name = labels_name(folder, part)
            if self._read is None or self._read[0] != name:
                self._read = name, self.store.labels(name)
            labels.append(of_series(self._read[1][low:high]))
        return concatenated(labels)

    def _pairs(self, ids: Ids, folder: str, starts: Sequence[int], first: int, last: int) -> Interactions:
        pieces = []
        for part, low, high in _overlaps(starts, first, last):
            chunk = self.store.chunk(folder, part)
            if len(chunk) != starts[part + 1] - starts[part] or high - low > len(ids):
                raise DataError(f"{folder} of {self.store} has rows of other users: make the store again.")
            pieces.append(_rows(chunk, low, high))
        degrees, columns, times, weights = (list(column) for column in zip(*pieces, strict=True))
        user = np.repeat(np.arange(len(ids), dtype=np.int32), np.concatenate(degrees))
        given = [None if some[0] is None else np.concatenate(some) for some in (times, weights)]
        return Interactions(ids, self.items, user, np.concatenate(columns), given[0], weights=given[1])


def _overlaps(starts: Sequence[int], first: int, last: int) -> Iterator[tuple[int, int, int]]:
    """Which rows of which parts are those from the first to before the last."""
    if first == last:
        yield 0, 0, 0  # nobody
        return
    for part in range(max(bisect_right(starts, first) - 1, 0), len(starts) - 1):
        if starts[part] >= last:
            return
        if starts[part] < starts[part + 1]:
            yield part, max(first, starts[part]) - starts[part], min(last, starts[part + 1]) - starts[part]


def _rows(chunk: Chunk, low: int, high: int) -> tuple[NDArray[Any] | None, ...]:
    """Some rows of a chunk: how long they are, their columns and, where given, times and weights."""
    begin, end = int(chunk.indptr[low]), int(chunk.indptr[high])
    taken = (None if column is None else column[begin:end] for column in (chunk.indices, chunk.times, chunk.weights))
    return np.diff(chunk.indptr[low : high + 1]), *taken


def _joined(users: Interactions, others: Interactions) -> Interactions:
    """The others after the users."""
    ids, first = Ids([*users.users, *others.users], kind="user"), len(users.users)
    parts = [(start, one.seen) for start, one in ((0, users), (first, others)) if one.seen is not None]
    user = np.concatenate([start + one.user for start, one in parts])
    item = np.concatenate([one.item for _, one in parts])
    times = [one.times for _, one in parts if one.times is not None]
    seen = Interactions(ids, users.items, user, item, np.concatenate(times) if times else None)
    return replace(users, users=ids, seen=seen)
