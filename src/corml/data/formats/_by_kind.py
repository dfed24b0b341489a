"""Several tables, each of one kind of events: their columns found in each alone, and the kind as one more column."""

import glob
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from corml.data._options import Notes, Options
from corml.data.cleaning._columns import Columns, Fault, Place, Table
from corml.data.formats._folders import joined
from corml.data.formats._frames import FrameTable
from corml.data.formats._sniff import listed, roles
from corml.errors import DataError, UsageError, ascii_line

if TYPE_CHECKING:
    import polars as pl

__all__ = ["EVENT", "TablesByKind", "files_by_kind", "in_words", "options_by_kind"]

EVENT = "event"  # the column that has the kinds
SHARED = ("rating", "time")  # columns that count where every table has them
_NEXT = re.compile(r",(?=[^,=/\\]+=)")
_ONE = re.compile(r"([^,=/\\]+)=(.*)", re.DOTALL)


def files_by_kind(source: Any) -> dict[str, Any] | None:
    """Tables by kind, from a mapping or from text such as "view=views.parquet,buy=orders.csv"; None: it is neither.

    A file or folder of that name, or one that such a pattern matches, comes first.
    """
    if isinstance(source, Mapping):
        _refuse_columns(source)
        return _checked(source.items())
    if not isinstance(source, str) or not _ONE.fullmatch(source):
        return None
    if os.path.exists(source) or (glob.has_magic(source) and glob.glob(source, recursive=True)):
        return None
    parts = [_ONE.fullmatch(part.strip()) for part in _NEXT.split(source)]
    return _checked((part[1].strip(), part[2].strip()) for part in parts if part)


def in_words(files: Mapping[str, str]) -> str:
    """Files by kind as one text, as the command line writes them."""
    return ",".join(f"{kind}={name}" for kind, name in files.items())


def options_by_kind(options: Options) -> Options:
    """The options for reading such tables: kinds come from their names, not from a column."""
    if options.event is not None:
        raise UsageError("Each file is of the kind that is named before it: leave event= (--event) out.")
    return replace(options, event=EVENT)


def _checked(pairs: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    listed_pairs = list(pairs)
    files = {str(kind): one for kind, one in listed_pairs}
    bad = [kind for kind in files if not kind.strip() or set(kind) & set(",=/\\")]
    if not files or bad:
        raise UsageError(
            "Files by kind are written view=views.parquet,buy=orders.csv, with names of kinds that have no comma, "
            f"= or slash; got {ascii_line(bad[0]) if bad else 'none'}."
        )
    nameless = [kind for kind, one in files.items() if isinstance(one, str) and not one.strip()]
    if nameless:
        raise UsageError(f"{ascii_line(nameless[0])} has no file: write, for example, buy=orders.csv.")
    if len(files) < len(listed_pairs):
        raise UsageError(
            "Two files have the same kind: put them in one folder, or give a pattern such as buy=2024*.csv."
        )
    return files


def _refuse_columns(source: Mapping[Any, Any]) -> None:
    """A mapping from names of columns to their values is a frame in all but name."""
    for name, one in source.items():
        if not isinstance(one, str | os.PathLike) and not hasattr(one, "columns"):
            raise UsageError(
                f"This mapping has columns, not tables: {ascii_line(name)} is a {type(one).__name__}. Make a frame of "
                "it, pandas.DataFrame(data) or polars.DataFrame(data), or call Interactions.from_pairs(users, items)."
            )


class TablesByKind:
    """The rows of several tables one after the other, with the columns user, item, those they share, and event."""

    named = True

    def __init__(self, tables: Mapping[str, Table], options: Options, notes: Notes) -> None:
        self.where = "The files" if len(tables) > 1 else next(iter(tables.values())).where
        self._tables, self._positions = dict(tables), {}
        for kind, table in tables.items():
            _require_weight(kind, table, options)
            self._positions[kind] = _positions(table, options)
        shared = [role for role in SHARED if all(role in known for known in self._positions.values())]
        for role in SHARED:
            lacking = [kind for kind, known in self._positions.items() if role not in known]
            if role not in shared and len(lacking) < len(tables):
                notes.add(f"{role}s ignored: {tables[lacking[0]].where} has none")
        weighted = [kind for kind, known in self._positions.items() if "weight" in known]
        if options.weight is not None and not weighted:
            names = listed(next(iter(tables.values())).names)
            raise DataError(f"No file has a column {ascii_line(options.weight)} for weight; the first has {names}.")
        self.names = ["user", "item", *shared, *(["weight"] if weighted else []), EVENT]
        for kind, known in self._positions.items():
            own = tables[kind].names
            chosen = [f"{role}={ascii_line(own[at])[1:-1]}" for role, at in known.items() if role in self.names]
            notes.add(f"columns of {kind}: " + ", ".join(chosen))

    @property
    def options(self) -> dict[str, Any]:
        """Which columns are which, as options of `load`."""
        absent = {role: False for role in SHARED if role not in self.names}
        return {"user": "user", "item": "item", "weight": "weight" if "weight" in self.names else None, **absent}

    @property
    def rows(self) -> int:
        """The rows of all of which something is known before they are read."""
        return sum(table.rows for table in self._tables.values())

    def extra(self, columns: int) -> int:
        """What the largest takes."""
        return max(table.extra(columns) for table in self._tables.values())

    def read(self, positions: Sequence[int]) -> Columns:
        """Read some columns of every table."""
        wanted = [self.names[at] for at in positions]
        parts: list[Columns] = []
        places: list[Place] = []
        faults: list[Fault] = []
        for kind, table in self._tables.items():
            known = self._positions[kind]
            inside = [role for role in wanted if role in known]
            read = table.read([known[role] for role in inside])
            own = read.places or [Place(_where(kind, table), len(read), read.first, read.lines)]
            faults += [
                replace(fault, file=fault.file + len(places), where=fault.where or _where(kind, table))
                for fault in read.faults
            ]
            places += own
            columns = dict(zip(inside, read.series, strict=True))
            parts.append(replace(read, series=[_column(role, columns, kind, len(read)) for role in wanted]))
        series = [joined([part.series[at] for part in parts], name) for at, name in enumerate(wanted)]
        more = sum(part.more_faults for part in parts)
        return Columns(series, parts[0].unit, faults=faults, places=places, more_faults=more)


def _where(kind: str, table: Table) -> str:
    """What to call a table in messages: frames have no names of their own."""
    return f"The frame of {kind}" if isinstance(table, FrameTable) else table.where


def _require_weight(kind: str, table: Table, options: Options) -> None:
    if options.weights is not None and kind not in {*map(str, options.weights), *(options.negative or ())}:
        raise DataError(
            f"{_where(kind, table)} has events without a weight: {ascii_line(kind)}: give it a number in weights= "
            "(--weights), 0 to keep it as seen only."
        )


def _positions(table: Table, options: Options) -> dict[str, int]:
    """Where a table has each column; one without the column of weights counts every row as 1."""
    lacks = isinstance(options.weight, str) and options.weight not in table.names
    own = replace(options, event=None, weight=None if lacks else options.weight)
    chosen = roles(table.names, table.named, own, table.where)
    return {role: at for role, at in vars(chosen).items() if at is not None}


def _column(role: str, columns: "Mapping[str, pl.Series]", kind: str, rows: int) -> "pl.Series":
    from corml._runtime.lazy_polars import polars as pl

    if role in columns:
        return columns[role]
    if role == EVENT:
        return pl.repeat(kind, rows, dtype=pl.String, eager=True)
    return pl.repeat(1.0, rows, dtype=pl.Float64, eager=True)
