"""From a table to clean rows: every column read, every bad row refused or counted."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import corml.datasets._columns as _columns
from corml.datasets._columns import Check, Columns, Fault, Table
from corml.datasets._options import Notes, Options
from corml.datasets._sniff import Roles, roles
from corml.datasets._strength import Strength, kinds, of_rows
from corml.errors import DataError, ascii_line

__all__ = ["Rows", "gather"]

MAX_BAD = 0.01  # the share of rows that may be bad and still be skipped


@dataclass(frozen=True)
class Rows:
    """Good rows in the order of the file: numbered ids, with ratings and times where there are some."""

    users: list[str]
    items: list[str]
    user: NDArray[np.int64]
    item: NDArray[np.int64]
    rating: NDArray[np.float64] | None
    time: NDArray[np.float64] | None
    read: int
    bad: int
    strength: Strength | None = None


def gather(table: Table, options: Options, notes: Notes) -> Rows:
    """Read the columns that matter and keep the rows that are whole."""
    chosen = roles(table.names, table.named, options, table.where)
    _say(chosen, table, options, notes)
    columns = table.read(chosen.positions())
    series = dict(zip(chosen.positions(), columns.series, strict=True))
    users = _columns.ids(series[chosen.user], "user", table.where, trim=options.trim)
    items = _columns.ids(series[chosen.item], "item", table.where, trim=options.trim)
    if users.floats or items.floats:
        notes.add("ids that are decimal numbers keep their point (7.0 is not 7): convert them to whole numbers first")
    checks = [users.check, items.check]
    rating = time = None
    if chosen.rating is not None:
        negative = options.at_least is not None and options.at_least < 0
        rating, check = _columns.ratings(series[chosen.rating], table.where, negative=negative)
        checks.append(check if options.rating is not None else _with_way_out(check, table.names[chosen.rating]))
    if chosen.time is not None:
        time, check = _columns.times(series[chosen.time], table.where)
        if options.time is not None:
            checks.append(check)
        elif check.bad.any():  # times were not asked for: do without them rather than without rows
            time = None
            notes.add(f"times ignored: {_described(table, columns, _first(columns, [check]))}")
    quantity = by_kind = None
    if chosen.weight is not None:
        quantity, check = _columns.ratings(series[chosen.weight], table.where, negative=True)
        checks.append(_of_weights(check))
    if chosen.event is not None:
        by_kind = kinds(series[chosen.event], options, table.where)
    good = _good(table, columns, checks, options, notes)
    read, whole = len(good) + len(columns.faults), int(good.sum())
    strength = of_rows(quantity, by_kind, time, options)
    strength = None if strength is None else strength.where(good)
    rating, time = (None if column is None else column[good] for column in (rating, time))
    codes = users.codes[good], items.codes[good]
    return Rows(users.labels, items.labels, *codes, rating, time, read, read - whole, strength)


def _say(chosen: Roles, table: Table, options: Options, notes: Notes) -> None:
    """Report the columns, unless the user and item were both named."""
    if options.user is None or options.item is None or not table.named:
        parts = [f"{role}={ascii_line(table.names[at])[1:-1]}" for role, at in vars(chosen).items() if at is not None]
        notes.add("columns: " + ", ".join(parts))


def _with_way_out(check: Check, name: str) -> Check:
    """Where the rating column was chosen by its name, say how to do without it."""
    return Check(
        check.bad, lambda row: f"{check.what(row)} (rating=False, or --no-rating, ignores column {ascii_line(name)})"
    )


def _of_weights(check: Check) -> Check:
    """A check of ratings, said of weights."""
    return Check(check.bad, lambda row: check.what(row).replace("the rating", "the weight", 1))


def _good(table: Table, columns: Columns, checks: list[Check], options: Options, notes: Notes) -> NDArray[np.bool_]:
    bad: NDArray[np.bool_] = np.logical_or.reduce([check.bad for check in checks])
    total, count = len(bad) + len(columns.faults), int(bad.sum()) + len(columns.faults)
    if not count:
        return ~bad
    first = _described(table, columns, _first(columns, checks))
    if not options.skip_bad_rows:
        more = f" ({count - 1:,} more bad row{'s' * (count > 2)} follow{'s' * (count == 2)})" if count > 1 else ""
        raise DataError(f"{first}{more}: correct it, or pass skip_bad_rows=True (--skip-bad-rows).")
    if count > MAX_BAD * total:
        raise DataError(
            f"{count:,} of {total:,} rows are bad, more than {MAX_BAD:.0%}, the first at {first}: correct them."
        )
    notes.add(f"bad rows skipped: {count:,}, the first at {first}")
    return ~bad


def _first(columns: Columns, checks: list[Check]) -> Fault:
    """Find the bad row that stands highest in the file."""
    faults = columns.faults[:1]
    for check in checks:
        if check.bad.any():
            row = int(check.bad.argmax())
            faults.append(Fault(columns.number(row), check.what(row)))
    return min(faults, key=lambda fault: fault.number)


def _described(table: Table, columns: Columns, fault: Fault) -> str:
    return f"{table.where}, {columns.unit} {fault.number:,}: {fault.what}"
