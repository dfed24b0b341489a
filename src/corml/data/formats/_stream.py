"""Interactions that are never held whole: clean rows of many files, batch by batch, by the rules of `load`.

A batch in which every row is fine is read without a detour. Any other is read as `load` reads a table: the same reader
decides which rows are bad, and says where. What only a look at all rows can decide is asked for instead: a column of
times that cannot be read is an error here, and dates with the day or the month first need `time_format`.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import corml.data.cleaning._columns as _columns
import corml.data.cleaning._times as _times
from corml.data._options import Notes, Options
from corml.data.cleaning._columns import Columns, Table
from corml.data.cleaning._ignored import remark_on_ignored
from corml.data.cleaning._pairs import Pairs, merge
from corml.data.cleaning._rows import MAX_BAD, Rows, gather
from corml.data.cleaning._strength import Strength, check_options
from corml.data.clock import Clock
from corml.data.formats._blocks import Cut, Position, about_rows, blocks, bytes_before
from corml.data.formats._folders import files_in, files_like, is_pattern, partition
from corml.data.formats._packed import refuse_foreign, shown
from corml.data.formats._sniff import Roles, roles
from corml.data.ids import LONGEST_ID
from corml.data.store import is_store
from corml.errors import DataError, UsageError, ascii_line

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Batch", "Stream"]

Floats = NDArray[np.float64]

LATER = ("k_core", "min_user", "min_item", "titles", "items")  # options that hold for a store when it is loaded
COUNTED = ("bad rows skipped", "null ids")  # what is warned of when all are counted
REFUSED = (
    *("encoding", "sheet", "query"),
    *("event", "weights", "negative", "half_life"),
)
# what str.isspace() calls a blank; an id of nothing else is none
BLANKS = "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)


@dataclass(frozen=True)
class Batch:
    """Good rows in the order of their file: ids as text, with ratings, times and quantities where there are some."""

    user: "pl.Series"
    item: "pl.Series"
    rating: Floats | None
    time: Floats | None
    quantity: Floats | None
    read: int
    bad: int
    without_id: int
    end: Position


class Stream:
    """The rows of some files, folders and patterns of files, one after the other, by options of `load`."""

    def __init__(
        self, sources: Sequence[str | os.PathLike[str]], given: Mapping[str, Any], cut: Cut, notes: Notes
    ) -> None:
        self.options = _options(given)
        self.files = _files(sources)
        self._cut, self._notes = cut, notes
        self._said = {"columns"}
        if self.options.item_lists:
            notes.add("lists: a user and all their items in each line or record")
        first, _ = next(blocks(self.files[0], self.options, notes, Position(), cut))
        own = list(first.names)
        self._names = own + [key for key in partition(self.files[0]) if key not in own]
        self._roles = roles(self._names, first.named, self.options, first.where)
        chosen = [
            f"{role}={ascii_line(self._names[at])[1:-1]}" for role, at in vars(self._roles).items() if at is not None
        ]
        notes.add("columns: " + ", ".join(chosen))
        remark_on_ignored(first, self._roles, self.options, notes)

    @property
    def columns(self) -> dict[str, str]:
        """Which column is which, by role."""
        return {role: self._names[at] for role, at in vars(self._roles).items() if at is not None}

    @cached_property
    def about_rows(self) -> list[int]:
        """How many rows each file has, as far as sizes tell; rather more than less."""
        return [about_rows(path, self.options) for path in self.files]

    @cached_property
    def _sizes_before(self) -> list[int]:
        """The bytes of all files before each."""
        return [0, *accumulate(path.stat().st_size for path in self.files)]

    def bytes_before(self, file: int, position: Position) -> int:
        """About how many bytes of all files lie before a position in one of them."""
        return self._sizes_before[file] + bytes_before(self.files[file], self.options, position, self.about_rows[file])

    def batches(self, file: int, start: Position) -> Iterator[Batch]:
        """The rows of one file, from a position on."""
        path = self.files[file]
        unit = self._unit(path)
        for table, end in blocks(path, self.options, Notes(), start, self._cut):
            yield self._batch(_Aligned(table, path, self._names, self.files[0]), end, unit)

    def merge(self, shape: tuple[int, int], codes: tuple[NDArray[Any], NDArray[Any]], **known: Floats | None) -> Pairs:
        """What rows of some users, numbered, come to: pairs to learn from and pairs that were only seen."""
        quantity = known["quantity"]
        strength = None if quantity is None else Strength(quantity, True, None)
        return merge(
            Rows([], _Counted(shape[1]), *codes, known["rating"], known["time"], len(codes[0]), 0, strength=strength),
            self.options,
        )

    def refuse_too_many(self, bad: int, read: int) -> None:
        """Refuse a share of bad rows above what is allowed."""
        allowed = MAX_BAD if self.options.max_bad_rows is None else self.options.max_bad_rows
        if bad and (bad > allowed * read or bad == read):
            raise DataError(
                f"{bad:,} of {read:,} rows are bad, more than {100 * allowed:g}%: "
                "correct them, or allow a larger share with max_bad_rows= (--max-bad-rows)."
            )

    def _batch(self, table: "_Aligned", end: Position, unit: Clock | None) -> Batch:
        columns = table.read(self._roles.positions())
        _refuse_unclear(columns, self._roles, self.options, table.where)
        fine = None
        if not columns.faults and self.options.null_ids is None:
            fine = _fine(columns, self._roles, self.options, table.where, unit)
        if fine is not None:
            self._say_once(_remarks(columns))
            return Batch(*fine, len(columns), 0, 0, end)
        notes = Notes(warner=lambda line: None)
        batch = _checked(table, self._settled(), notes, end, unit)
        self._say_once(notes)
        return batch

    def _say_once(self, notes: Notes) -> None:
        """Pass on the first remark of each kind: there may be thousands of batches."""
        for line in notes.lines:
            if line.partition(":")[0] not in self._said:
                self._said.add(line.partition(":")[0])
                warns = line in notes.warned and not line.startswith(COUNTED)
                say = self._notes.warn if warns else self._notes.add
                say(f"first of the batches with such rows: {line}")

    def _unit(self, path: Path) -> Clock | None:
        """What the times of a file count in, as its first rows show; counters beside dates are refused."""
        first, own = self._of_first_file, self._first_times(path)
        known = ((self.files[0], first), (path, own))
        _times.require_alike([(shown(one), times) for one, times in known if times is not None])
        return None if own is None else own.unit

    @cached_property
    def _of_first_file(self) -> _times.Times | None:
        return self._first_times(self.files[0])

    def _first_times(self, path: Path) -> _times.Times | None:
        """The first times of a file."""
        at = self._roles.time
        if at is None:
            return None
        for table, _ in blocks(path, self.options, Notes(), Position(), self._cut):
            column = _Aligned(table, path, self._names, self.files[0]).read([at]).series[0]
            read = _times.times(column, table.where, self.options.time_format, self.options.decimal)
            if read.readable and len(column):
                if read.remark and read.remark not in self._notes.lines:
                    self._notes.warn(read.remark)
                return read
        return None

    def _settled(self) -> Options:
        """The options of all files, with the columns of the first."""
        options, names = self.options, self._names
        return replace(
            options,
            user=self._roles.user,
            item=self._roles.item,
            rating=False if self._roles.rating is None else options.rating,
            time=False if self._roles.time is None else names[self._roles.time],
        )


class _Counted(list[str]):
    """Labels of which only the number matters."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count

    def __len__(self) -> int:
        return self._count


