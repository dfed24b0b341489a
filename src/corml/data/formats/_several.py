"""Several tables as one: files of a folder or pattern, or tables that each hold one event type."""

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from corml.data._cost import require_for_reading
from corml.data._options import Notes, Options
from corml.data.formats import suffixes
from corml.data.formats._files import kind_of, shown
from corml.data.formats._frames import FrameTable
from corml.data.formats._sniff import listed, roles
from corml.data.formats._table import WHOLE, Columns, Cut, Table
from corml.errors import DataError, UsageError, ascii_line, quoted

if TYPE_CHECKING:
    import polars as pl

EVENT = "event"  # the column of event types where each table has one
SHARED = ("rating", "time")  # columns that count only where every table has them
HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
_NEXT = re.compile(r",(?=[^,=/\\]+=)")
_ONE = re.compile(r"([^,=/\\]+)=(.*)", re.DOTALL)


@dataclass(frozen=True)
class Part:
    """One of the tables: how to open it, and the columns that have one value in all its rows."""

    open: Callable[[], Table]
    values: Mapping[str, str | float | None] = field(default_factory=dict)
    positions: Mapping[str, int] | None = None  # where its columns are; None: by their names


class Several(Table):
    """The rows of several tables, one after the other."""

    def __init__(self, where: str, names: Sequence[str], parts: Sequence[Part], first: Table, rows: int) -> None:
        self.where, self.names, self._parts, self._first, self.rows = where, list(names), list(parts), first, rows
        self.named = first.named

    def extra(self, columns: int) -> int:
        """What the first takes; the others are checked when they are opened."""
        return self._first.extra(columns)

    def head(self, positions: Sequence[int]) -> "dict[int, pl.Series]":
        """The first rows of some columns, in the first table."""
        plain = self._parts[0].positions is None
        return self._first.head([at for at in positions if at < len(self._first.names)]) if plain else {}

    def _slices(self, positions: Sequence[int], cut: Cut, skip: int) -> Iterator[Columns]:
        files = 0
        for part in range(len(self._parts)):
            before = files
            for columns in self.part(part, positions, cut):
                files = max(files, before + 1 + max((place.file for place in columns.places), default=0))
                places = [replace(place, file=before + place.file) for place in columns.places]
                faults = [replace(fault, file=before + fault.file) for fault in columns.faults]
                yield replace(columns, places=places, faults=faults)

    def part(self, number: int, positions: Sequence[int], cut: Cut = WHOLE, skip: int = 0) -> Iterator[Columns]:
        """The rows of one of the tables."""
        from corml._runtime.lazy_polars import polars as pl

        part, wanted = self._parts[number], [self.names[at] for at in positions]
        table = part.open() if number else self._first
        if not cut.limited:
            require_for_reading(table, len(wanted))  # one file of a folder may grow far more than the first
        known = part.positions
        known = {name: at for at, name in enumerate(table.names)} if known is None else known
        missing = [name for name in wanted if name not in known and name not in part.values]
        if missing:
            raise DataError(
                f"{table.where} has no column {ascii_line(missing[0])}, which {self._first.where} has: "
                "leave one of them out, or rename the column."
            )
        inside = [name for name in wanted if name in known]
        for columns in table.slices([known[name] for name in inside] or [0], cut, skip):
            series = dict(zip(inside, columns.series, strict=False))
            for name in wanted:
                if name not in series:
                    value = part.values[name]
                    kind = pl.Float64 if isinstance(value, float) else pl.String
                    series[name] = pl.repeat(value, len(columns), dtype=kind, eager=True)
            faults = [replace(fault, where=fault.where or table.where) for fault in columns.faults]
            yield replace(columns, series=[series[name] for name in wanted], faults=faults)


# --- folders and patterns --------------------------------------------------------------------------------------------


