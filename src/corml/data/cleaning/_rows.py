"""From a table to clean rows: every column read, every bad row refused or counted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import corml.data._cost as _cost
import corml.data.cleaning._columns as _columns
import corml.data.cleaning._times as _times
from corml.data._options import Notes, Options
from corml.data.cleaning._columns import Check, Coded, Columns, Fault, Table
from corml.data.cleaning._ignored import remark_on_ignored
from corml.data.cleaning._strength import Strength, kinds, of_rows
from corml.data.clock import Clock
from corml.data.formats._sniff import Roles, roles
from corml.data.labels import Labels
from corml.errors import DataError, ascii_line

__all__ = ["Rows", "gather"]

MAX_BAD = 0.01  # the share of rows that may be bad and still be skipped, unless another is given
HARDLY = 0.1  # a column that was not asked for, and of which no larger share can be read as times, is none of times


@dataclass(frozen=True)
class Rows:
    """Good rows in the order of the file: numbered ids, with ratings and times where there are some."""

    users: Labels | list[str]
    items: Labels | list[str]
    user: NDArray[np.int64]
    item: NDArray[np.int64]
    rating: NDArray[np.float64] | None
    time: NDArray[np.float64] | None
    read: int
    bad: int
    without_id: int = 0
    strength: Strength | None = None


def _read(table: Table, positions: Sequence[int]) -> Columns:
    try:
        return table.read(positions)
    except UnicodeEncodeError as fault:  # what JSON, NPZ files and frames may hold, and UTF-8 may not
        half = ascii_line(fault.object[fault.start : fault.end])
        raise DataError(
            f"{table.where} has half of a character, {half}, in a text: write it again as UTF-8."
        ) from fault


def gather(table: Table, options: Options, notes: Notes, *, part: bool = False, unit: Clock | None = None) -> Rows:
    """Read the columns that matter and keep the rows that are whole.

    Of a `part` of a table there may be none, and its times count in what the first part showed, its `unit`.
    """
    chosen = roles(table.names, table.named, options, table.where)
    _say(chosen, table, options, notes)
    if not part:
        remark_on_ignored(table, chosen, options, notes)
    before = _cost.require_for_reading(table, len(chosen.positions()))
    columns = _read(table, chosen.positions())
    if not len(columns) and not columns.faults and not part:
        raise DataError(f"{table.where} has no interactions: it has no rows.")
    _cost.require_for_ids(table, columns.series, before)
    series = dict(zip(chosen.positions(), columns.series, strict=True))
    users = _columns.ids(series[chosen.user], "user", table.where, trim=options.trim, null_ids=options.null_ids)
    items = _columns.ids(series[chosen.item], "item", table.where, trim=options.trim, null_ids=options.null_ids)
    for remark in filter(None, (users.remark, items.remark)):
        notes.warn(remark)
    checks = [users.check, items.check]
    rating = time = None
    if chosen.rating is not None:
        negative = options.at_least is not None  # below it they are left out, as all that is rated too low
        rating, check = _columns.ratings(series[chosen.rating], table.where, negative=negative, decimal=options.decimal)
        checks.append(
            check if options.rating is not None else _with_way_out(check, "rating", table.names[chosen.rating])
        )
    if chosen.time is not None:
        times = _times.plausible(series[chosen.time], table.where, options, unit, columns.places)
        asked = options.time is not None or options.time_format is not None or options.half_life is not None
        if asked or times.readable > HARDLY:
            time = times.values
            checks.append(times.check if asked else _with_way_out(times.check, "time", table.names[chosen.time]))
        else:
            first = _described(table, columns, _first(columns, [times.check]))
            notes.warn(f"times ignored, as hardly anything in their column is one: {first}")
    quantity = by_kind = None
    if chosen.weight is not None:
        quantity, check = _columns.ratings(series[chosen.weight], table.where, negative=True, decimal=options.decimal)
        checks.append(_of_weights(check))
    if chosen.event is not None:
        by_kind, check = kinds(series[chosen.event], options, table.where)
        checks.append(check)
    present = _with_ids([users, items], notes, part=part)
    good = _good(table, columns, [_among(check, present) for check in checks], options, notes, part=part)
    if time is not None and (remark := times.remark):
        notes.warn(remark)
    read, bad = len(good) + columns.faulty, columns.faulty + int((~good).sum())
    good &= present
    rating, time, quantity = (None if column is None else column[good] for column in (rating, time, quantity))
    strength = of_rows(quantity, None if by_kind is None else by_kind.where(good), time, options)
    codes, without = (users.codes[good], items.codes[good]), int((~present).sum())
    return Rows(users.labels, items.labels, *codes, rating, time, read, bad, without, strength)


def _say(chosen: Roles, table: Table, options: Options, notes: Notes) -> None:
    """Report the columns, unless the user and item were both named."""
    if options.user is None or options.item is None or not table.named:
        parts = [f"{role}={ascii_line(table.names[at])[1:-1]}" for role, at in vars(chosen).items() if at is not None]
        notes.add("columns: " + ", ".join(parts))


def _with_way_out(check: Check, role: str, name: str) -> Check:
    """Where a column was chosen by its name, say how to do without it."""
    return Check(
        check.bad, lambda row: f"{check.what(row)}; {role}=False (--no-{role}) ignores column {ascii_line(name)}"
    )


def _with_ids(columns: list[Coded], notes: Notes, *, part: bool) -> NDArray[np.bool_]:
    """Mask of the rows that are not to be left out for want of an id; say how many are."""
    present = np.ones(len(columns[0].codes), dtype=bool)
    for coded in columns:
        if coded.dropped is not None:
            present &= ~coded.dropped
    if len(present) and not present.any() and not part:
        raise DataError("Every row lacks a user or an item: name the right columns as user= (--user), item= (--item).")
    if not present.all():
        notes.warn(f"null ids: {int((~present).sum()):,} of {len(present):,} rows without a user or an item left out")
    return present


def _among(check: Check, present: NDArray[np.bool_]) -> Check:
    return Check(check.bad & present, check.what)


def _of_weights(check: Check) -> Check:
    """A check of ratings, said of weights."""
    return Check(check.bad, lambda row: check.what(row).replace("the rating", "the weight", 1))


def _good(
    table: Table, columns: Columns, checks: list[Check], options: Options, notes: Notes, *, part: bool
) -> NDArray[np.bool_]:
    """Mask of the rows that can be read; refuse the others, or too many of them, which a part alone does not tell."""
    bad: NDArray[np.bool_] = np.logical_or.reduce([check.bad for check in checks])
    total, count = len(bad) + columns.faulty, int(bad.sum()) + columns.faulty
    if not count:
        return ~bad
    first = _described(table, columns, _first(columns, checks))
    allowed = MAX_BAD if options.max_bad_rows is None else options.max_bad_rows
    if not options.skip_bad_rows and options.max_bad_rows is None:
        more = f" ({count - 1:,} more bad row{'s' * (count > 2)} follow{'s' * (count == 2)})" if count > 1 else ""
        raise DataError(f"{first}{more}: correct it, or pass skip_bad_rows=True (--skip-bad-rows).")
    if (count > allowed * total or count == total) and not part:
        raise DataError(
            f"{count:,} of {total:,} rows are bad, more than {100 * allowed:g}%, the first: {first}: "
            "correct them, or allow a larger share with max_bad_rows= (--max-bad-rows)."
        )
    notes.warn(f"bad rows skipped: {count:,}, the first: {first}")
    return ~bad


def _first(columns: Columns, checks: list[Check]) -> Fault:
    """Find the bad row that stands highest in the file."""
    faults = columns.faults[:1]
    for check in checks:
        if check.bad.any():
            row = int(check.bad.argmax())
            faults.append(columns.fault(row, check.what(row)))
    return min(faults, key=lambda fault: (fault.file, fault.number))


def _described(table: Table, columns: Columns, fault: Fault) -> str:
    return f"{fault.where or table.where}, {columns.unit} {fault.number:,}: {fault.what}"