class _Aligned:
    """A table with the columns of the first file, found by name, and those that its folders name."""

    def __init__(self, table: Table, path: Path, names: Sequence[str], first: Path) -> None:
        self.where, self.named, self.names = table.where, table.named, list(names)
        self._table, self._keys, self._first = table, partition(path), first

    @property
    def rows(self) -> int:
        """As many as the table has."""
        return self._table.rows

    def extra(self, columns: int) -> int:
        """What reading the table takes."""
        return self._table.extra(columns)

    def read(self, positions: Sequence[int]) -> Columns:
        """Read some columns."""
        from corml._runtime.lazy_polars import polars as pl

        own, wanted = list(self._table.names), [self.names[at] for at in positions]
        missing = [name for name in wanted if name not in own and name not in self._keys]
        if missing:
            raise DataError(
                f"{self.where} has no column {ascii_line(missing[0])}, which {shown(self._first)} has: "
                "leave one of them out, or rename the column."
            )
        inside = [name for name in wanted if name in own]
        read = self._table.read([own.index(name) for name in inside] or [0])
        series = dict(zip(inside, read.series, strict=False))
        series |= {
            name: pl.repeat(self._keys[name], len(read), dtype=pl.String, eager=True)
            for name in wanted
            if name not in own
        }
        return replace(read, series=[series[name] for name in wanted])


