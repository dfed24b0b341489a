"""The contract of a format: a table with named columns that is read in slices.

A format is a public file of this package whose `__all__` names one subclass of `Table`, and nothing else. It recognises
its files by `SUFFIXES` (on standard input by `starts`); its `__init__` sets `where`, `names`, `budget = file.budget`
and, if known, `rows`; `_slices` yields `Columns`. `Table` does the rest: it counts what each slice took against the
budget, joins them, and shows the first rows. Where few bytes can become many, call `budget.check` and `budget.require`
with the size before they do. A format that needs a whole file calls `file.require_whole()`; one that reads in slices
reads `file.scannable`, not `file.data`. `tests/datasets/test_new_format.py` has a complete format.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from corml._runtime import memory
from corml.data._options import Notes, Options
from corml.data.formats._files import File
from corml.data.formats._guard import UNLIMITED, Budget
from corml.data.formats._sniff import bare, listed
from corml.errors import CormlError, DataError

if TYPE_CHECKING:
    import polars as pl

LOOK = 1000  # rows in `Table.head`
SHORTEST_LINE = 16  # bytes of a row of text
SHORTEST_ITEM = 4  # the same where a line has a user and all their items
LISTED = 100  # faults of a table that are kept; the others are only counted
PER_OBJECT = 50  # bytes of a value that is a Python object for a while
LONGEST_ROW = 1024  # mean bytes per row in a slice of limited size
HARMLESS = 1 << 24  # bytes of a slice that are fine however few rows it has


@dataclass(frozen=True)
class Fault:
    """One row that cannot be used: the number of its line or row, and why."""

    number: int
    what: str
    file: int = 0  # which of several files it stands in
    where: str = ""


@dataclass
class Faults:
    """The first faults of a table, and how many more there are: a file may have nothing but bad rows."""

    first: list[Fault] = field(default_factory=list)
    more: int = 0

    def add(self, number: int, what: str) -> None:
        """Keep or count one."""
        if len(self.first) < LISTED:
            self.first.append(Fault(number, what))
        else:
            self.more += 1


@dataclass(frozen=True)
class Place:
    """Where a stretch of rows comes from: the file, and the number of the first row or of each."""

    where: str
    rows: int
    first: int = 1
    lines: NDArray[np.int64] | None = None
    file: int = 0


@dataclass(frozen=True)
class Columns:
    """Some columns of some rows; rows that do not even have all columns are faults, of which the first are listed."""

    series: "list[pl.Series]"
    unit: str  # what rows are counted in: «line» of a file, «row» of a frame
    places: list[Place]
    faults: list[Fault] = field(default_factory=list)
    more_faults: int = 0

    @property
    def faulty(self) -> int:
        """How many rows do not even have all columns."""
        return len(self.faults) + self.more_faults

    def __len__(self) -> int:
        return len(self.series[0])

    def fault(self, row: int, what: str) -> Fault:
        """Say what is wrong with a row, at the number that a reader of the file would look up."""
        for place in self.places:
            if row < place.rows:
                number = place.first + row if place.lines is None else int(place.lines[row])
                return Fault(number, what, place.file, place.where)
            row -= place.rows
        raise AssertionError("there is no such row")


@dataclass(frozen=True)
class Cut:
    """How large slices are: at most so many rows of a binary file, about so many bytes of text."""

    rows: int = 1 << 62
    bytes: int = 1 << 25

    @property
    def limited(self) -> bool:
        """Whether slices are to stay small."""
        return self.rows < 1 << 62


WHOLE = Cut()


class Table(ABC):
    """Named columns that are read in slices."""

    SUFFIXES: ClassVar[tuple[str, ...]] = ()
    where: str  # what to call it in messages
    names: list[str]
    named = True  # whether the names come from the data (else they are 0, 1, 2 …)
    rows = 0  # about how many there are; 0 where only reading would tell
    budget: Budget = UNLIMITED  # what its values may grow to
    takes_query = False  # whether it is a database
    hint = ""  # what to add where no column is that of the users
    peekable = True  # whether the first rows cost little

    @classmethod
    def starts(cls, start: bytes) -> bool:
        """Whether a file without a name that begins with these bytes has this format."""
        return False

    @classmethod
    def recognises(cls, file: File, options: Options) -> bool:
        """Whether a file has this format."""
        return file.kind in cls.SUFFIXES

    @classmethod
    def open(cls, file: File, options: Options, notes: Notes, *, about_items: bool = False) -> "Table":
        """The table in a file; `about_items` if it describes items instead of interactions."""
        return cls(file, options, notes)  # type: ignore[call-arg]

    @classmethod
    def about_rows(cls, file: File, options: Options) -> int:
        """How many rows a file has, for a store, rather more than less; the default is for text, others override it."""
        return file.size // (SHORTEST_ITEM if options.item_lists else SHORTEST_LINE) + 1

    def extra(self, columns: int) -> int:
        """Bytes that reading so many columns takes in addition to the columns."""
        return 0

    @abstractmethod
    def _slices(self, positions: Sequence[int], cut: Cut, skip: int) -> Iterator[Columns]:
        """The columns at these positions, slice by slice, without the first `skip` slices.

        The same cut gives the same slices each time: a store resumes by their number.
        """

    def slices(self, positions: Sequence[int], cut: Cut = WHOLE, skip: int = 0) -> Iterator[Columns]:
        """The columns at these positions; an error once they grow beyond the budget of the file."""
        total = 0
        for part in self._slices(positions, cut, skip):
            size = sum(map(bytes_of, part.series))
            total += size
            self.budget.check(total)
            if cut.limited and size > max(LONGEST_ROW * len(part), HARMLESS):
                first = part.places[0].first
                raise DataError(
                    f"{self.where}, rows {first:,} to {first + len(part) - 1:,}: they take more than {LONGEST_ROW:,} "
                    f"bytes each, {memory.size(size)} so far: a store is made of ids shorter than that."
                )
            if self.budget is not UNLIMITED and not cut.limited:
                self.budget.require(total)  # joined, they are copied once more
            yield part

    def read(self, positions: Sequence[int]) -> Columns:
        """Read the columns at these positions."""
        return joined_slices(self.slices(positions), [self.names[at] for at in positions])

    def head(self, positions: Sequence[int]) -> "dict[int, pl.Series]":
        """The first rows of some columns, without those that cannot be read: they are not needed."""
        known: dict[int, pl.Series] = {}
        for at in positions if self.peekable else ():
            try:
                part = next(self.slices([at], Cut(LOOK, 1 << 18)))
            except (CormlError, StopIteration):
                continue
            known[at] = part.series[0].head(LOOK)
        return known


def joined_slices(slices: Iterator[Columns], names: Sequence[str]) -> Columns:
    """All slices as one; of the faults, the first are listed."""
    from corml._runtime.lazy_polars import polars as pl

    parts = list(slices)
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return Columns([pl.Series(name, [], dtype=pl.String) for name in names], "row", [])
    faults = [fault for part in parts for fault in part.faults]
    more = sum(part.more_faults for part in parts) + max(len(faults) - LISTED, 0)
    return Columns(
        [joined([part.series[at] for part in parts], name) for at, name in enumerate(names)],
        parts[0].unit,
        [place for part in parts for place in part.places],
        faults[:LISTED],
        more,
    )


def joined(parts: "Sequence[pl.Series]", name: str) -> "pl.Series":
    """One column of several; of types that differ by more than the size of whole numbers, as text."""
    from corml._runtime.lazy_polars import polars as pl
    from corml.data.cleaning._columns import texts

    kinds = {part.dtype for part in parts if len(part)} or {parts[0].dtype}
    parts = [part for part in parts if part.dtype in kinds]
    if len(kinds) > 1 and all(kind.is_integer() for kind in kinds):
        parts = [part.cast(pl.Int128) for part in parts]
    elif len(kinds) > 1:
        parts = [texts(part, name, "The files") for part in parts]
    return pl.concat([part.alias(name) for part in parts])


def plain_names(names: Sequence[str], where: str) -> list[str]:
    """Column names without surrounding blanks and RecBole's types; no two may be the same then."""
    plain = [bare(name) for name in names]
    if len(set(plain)) < len(plain):
        raise DataError(f"{where} has two columns of one name; its columns are {listed(plain)}: rename one.")
    return plain


def bytes_of(values: "pl.Series") -> int:
    """Bytes of a column, each text written out: the texts of a category are many once they are."""
    from corml._runtime.lazy_polars import polars as pl

    kind = values.dtype
    if kind in (pl.Categorical, pl.Enum):
        return int(values.estimated_size()) + int(values.cat.len_bytes().cast(pl.UInt64).sum())
    if kind in (pl.List, pl.Array):
        return int(values.estimated_size()) + bytes_of(values.drop_nulls().explode())
    if kind == pl.Struct:
        return sum(map(bytes_of, values.struct.unnest().iter_columns()))
    return int(values.estimated_size())


def cut_rows(rows: int, cut: Cut, skip: int) -> Iterator[tuple[int, int]]:
    """The first row and the number of rows of each slice of a table in memory or on disk; at least one slice."""
    for first in islice(range(0, max(rows, 1), cut.rows), skip, None):
        yield first, max(min(cut.rows, rows - first), 0)
