"""From columns to clean rows: each is read by its role, and every bad row is refused or counted."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import corml.data._cost as _cost
import corml.data.cleaning._columns as _columns
import corml.data.cleaning._times as _times
from corml.data._options import Notes, Options
from corml.data.cleaning._columns import Check, Coded, Floats
from corml.data.cleaning._ignored import remark_on_ignored
from corml.data.cleaning._weights import EventTypes, Weights, event_types, of_rows
from corml.data.clock import Clock
from corml.data.formats._sniff import Roles, roles
from corml.data.formats._table import Columns, Table
from corml.data.labels import Labels
from corml.errors import DataError, UsageError, ascii_line

MAX_BAD = 0.01  # the share of rows that may be bad and still be skipped, unless another is given
HARDLY = 0.1  # a column found by its name of which no larger share can be read as times is not one of times


@dataclass(frozen=True)
class Rows:
    """Good rows in the order of the file: numbered ids, with ratings, times and weights where there are some."""

    users: Labels
    items: Labels
    user: NDArray[np.int64]
    item: NDArray[np.int64]
    rating: Floats | None = None
    time: Floats | None = None
    read: int = 0
    bad: int = 0
    without_id: int = 0
    weights: Weights | None = None


def gather(table: Table, options: Options, notes: Notes) -> Rows:
    """Read the columns that matter and keep the rows that are whole."""
    try:
        chosen = roles(table.names, table.named, options, table.where)
    except (DataError, UsageError) as fault:
        if not table.hint:
            raise
        raise type(fault)(f"{fault} {table.hint}") from fault
    if options.user is None or options.item is None or not table.named:
        notes.add(f"columns: {chosen.shown(table.names)}")
    remark_on_ignored(table, chosen, options, notes)
    before = _cost.require_for_reading(table, len(chosen.positions()))
    with whole_characters(table.where):
        columns = table.read(chosen.positions())
    if not len(columns) and not columns.faults:
        raise DataError(f"{table.where} has no interactions: it has no rows.")
    _cost.require_for_ids(table, columns.series, before)
    return clean(columns, Described.of(table, chosen), options, notes)


@contextmanager
def whole_characters(where: str) -> Iterator[None]:
    """Refuse half of a character, which JSON, NPZ files and frames may hold, and UTF-8 may not."""
    try:
        yield
    except UnicodeEncodeError as fault:
        half = ascii_line(fault.object[fault.start : fault.end])
        raise DataError(f"{where} has half of a character, {half}, in a text: write it again as UTF-8.") from fault


def clean(columns: Columns, about: "Described", options: Options, notes: Notes, *, unit: Clock | None = None) -> Rows:
    """The good rows of all columns of a table, or of a slice, whose times count in `unit`."""
    return _Cleaning(columns, about, options, notes, unit).rows()


@dataclass(frozen=True)
class Described:
    """What to call a table and its columns by role, and whether the columns are only a slice of it.

    Whether too many rows are bad, only the whole table tells.
    """

    where: str
    names: Mapping[str, str]
    part: bool = False

    @classmethod
    def of(cls, table: Table, chosen: Roles) -> "Described":
        """The whole of a table."""
        return cls(table.where, {role: table.names[at] for role, at in chosen.by_role().items()})


@dataclass
class _Cleaning:
    """One pass over some columns: values by role, and the rows that cannot be read."""

    columns: Columns
    about: Described
    options: Options
    notes: Notes
    unit: Clock | None

    def __post_init__(self) -> None:
        self.where, self.names, self.part = self.about.where, self.about.names, self.about.part
        self.series = dict(zip(self.names, self.columns.series, strict=True))
        self.values: dict[str, Floats] = {}
        self.events: EventTypes | None = None
        self.checks: list[Check] = []
        self.remark = ""

    def rows(self) -> Rows:
        options = self.options
        users, items = (
            _columns.ids(self.series[role], role, self.where, trim=options.trim, null_ids=options.null_ids)
            for role in ("user", "item")
        )
        for remark in filter(None, (users.remark, items.remark)):
            self.notes.warn(remark)
        self.checks += [users.check, items.check]
        readers = {"rating": self._ratings, "weight": self._ratings, "time": self._times, "event": self._events}
        for role in [role for role in self.names if role in readers]:
            readers[role](role)
        present = self._present(users, items)
        self.checks = [replace(check, bad=check.bad & present) for check in self.checks]
        bad: NDArray[np.bool_] = np.logical_or.reduce([check.bad for check in self.checks])
        self._refuse(int(bad.sum()) + self.columns.faulty)
        if self.remark:
            self.notes.warn(self.remark)
        good = present & ~bad
        rating, time, quantity = (
            self.values[role][good] if role in self.values else None for role in ("rating", "time", "weight")
        )
        return Rows(
            users.labels,
            items.labels,
            users.codes[good],
            items.codes[good],
            rating,
            time,
            len(good) + self.columns.faulty,
            int(bad.sum()) + self.columns.faulty,
            int((~present).sum()),
            of_rows(quantity, None if self.events is None else self.events.where(good), time, options),
        )

    def _ratings(self, role: str) -> None:
        """Ratings or quantities; those below a threshold are left out later, like all that is rated too low."""
        negative = role == "weight" or self.options.at_least is not None
        self.values[role], check = _columns.ratings(
            self.series[role], self.where, negative=negative, decimal=self.options.decimal, noun=role
        )
        self.checks.append(self._with_way_out(check, role, found=role == "rating" and self.options.rating is None))

    def _times(self, role: str) -> None:
        """Times, unless their column was only found by its name and hardly holds any."""
        options = self.options
        times = _times.plausible(self.series[role], self.where, options, self.unit, self.columns.places)
        asked = options.time is not None or options.time_format is not None or options.half_life is not None
        if asked or self.part or times.readable > HARDLY:
            self.values[role], self.remark = times.values, times.remark
            self.checks.append(self._with_way_out(times.check, role, found=not (asked or self.part)))
        else:
            first = self._first([times.check])
            self.notes.warn(f"times ignored, as hardly anything in their column is one: {first}")

    def _events(self, role: str) -> None:
        self.events, check = event_types(self.series[role], self.options, self.where)
        self.checks.append(check)

    def _with_way_out(self, check: Check, role: str, *, found: bool) -> Check:
        """Where a column was found by its name, say how to do without it."""
        out = f"; {role}=False (--no-{role}) ignores column {ascii_line(self.names[role])}"
        return Check(check.bad, lambda row: check.what(row) + out) if found else check

    def _present(self, *columns: Coded) -> NDArray[np.bool_]:
        """Mask of the rows that are not to be left out for want of an id; say how many are."""
        present = np.ones(len(self.columns), dtype=bool)
        for coded in columns:
            if coded.dropped is not None:
                present &= ~coded.dropped
        if len(present) and not present.any() and not self.part:
            raise DataError(
                "Every row lacks a user or an item: name the right columns as user= (--user), item= (--item)."
            )
        if not present.all():
            count = int((~present).sum())
            self.notes.warn(f"null ids: {count:,} of {len(present):,} rows without a user or an item left out")
        return present

    def _refuse(self, count: int) -> None:
        """Refuse bad rows, or too many of them; else say how many are skipped."""
        if not count:
            return
        first = self._first(self.checks)
        if not self.options.skip_bad_rows and self.options.max_bad_rows is None:
            more = f" ({count - 1:,} more bad row{'s' * (count > 2)} follow{'s' * (count == 2)})" if count > 1 else ""
            raise DataError(f"{first}{more}: correct it, or pass skip_bad_rows=True (--skip-bad-rows).")
        if not self.part:
            refuse_too_many(count, len(self.columns) + self.columns.faulty, self.options, f", the first: {first}")
        self.notes.warn(f"bad rows skipped: {count:,}, the first: {first}")

    def _first(self, checks: list[Check]) -> str:
        """The bad row that stands highest in the file, and what is wrong with it."""
        faults = self.columns.faults[:1]
        for check in checks:
            if check.bad.any():
                row = int(check.bad.argmax())
                faults.append(self.columns.fault(row, check.what(row)))
        first = min(faults, key=lambda fault: (fault.file, fault.number))
        return f"{first.where or self.where}, {self.columns.unit} {first.number:,}: {first.what}"


def refuse_too_many(bad: int, read: int, options: Options, first: str = "") -> None:
    """Refuse a share of bad rows above what is allowed."""
    allowed = MAX_BAD if options.max_bad_rows is None else options.max_bad_rows
    if bad and (bad > allowed * read or bad == read):
        raise DataError(
            f"{bad:,} of {read:,} rows are bad, more than {100 * allowed:g}%{first}: "
            "correct them, or allow a larger share with max_bad_rows= (--max-bad-rows)."
        )
