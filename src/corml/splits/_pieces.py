"""Data as splits see them: interactions in memory, or a store of which some users are there at a time."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from corml._runtime.progress import Progress
from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.store import Store
from corml.errors import DataError, UsageError, quoted
from corml.splits._split import Split
from corml.splits._store_split import StoreSplit

__all__ = ["AnySplit", "Data", "Decide", "Pieces", "check_times", "pieces", "times_of"]

Decide = Callable[[Interactions], NDArray[Any]]  # gives the number of the part of each pair


class Pieces:
    """A store that is being split into a folder.

    A split that asks for more than this, such as all pairs at once, is refused.
    """

    def __init__(self, store: Store, how: str, out: Path, progress: Progress) -> None:
        self.how, self.out, self.progress = how, out, progress
        self.store, self.people = store, store.people()

    def __iter__(self) -> Iterator[Interactions]:
        return self.people.parts()

    def __len__(self) -> int:
        return len(self.store)

    @property
    def items(self) -> Ids:
        """The catalogue."""
        return self.people.items

    @property
    def fingerprint(self) -> str:
        """That of the store."""
        return self.people.fingerprint

    def times(self) -> Iterator[NDArray[np.float64]] | None:
        """The moments of all pairs, those of some users at a time; None where they are not known."""
        if not self.store.manifest.timed:
            return None
        return (np.asarray(chunk.times) for chunk in self.store.chunks())

    def written(self, decide: Decide, procedure: Mapping[str, Any]) -> StoreSplit:
        """Write the split."""
        from corml.splits._store_write import write_split  # with a kernel that data in memory do without

        return write_split(self.store, self.people, self.out, decide, procedure, self.progress)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        self.refuse()

    def refuse(self) -> NoReturn:
        """Refuse a split that does not go by users."""
        raise UsageError(
            f"The split {self.how!r} needs all pairs in memory: load the store with corml.load, or choose a split that "
            "goes by users, such as 'ratio' or 'temporal'."
        )


Data = Interactions | Pieces
AnySplit = Split | StoreSplit


def pieces(data: Data) -> Iterable[Interactions]:
    """The data, some users at a time; in memory they are all there at once."""
    return [data] if isinstance(data, Interactions) else data


def times_of(data: Data) -> Iterable[NDArray[np.float64]]:
    """The moments of all pairs, which are known."""
    known = data.times if isinstance(data, Interactions) else data.times()
    assert known is not None, "checked before"
    return [known] if isinstance(known, np.ndarray) else known


def check_times(data: Data, how: str) -> None:
    """Refuse data in which not every pair has a time, and say how to provide it."""
    if (data.times if isinstance(data, Interactions) else data.times()) is None:
        raise DataError(
            f"The split '{how}' needs the moment of each pair, and these data have none: "
            "name their column when loading (time=), or choose a split that needs none, such as 'ratio'."
        )
    missing = sum(int(np.count_nonzero(~np.isfinite(times))) for times in times_of(data))
    if missing:
        raise DataError(
            f"{missing:,} pairs have no time (the first: {_first_without(data)}), and the split '{how}' needs one: "
            "drop them."
        )


def _first_without(data: Data) -> str:
    for some in pieces(data):
        for at in np.flatnonzero(~np.isfinite(np.asarray(some.times)))[:1]:
            return quoted([some.users[int(some.user[at])], some.items[int(some.item[at])]])
    return ""
