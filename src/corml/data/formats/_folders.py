"""Folders and patterns: many files, one table. Folders named key=value (as Hive writes them) become columns."""

import glob
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import corml.data.cleaning._columns as _columns
from corml.data._cost import require_for_reading
from corml.data._options import Notes
from corml.data.cleaning._columns import Columns, Fault, Peekable, Place, Table
from corml.data.formats._packed import TABLES, kind_of, shown
from corml.errors import DataError, ascii_line, quoted

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FolderTable", "files_in", "files_like", "is_pattern", "joined", "partition"]

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


def is_pattern(name: str) -> bool:
    """Whether a name holds *, ? or [ and so stands for several files."""
    return glob.has_magic(name)


def files_in(folder: Path) -> list[Path]:
    """All tables in a folder and below, in the order of their names; they must be of one kind."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not _hidden(path.relative_to(folder)))
    tables = [path for path in paths if kind_of(path.name) in TABLES]
    kinds = sorted({kind_of(path.name) for path in tables})
    if not tables:
        holds = quoted([path.name for path in paths], 5) or "nothing"
        raise DataError(f"{shown(folder)} is a folder without tables; it holds {holds}: give a file or a pattern.")
    if len(kinds) > 1:
        example = os.path.join(folder, "**", f"*.{kinds[0]}")
        raise DataError(
            f"{shown(folder)} is a folder with tables of several kinds ({', '.join(kinds)}): "
            f"choose by a pattern, such as {ascii_line(example, 200)}."
        )
    return tables


def files_like(pattern: str) -> list[Path]:
    """All files that match a pattern (** stands for any folders), in the order of their names."""
    paths = sorted(Path(name) for name in glob.glob(pattern, recursive=True) if os.path.isfile(name))
    if not paths:
        raise DataError(f"No file matches {shown(pattern)}: check the pattern, and the folder it starts from.")
    return paths


class FolderTable:
    """The rows of several tables, one after the other; columns are found by name."""

    def __init__(self, paths: Sequence[Path], where: str, opener: Callable[[Path, Notes], Table], notes: Notes) -> None:
        self.where = where
        self._paths = [path for path in paths if path.stat().st_size] or list(paths)[:1]
        self._open = opener
        self._first = opener(self._paths[0], notes)
        self.named = self._first.named
        own = list(self._first.names)
        self.names = own + [key for key in partition(self._paths[0]) if key not in own]
        notes.add(f"files: {len(self._paths):,}, from {shown(self._paths[0])} to {shown(self._paths[-1])}")

    @property
    def rows(self) -> int:
        """As many as the first file has, times how much larger all of them are."""
        sizes = [path.stat().st_size for path in self._paths]
        return self._first.rows * sum(sizes) // max(sizes[0], 1)

    def extra(self, columns: int) -> int:
        """What the largest file takes, which may be the last."""
        sizes = [path.stat().st_size for path in self._paths]
        return (self._first.extra(columns) + sizes[0]) * max(sizes) // max(sizes[0], 1)

    def read(self, positions: Sequence[int]) -> Columns:
        """Read some columns of every file."""
        wanted = [self.names[at] for at in positions]
        parts, places = [], []
        faults: list[Fault] = []
        for number, path in enumerate(self._paths):
            table = self._open(path, Notes()) if number else self._first
            require_for_reading(table, len(wanted))  # of files packed alike one may still grow far more than the first
            columns = self._part(table, path, wanted)
            parts.append(columns)
            places.append(Place(table.where, len(columns), columns.first, columns.lines))
            faults += [replace(fault, file=number, where=table.where) for fault in columns.faults]
        series = [joined([part.series[at] for part in parts], name) for at, name in enumerate(wanted)]
        more = sum(part.more_faults for part in parts)
        return Columns(series, parts[0].unit, faults=faults, places=places, more_faults=more)

    def head(self, positions: Sequence[int]) -> "dict[int, pl.Series]":
        """The first rows of some columns, in the first file."""
        own = [at for at in positions if at < len(self._first.names)]
        return self._first.head(own) if isinstance(self._first, Peekable) else {}

    def _part(self, table: Table, path: Path, wanted: Sequence[str]) -> Columns:
        """Read the columns of one file, those that its folders name as well."""
        from corml._runtime.lazy_polars import polars as pl

        own, keys = list(table.names), partition(path)
        missing = [name for name in wanted if name not in own and name not in keys]
        if missing:
            raise DataError(
                f"{table.where} has no column {ascii_line(missing[0])}, which {shown(self._paths[0])} has: "
                "leave one of them out, or rename the column."
            )
        inside = [name for name in wanted if name in own]
        read = table.read([own.index(name) for name in inside] or [0])
        series = dict(zip(inside, read.series, strict=False))
        series |= {
            name: pl.repeat(keys[name], len(read), dtype=pl.String, eager=True) for name in wanted if name not in own
        }
        return replace(read, series=[series[name] for name in wanted])


def partition(path: Path) -> dict[str, str | None]:
    """What the folders of a file say: date=2024-01-31 is a column date."""
    pairs = [part.partition("=") for part in path.parent.parts if "=" in part]
    return {key: None if value == HIVE_NULL else unquote(value) for key, _, value in pairs if key}


def joined(parts: "Sequence[pl.Series]", name: str) -> "pl.Series":
    """One column of several; of types that differ by more than the size of whole numbers, as text."""
    from corml._runtime.lazy_polars import polars as pl

    kinds = {part.dtype for part in parts if len(part)} or {parts[0].dtype}
    parts = [part for part in parts if part.dtype in kinds]
    if len(kinds) > 1 and all(kind.is_integer() for kind in kinds):
        parts = [part.cast(pl.Int128) for part in parts]
    elif len(kinds) > 1:
        parts = [_columns.texts(part, name, "The files") for part in parts]
    return pl.concat([part.alias(name) for part in parts])


def _hidden(path: Path) -> bool:
    """What programs leave beside tables: ._x, .crc, _SUCCESS, _delta_log."""
    return any(part.startswith((".", "_")) for part in path.parts)
