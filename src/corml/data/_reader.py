"""The rows of many files, never held whole: slice by slice, cleaned by the rules of `load`.

What depends on all rows must be given as an option: a column of times that cannot be read is an error here,
and dates with the day or the month first need `time_format`.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corml.data._options import Notes, Options
from corml.data._options import shown as option_name
from corml.data.cleaning import _times
from corml.data.cleaning._columns import Floats
from corml.data.cleaning._ignored import remark_on_ignored
from corml.data.cleaning._pairs import Pairs, merge
from corml.data.cleaning._rows import Described, Rows, clean, refuse_too_many, whole_characters
from corml.data.cleaning._weights import Weights
from corml.data.clock import Clock
from corml.data.formats import format_of, open_table
from corml.data.formats._files import File, refuse_foreign, shown
from corml.data.formats._several import files_in, files_like, is_pattern, several_files
from corml.data.formats._sniff import roles
from corml.data.formats._table import Columns, Cut, Table
from corml.data.labels import Labels, concatenated
from corml.data.store import is_store
from corml.errors import DataError, UsageError

LATER = ("k_core", "min_user", "min_item", "titles", "items")  # options that hold for a store when it is loaded
REFUSED = ("encoding", "sheet", "query", "event", "weights", "negative", "half_life")
COUNTED = ("bad rows skipped", "null ids")  # what is warned of when all are counted


class Reader:
    """The rows of some files, folders and patterns of files, one after the other, by options of `load`."""

    def __init__(
        self, sources: Sequence[str | os.PathLike[str]], given: Mapping[str, object], cut: Cut, notes: Notes
    ) -> None:
        self.options = _options(given)
        self.files = _files(sources)
        self._cut, self._notes = cut, notes
        self._passed_on = {"columns"}
        where = shown(self.files[0])
        self._table = several_files(self.files, where, self._open, notes)
        self._roles = roles(self._table.names, self._table.named, self.options, where)
        notes.add(f"columns: {self._roles.shown(self._table.names)}")
        remark_on_ignored(self._table, self._roles, self.options, notes)

    def _open(self, path: Path, notes: Notes) -> Table:
        file = File(path, allow_expansion=self.options.allow_expansion, in_slices=True)
        return open_table(file, self.options, notes)

    @property
    def columns(self) -> dict[str, str]:
        """The names of the columns by role."""
        return {role: self._table.names[at] for role, at in self._roles.by_role().items()}

    @cached_property
    def about_rows(self) -> list[int]:
        """How many rows each file has, as far as its size tells; rather more than less."""
        files = (File(path, in_slices=True) for path in self.files)
        return [format_of(file, self.options).about_rows(file, self.options) for file in files]

    @cached_property
    def _sizes_before(self) -> list[int]:
        """The bytes of all files before each."""
        return [0, *accumulate(path.stat().st_size for path in self.files)]

    def bytes_before(self, file: int, rows: int) -> int:
        """About how many bytes of all files lie before a row of one of them."""
        start, end = self._sizes_before[file : file + 2]
        return start + (end - start) * min(rows, self.about_rows[file]) // max(self.about_rows[file], 1)

    def slices(self, file: int, skip: int = 0) -> Iterator[Rows]:
        """The good rows of one file, without its first slices."""
        unit = self._unit(file)
        with whole_characters(shown(self.files[file])):
            for columns in self._table.part(file, self._roles.positions(), self._cut, skip):
                yield self._rows(file, columns, unit)

    def merge(
        self, user: NDArray[np.int64], item: NDArray[np.int64], items: int, values: Mapping[str, Floats | None]
    ) -> Pairs:
        """Make pairs of the rows of some users, numbered like the so many items."""
        quantity, none = values["quantity"], Labels.of([])
        weights = None if quantity is None else Weights(quantity, True, None)
        rows = Rows(none, none, user, item, values["rating"], values["time"], weights=weights)
        return merge(rows, items, self.options)

    def refuse_too_many(self, bad: int, read: int) -> None:
        """Refuse a share of bad rows above what is allowed."""
        refuse_too_many(bad, read, self.options)

    def _rows(self, file: int, columns: Columns, unit: Clock | None) -> Rows:
        self._refuse_unclear(file, columns)
        notes = Notes(warner=lambda line: None)
        about = Described(shown(self.files[file]), self.columns, part=True)
        rows = clean(columns, about, self.options, notes, unit=unit)
        for line in notes.lines:  # the first of each sort: there may be thousands of slices
            if line.partition(":")[0] not in self._passed_on:
                self._passed_on.add(line.partition(":")[0])
                warns = line in notes.warned and not line.startswith(COUNTED)
                pass_on = self._notes.warn if warns else self._notes.add
                pass_on(f"first of the batches with such rows: {line}")
        return rows

    def _refuse_unclear(self, file: int, columns: Columns) -> None:
        """Refuse what only all rows together could decide."""
        from corml._runtime.lazy_polars import polars as pl

        where = shown(self.files[file])
        series = dict(zip(self._roles.by_role(), columns.series, strict=True))
        for role in ("user", "item"):
            if series[role].dtype == pl.Binary:
                raise DataError(f"{where}: the {role} column holds bytes: write it as text to make a store of it.")
        time = series.get("time")
        if time is None or self.options.time_format is not None or time.dtype != pl.String:
            return
        if time.str.strip_chars().str.contains(_times.DAY_OR_MONTH_FIRST).any():
            raise DataError(
                f"{where} has dates whose day or month comes first: say which with time_format= (--time-format), "
                "such as %d.%m.%Y, or leave times out with time=False (--no-time)."
            )

    def _unit(self, file: int) -> Clock | None:
        """What the times of a file count in, as its first rows show; counters mixed with dates are refused."""
        first, own = self._first_times(0), self._first_times(file)
        known = ((self.files[0], first), (self.files[file], own))
        _times.require_alike([(shown(one), times) for one, times in known if times is not None])
        return None if own is None else own.unit

    def _first_times(self, file: int) -> _times.Times | None:
        """The first times of a file."""
        if self._roles.time is None:
            return None
        if file in self._times_of:
            return self._times_of[file]
        for columns in self._table.part(file, [self._roles.time], self._cut):
            where = shown(self.files[file])
            read = _times.times(columns.series[0], where, self.options.time_format, self.options.decimal)
            if read.readable and len(columns):
                if read.remark and read.remark not in self._notes.lines:
                    self._notes.warn(read.remark)
                return self._times_of.setdefault(file, read) if not file else read
        return None

    @cached_property
    def _times_of(self) -> dict[int, _times.Times]:
        return {}


def together(batches: list[Rows]) -> Rows:
    """One batch of several, whose labels are numbered one after the other."""
    if len(batches) == 1:
        return batches[0]

    def codes(name: str) -> NDArray[np.int64]:
        before = np.cumsum([0, *(len(getattr(one, f"{name}s")) for one in batches)])
        return np.concatenate([getattr(one, name) + first for one, first in zip(batches, before, strict=False)])

    def values(name: str) -> Floats | None:
        columns = [values_of(one)[name] for one in batches]
        return None if columns[0] is None else np.concatenate([column for column in columns if column is not None])

    quantity = values("quantity")
    return Rows(
        concatenated([one.users for one in batches]),
        concatenated([one.items for one in batches]),
        codes("user"),
        codes("item"),
        values("rating"),
        values("time"),
        weights=None if quantity is None else Weights(quantity, True, None),
    )


def values_of(rows: Rows) -> dict[str, Floats | None]:
    """The numbers of each row, where there are some."""
    quantity = None if rows.weights is None else rows.weights.numbers
    return {"rating": rows.rating, "time": rows.time, "quantity": quantity}


def _options(given: Mapping[str, object]) -> Options:
    """The options, checked; those that a store cannot be made with are refused, not ignored."""
    options = Options.of(given)
    options.require_events()
    for name in options.given():
        if name in LATER:
            raise UsageError(f"{option_name(name)} is given when a store is loaded, not when it is made: leave it out.")
        if name in REFUSED:
            raise UsageError(
                f"A store cannot be made with {option_name(name)} yet: leave it out, or load the data instead."
            )
    if options.low_ratings == "negative":
        raise UsageError("A store keeps low ratings as seen: leave low_ratings= (--low-ratings) negative out.")
    return options


def _files(sources: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """All files that were named, in the order given; those of a folder or pattern by name."""
    paths: list[Path] = []
    for source in sources:
        refuse_foreign(source)
        name = os.fspath(source)
        if is_store(name):
            raise UsageError(f"{shown(name)} is a store already: name the files it was made of.")
        if is_pattern(name):
            paths += files_like(name)
        elif os.path.isdir(name):
            paths += files_in(Path(name))
        elif os.path.isfile(name):
            paths.append(Path(name))
        else:
            raise DataError(f"There is no file or folder {shown(name)}: a store is made of files on disk.")
    if not paths:
        raise UsageError("A store is made of at least one file: name it before the folder to write.")
    twice = next((path for path, times in Counter(paths).items() if times > 1), None)
    if twice is not None:
        raise UsageError(f"{shown(twice)} is named twice: its rows would count twice. Name it once.")
    return [path for path in paths if path.stat().st_size] or paths[:1]