def _options(given: Mapping[str, Any]) -> Options:
    """The options, checked; those that a store cannot be made with are refused, not ignored."""
    options = Options(**given)
    check_options(options)
    set_here = options.given()
    for name in LATER:
        if name in set_here:
            raise UsageError(f"{_flag(name)} is given when a store is loaded, not when it is made: leave it out.")
    for name in REFUSED:
        if name in set_here:
            raise UsageError(f"A store cannot be made with {_flag(name)} yet: leave it out, or load the data instead.")
    if options.low_ratings == "negative":
        raise UsageError("A store keeps low ratings as seen: leave low_ratings= (--low-ratings) negative out.")
    return options


def _flag(name: str) -> str:
    return f"{name}= (--{name.replace('_', '-')})"


def _files(sources: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """All files that were named, in the order given; those of a folder or pattern by name."""
    paths: list[Path] = []
    for source in sources:
        refuse_foreign(source)
        name = os.fspath(source)
        if is_store(name):
            raise UsageError(f"{shown(name)} is a store already: name the files it was made of.")
        if is_pattern(name) and not os.path.exists(name):
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


# --- a batch ---------------------------------------------------------------------------------------------------------


def _refuse_unclear(columns: Columns, chosen: Roles, options: Options, where: str) -> None:
    """Refuse what only all rows together could decide."""
    from corml._runtime.lazy_polars import polars as pl

    series = dict(zip(chosen.positions(), columns.series, strict=True))
    for role, at in (("user", chosen.user), ("item", chosen.item)):
        if series[at].dtype == pl.Binary:
            raise DataError(f"{where}: the {role} column holds bytes: write it as text to make a store of it.")
    if chosen.time is None or options.time_format is not None or series[chosen.time].dtype != pl.String:
        return
    if series[chosen.time].str.strip_chars().str.contains(_times.DAY_OR_MONTH_FIRST).any():
        raise DataError(
            f"{where} has dates whose day or month comes first: say which with time_format= (--time-format), "
            "such as %d.%m.%Y, or leave times out with time=False (--no-time)."
        )


def _remarks(columns: Columns) -> Notes:
    """What is said of ids, which are the first two columns."""
    notes = Notes(warner=lambda line: None)
    for series, role in zip(columns.series, ("user", "item"), strict=False):
        if remark := _columns.remark_on_decimals(series, role):
            notes.warn(remark)
    return notes


def _fine(
    columns: Columns, chosen: Roles, options: Options, where: str, unit: Clock | None
) -> "tuple[pl.Series, pl.Series, Floats | None, Floats | None, Floats | None] | None":
    """The columns of a batch in which every row is fine; None if one is not."""
    series = dict(zip(chosen.positions(), columns.series, strict=True))
    ids = [
        _texts(series[at], role, where, trim=options.trim)
        for role, at in vars(chosen).items()
        if role in ("user", "item")
    ]
    rating = time = quantity = None
    bad = [np.zeros(1, dtype=bool)]
    if chosen.rating is not None:
        negative = options.at_least is not None
        rating, check = _columns.ratings(series[chosen.rating], where, negative=negative, decimal=options.decimal)
        bad.append(check.bad)
    if chosen.time is not None:
        times = _times.plausible(series[chosen.time], where, options, unit)
        time = times.values
        bad.append(times.check.bad)
    if chosen.weight is not None:
        quantity, check = _columns.ratings(series[chosen.weight], where, negative=True, decimal=options.decimal)
        bad.append(check.bad)
    user, item = ids
    if user is None or item is None or any(mask.any() for mask in bad):
        return None
    return user, item, rating, time, quantity


def _texts(series: "pl.Series", role: str, where: str, *, trim: bool) -> "pl.Series | None":
    """Ids as text; None if one of them is no id."""
    text = _columns.texts(series, role, where)
    if text.null_count():
        return None
    if series.dtype.is_integer() or not len(text):
        return text
    text = text.str.strip_chars() if trim else text
    longest = int(text.str.len_bytes().to_numpy().max())
    shortest = int(text.str.strip_chars(BLANKS).str.len_bytes().to_numpy().min())
    return text if shortest and longest <= LONGEST_ID else None


def _checked(table: Table, options: Options, notes: Notes, end: Position, unit: Clock | None) -> Batch:
    """A batch with rows that are not fine, as `load` reads it."""
    from corml._runtime.lazy_polars import polars as pl

    rows = gather(table, options, notes, part=True, unit=unit)
    user, item = (
        pl.Series(list(labels), dtype=pl.String).gather(codes)
        for labels, codes in ((rows.users, rows.user), (rows.items, rows.item))
    )
    quantity = None if rows.strength is None else rows.strength.numbers
    return Batch(user, item, rows.rating, rows.time, quantity, rows.read, rows.bad, rows.without_id, end)
