"""Tables too large to hold: a file as a row of small tables, read one after the other, from any of them on.

A Parquet file is cut by rows. A text file is cut at line ends outside of quotes; each block is read as if it stood
below the first line of its file, so that separator, header and names are settled once and the same for all. JSON Lines
and lists of items are cut at line ends, which nothing of theirs can hold.
"""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol, cast

import corml.data.formats._text as _text
from corml._runtime import memory
from corml.data._options import Notes, Options
from corml.data.cleaning._columns import Columns, Peekable, Table
from corml.data.formats._expansion import Expansion
from corml.data.formats._frames import plain_names
from corml.data.formats._json import JsonLists, JsonTable
from corml.data.formats._lists import ListTable, looks_like_lists
from corml.data.formats._packed import Content, kind_of, shown
from corml.data.formats._parquet import LEAST_ROW, Pages, bytes_of, damage
from corml.data.formats._thrift import Window
from corml.errors import DataError, UsageError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Cut", "Position", "about_rows", "blocks", "bytes_before"]

PARQUET = ("parquet", "pq")
TEXT = ("csv", "tsv", "inter", "txt", "dat", "data")
JSON = ("jsonl", "ndjson", "json")
SHORTEST_LINE = 16  # bytes of a row of text, for an estimate that is rather too high
SHORTEST_ITEM = 4  # the same where a line has a user and all their items
PER_LINE = 8  # times as many rows come of such lines, each with the user again
EXPANSION = 8  # of a text that is compressed
LONGEST_ROW = 1024  # bytes of a user, an item and what belongs to them, in the mean of some rows
HARMLESS = 1 << 24  # bytes of some rows, however long each of them is
PATIENCE = 4  # blocks without a place to cut at


@dataclass(frozen=True)
class Position:
    """Where in a file reading goes on: a row of Parquet or a byte of text, and the lines before it."""

    at: int = 0
    line: int = 0


@dataclass(frozen=True)
class Cut:
    """How large the pieces are that are held in memory."""

    rows: int
    bytes: int


class _Opener(Protocol):
    def __call__(self, path: Path, options: Options, notes: Notes, start: Position, cut: Cut) -> Iterator["Block"]: ...


Block = tuple[Table, Position]


def blocks(path: Path, options: Options, notes: Notes, start: Position, cut: Cut) -> Iterator[Block]:
    """The tables that a file is made of, from a position on, each with the position after it."""
    return _opener(path, options)(path, options, notes, start, cut)


def about_rows(path: Path, options: Options) -> int:
    """How many rows a file has, as far as its size and its footer tell; rather more than less."""
    from corml._runtime.lazy_polars import polars as pl

    opener = _opener(path, options)
    if opener is _of_parquet:
        with damage(shown(path)):
            rows = pl.scan_parquet(path, glob=False, hive_partitioning=False).select(pl.len()).collect().item()
        return int(rows)
    shortest = SHORTEST_ITEM if options.item_lists else SHORTEST_LINE
    size = path.stat().st_size * (EXPANSION if path.name.lower().endswith(".gz") else 1)
    return size // shortest + 1