def several_files(paths: Sequence[Path], where: str, opener: Callable[[Path, Notes], Table], notes: Notes) -> Several:
    """The tables in some files; columns are found by name, and folders named key=value (Hive) become columns."""
    paths = [path for path in paths if path.stat().st_size] or list(paths)[:1]
    first = opener(paths[0], notes)
    names = [*first.names, *(key for key in _partition(paths[0]) if key not in first.names)]
    parts = [Part(lambda path=path: opener(path, Notes()), _partition(path)) for path in paths]  # type: ignore[misc]
    sizes = [path.stat().st_size for path in paths]
    return Several(where, names, parts, first, first.rows * sum(sizes) // max(sizes[0], 1))


def is_pattern(name: str) -> bool:
    """Whether a name holds *, ? or [ and so stands for several files."""
    return glob.has_magic(name) and not os.path.exists(name)


def files_in(folder: Path) -> list[Path]:
    """All tables in a folder and below, in the order of their names; they must be of one format."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not _hidden(path.relative_to(folder)))
    tables = [path for path in paths if kind_of(path.name) in suffixes()]
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


def _partition(path: Path) -> dict[str, str | None]:
    """The columns that the folders of a file name: date=2024-01-31 is a column date."""
    pairs = [part.partition("=") for part in path.parent.parts if "=" in part]
    return {key: None if value == HIVE_NULL else unquote(value) for key, _, value in pairs if key}


def _hidden(path: Path) -> bool:
    """Whether a program left it next to tables: ._x, .crc, _SUCCESS, _delta_log."""
    return any(part.startswith((".", "_")) for part in path.parts)


# --- a table for each event type -------------------------------------------------------------------------------------


def files_by_kind(source: object) -> dict[str, Any] | None:
    """Tables by event type, from a mapping or from text such as "view=views.parquet,buy=orders.csv"; else None.

    A file or folder of that name, or one that such a pattern matches, comes first.
    """
    if isinstance(source, Mapping):
        for name, one in source.items():
            if not isinstance(one, str | os.PathLike) and not hasattr(one, "columns"):
                raise UsageError(
                    f"This mapping has columns, not tables: {ascii_line(name)} is a {type(one).__name__}. Make a frame "
                    "of it, pandas.DataFrame(data) or polars.DataFrame(data), or call "
                    "Interactions.from_pairs(users, items)."
                )
        return _checked(source.items())
    if not isinstance(source, str) or not _ONE.fullmatch(source):
        return None
    if os.path.exists(source) or (glob.has_magic(source) and glob.glob(source, recursive=True)):
        return None
    parts = [_ONE.fullmatch(part.strip()) for part in _NEXT.split(source)]
    return _checked((part[1].strip(), part[2].strip()) for part in parts if part)


def in_words(files: Mapping[str, str]) -> str:
    """Files by event type as one text, as the command line writes them."""
    return ",".join(f"{kind}={name}" for kind, name in files.items())


def options_by_kind(options: Options) -> Options:
    """The options for such tables: event types come from their names, not from a column."""
    if options.event is not None:
        raise UsageError("Each file is of the event type that is named before it: leave event= (--event) out.")
    return replace(options, event=EVENT)


def several_by_kind(tables: Mapping[str, Table], options: Options, notes: Notes) -> tuple[Several, Options]:
    """The tables as one with the columns user, item, those they share, and event; and the options that name these."""
    positions: dict[str, dict[str, int]] = {}
    for kind, table in tables.items():
        if isinstance(table, FrameTable) and table.where == "The frame":
            table.where = f"The frame of {kind}"
        if options.weights is not None and kind not in {*map(str, options.weights), *(options.negative or ())}:
            raise DataError(
                f"{table.where} has events without a weight: {ascii_line(kind)}: give it a number in weights= "
                "(--weights), 0 to keep it as seen only."
            )
        lacks = isinstance(options.weight, str) and options.weight not in table.names
        own = replace(options, event=None, transform=None, weight=None if lacks else options.weight)  # to find columns
        chosen = roles(table.names, table.named, own, table.where)
        positions[kind] = chosen.by_role()
    shared = [role for role in SHARED if all(role in known for known in positions.values())]
    for role in SHARED:
        lacking = [kind for kind, known in positions.items() if role not in known]
        if role not in shared and len(lacking) < len(tables):
            notes.add(f"{role}s ignored: {tables[lacking[0]].where} has none")
    weighted = ["weight"] if any("weight" in known for known in positions.values()) else []
    first = next(iter(tables.values()))
    if options.weight is not None and not weighted:
        raise DataError(
            f"No file has a column {ascii_line(options.weight)} for weight; the first has {listed(first.names)}."
        )
    names = ["user", "item", *shared, *weighted, EVENT]
    for kind, known in positions.items():
        own_names = tables[kind].names
        chosen_names = [f"{role}={ascii_line(own_names[at])[1:-1]}" for role, at in known.items() if role in names]
        notes.add(f"columns of {kind}: " + ", ".join(chosen_names))
    parts = [
        Part(lambda table=table: table, {EVENT: kind, "weight": 1.0}, positions[kind])  # type: ignore[misc]
        for kind, table in tables.items()
    ]
    where = "The files" if len(tables) > 1 else first.where
    table = Several(where, names, parts, first, sum(one.rows for one in tables.values()))
    table.named = True
    absent: dict[str, bool] = {role: False for role in SHARED if role not in names}
    weight = "weight" if weighted else None
    return table, replace(options_by_kind(options), user="user", item="item", weight=weight, **absent)  # type: ignore[arg-type]


def _checked(pairs: Iterable[tuple[object, object]]) -> dict[str, object]:
    listed_pairs = list(pairs)
    files = {str(kind): one for kind, one in listed_pairs}
    bad = [kind for kind in files if not kind.strip() or set(kind) & set(",=/\\")]
    if not files or bad:
        raise UsageError(
            "Files by event type are written view=views.parquet,buy=orders.csv, with names that have no comma, "
            f"= or slash; got {ascii_line(bad[0]) if bad else 'none'}."
        )
    nameless = [kind for kind, one in files.items() if isinstance(one, str) and not one.strip()]
    if nameless:
        raise UsageError(f"{ascii_line(nameless[0])} has no file: write, for example, buy=orders.csv.")
    if len(files) < len(listed_pairs):
        raise UsageError(
            "Two files have the same event type: put them in one folder, or give a pattern such as buy=2024*.csv."
        )
    return files