def bytes_before(path: Path, options: Options, position: Position, rows: int) -> int:
    """About how much of a file lies before a position, for those who wait; `rows` are those of the file."""
    size = path.stat().st_size
    if _opener(path, options) is _of_parquet:
        return size * position.at // max(rows, 1)
    return min(size, position.at // (EXPANSION if path.name.lower().endswith(".gz") else 1))


def _opener(path: Path, options: Options) -> _Opener:
    kind, packed = kind_of(path.name), path.name.lower().endswith(".gz")
    if kind in PARQUET and not packed:
        return _of_parquet
    if kind in JSON or (kind in TEXT and options.item_lists):
        return _of_lines
    if kind in TEXT:
        return _of_text
    raise UsageError(
        f"{shown(path)} cannot be read in pieces: a store is made of Parquet, CSV, TSV and JSON Lines files, the text "
        "also as .gz. Convert it with corml data convert."
    )


def _expansion(path: Path, options: Options) -> Expansion:
    """What a file may grow to."""
    return Expansion(path.stat().st_size, options.allow_expansion, shown(path))


# --- Parquet ---------------------------------------------------------------------------------------------------------


class _Rows:
    """Some consecutive rows of a Parquet file."""

    named = True

    def __init__(self, path: Path, names: Sequence[str], pages: Pages, limit: Expansion, first: int, rows: int) -> None:
        self.where, self.rows = shown(path), rows
        self.names, self._own = plain_names(names, self.where), list(names)
        self._path, self._pages, self._limit, self._first = path, pages, limit, first

    def extra(self, columns: int) -> int:
        """Nothing: columns come as they are."""
        return 0

    def read(self, positions: Sequence[int]) -> Columns:
        """Read some columns of these rows."""
        from corml._runtime.lazy_polars import polars as pl

        self._limit.check(self._pages.growth(positions))
        with damage(self.where):
            scan = pl.scan_parquet(self._path, glob=False, hive_partitioning=False).slice(self._first, self.rows)
        known: dict[int, pl.Series] = {}
        size = 0
        for at in dict.fromkeys(positions):
            parts = []
            for part in self._pages.parts(scan, at, self.rows):
                size += bytes_of(part)
                if size > max(LONGEST_ROW * self.rows, HARMLESS):
                    self._refuse(size)
                parts.append(part)
            known[at] = pl.concat(parts) if len(parts) > 1 else parts[0]
        return Columns([known[at] for at in positions], "row", first=self._first + 1)

    def head(self, positions: Sequence[int]) -> "dict[int, pl.Series]":
        """The first rows of some columns."""
        from corml._runtime.lazy_polars import polars as pl

        scan = pl.scan_parquet(self._path, glob=False, hive_partitioning=False).slice(self._first, self.rows)
        return self._pages.head(scan, positions, self._limit)

    def _refuse(self, size: int) -> None:
        raise DataError(
            f"{self.where}, rows {self._first + 1:,} to {self._first + self.rows:,}: they take more than "
            f"{LONGEST_ROW:,} bytes each, {memory.size(size)} so far: a store is made of ids shorter than that."
        )


def _of_parquet(path: Path, options: Options, notes: Notes, start: Position, cut: Cut) -> Iterator[Block]:
    from corml._runtime.lazy_polars import polars as pl

    with damage(shown(path)):
        names = list(pl.read_parquet_schema(path))
    rows, limit = about_rows(path, options), _expansion(path, options)
    limit.check(LEAST_ROW * rows)
    pages = Pages(Window(path), names, shown(path))
    for first in range(start.at, max(rows, 1), cut.rows):
        count = max(min(cut.rows, rows - first), 0)
        yield _Rows(path, names, pages, limit, first, count), Position(first + count, first + count)


# --- text ------------------------------------------------------------------------------------------------------------


class _Below:
    """A block of text below some lines of its file; the first row is left out where it is one of those above."""

    def __init__(self, table: _text.TextTable | JsonTable | ListTable, shift: int, *, repeated: bool = False) -> None:
        self.where, self.names, self.named = table.where, table.names, table.named
        self._table, self._shift, self._repeated = table, shift, repeated

    @property
    def rows(self) -> int:
        """Lines, which are rows but for some."""
        return self._table.rows

    def extra(self, columns: int) -> int:
        """As much as any text."""
        return self._table.extra(columns)

    def head(self, positions: Sequence[int]) -> "dict[int, pl.Series]":
        """The first rows of some columns."""
        known = self._table.head(positions) if isinstance(self._table, Peekable) else {}
        return {at: series.slice(int(self._repeated)) for at, series in known.items()}

    def read(self, positions: Sequence[int]) -> Columns:
        """Read some columns, with the line numbers of the file."""
        read, skip = self._table.read(positions), int(self._repeated)
        return replace(
            read,
            series=[column.slice(skip) for column in read.series],
            first=read.first + skip + self._shift,
            lines=None if read.lines is None else read.lines[skip:] + self._shift,
            faults=[replace(fault, number=fault.number + self._shift) for fault in read.faults],
        )


def _of_text(path: Path, options: Options, notes: Notes, start: Position, cut: Cut) -> Iterator[Block]:
    try:
        limit = _expansion(path, options)
        with _opened(path) as file:
            first = next(_pieces(file, limit, Position(), cut.bytes, quotes=True), (b"", Position()))
            content = Content(first[0], kind_of(path.name), shown(path), path.name)
            if looks_like_lists(content, options):
                raise UsageError(
                    f"{content.where} has a user and items on each line: say so with item_lists=True (--item-lists)."
                )
            top = _text.TextTable(content, options, notes)
            if not start.at:
                yield top, first[1]
            settled, beginning = replace(options, separator=top.separator), _beginning(first[0], top, path)
            lines = beginning.count(b"\n")
            where = max(first[1], start, key=lambda position: position.at)
            file.seek(where.at)
            for piece, end in _pieces(file, limit, where, cut.bytes, quotes=top.may_quote):
                below = _text.TextTable(replace(content, data=beginning + piece), settled, Notes())
                yield _Below(below, where.line - lines, repeated=not top.header), end
                where = end
    except (OSError, EOFError, zlib.error) as fault:
        raise DataError(f"Could not read {shown(path)}: {getattr(fault, 'strerror', None) or fault}.") from fault


def _of_lines(path: Path, options: Options, notes: Notes, start: Position, cut: Cut) -> Iterator[Block]:
    """Lines that each say all of some rows: records of JSON, or a user and all their items."""
    size = cut.bytes // (PER_LINE if options.item_lists else 1)
    try:
        limit = _expansion(path, options)
        with _opened(path) as file:
            data, _ = next(_pieces(file, limit, Position(), size, quotes=False), (b"", Position()))
            content = Content(data, kind_of(path.name), shown(path), path.name)
            first: JsonLists | JsonTable | ListTable
            if content.kind not in JSON:
                first = ListTable(content, None)
            else:
                first = JsonLists(content, None, options.item) if options.item_lists else JsonTable(content, None)
            file.seek(start.at)
            where = start
            for piece, end in _pieces(file, limit, start, size, quotes=False):
                yield _Below(first.of_lines(piece), where.line), end
                where = end
    except (OSError, EOFError, zlib.error) as fault:
        raise DataError(f"Could not read {shown(path)}: {getattr(fault, 'strerror', None) or fault}.") from fault


def _opened(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path)) if path.name.lower().endswith(".gz") else open(path, "rb")


def _pieces(
    file: IO[bytes], limit: Expansion, start: Position, size: int, *, quotes: bool
) -> Iterator[tuple[bytes, Position]]:
    """Whole lines of about so many bytes, each piece with the position after it."""
    held, at, line = b"", start.at, start.line
    while True:
        read = file.read(size)
        held += read
        limit.check(at + len(held))
        end = _last_line_end(held, quotes=quotes) if read else len(held)
        if not read and not held.strip():
            return
        if not end:
            if len(held) > PATIENCE * size + _text.SAMPLE_BYTES:
                raise DataError(
                    f"{limit.where}, line {line + 1:,}: no line ends outside of quotes for a long way: is a quote open?"
                )
            continue
        piece, held = held[:end], held[end:]
        at, line = at + len(piece), line + piece.count(b"\n")
        yield piece, Position(at, line)


def _last_line_end(data: bytes, *, quotes: bool) -> int:
    """The byte after the last line end that is not inside quotes; 0 if there is none."""
    end = data.rfind(b"\n")
    open_quotes = data.count(b'"', 0, max(end, 0)) if quotes else 0
    while end >= 0 and open_quotes % 2:
        before = data.rfind(b"\n", 0, end)
        open_quotes -= data.count(b'"', max(before, 0), end)
        end = before
    return end + 1


def _beginning(data: bytes, table: _text.TextTable, path: Path) -> bytes:
    """The first lines of a file, to its header or first row: what every block of it is read below."""
    end = 0
    for _ in range(table.skipped + 1):
        end = data.find(b"\n", end) + 1 or len(data)
    if data[:end].count(b'"') % 2:
        raise DataError(f"{shown(path)} has a line end inside of its header: write the header on one line.")
    return data[:end] if data[:end].endswith(b"\n") else data[:end] + b"\n"
