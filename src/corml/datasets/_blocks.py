"""Tables too large to hold: a file as a row of small tables, read one after the other, from any of them on.

A Parquet file is cut by rows. A text file is cut at line ends outside of quotes; each block is read as if it stood
below the first line of its file, so that separator, header and names are settled once and the same for all.
"""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Protocol, cast

import corml.datasets._text as _text
from corml import memory
from corml.datasets._columns import Columns, Table
from corml.datasets._expansion import Expansion
from corml.datasets._frames import plain_names
from corml.datasets._lists import looks_like_lists
from corml.datasets._options import Notes, Options
from corml.datasets._packed import Content, kind_of, shown
from corml.datasets._parquet import LEAST_ROW, Pages, bytes_of, damage
from corml.datasets._thrift import Window
from corml.errors import DataError, UsageError

__all__ = ["Cut", "Position", "about_rows", "blocks", "bytes_before"]

PARQUET = ("parquet", "pq")
TEXT = ("csv", "tsv", "inter", "txt", "dat", "data")
SHORTEST_LINE = 16  # bytes of a row of text, for an estimate that is rather too high
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
    return _opener(path)(path, options, notes, start, cut)


def about_rows(path: Path) -> int:
    """How many rows a file has, as far as its size and its footer tell; rather more than less."""
    from corml.lazy_polars import polars as pl

    if _opener(path) is _of_parquet:
        with damage(shown(path)):
            rows = pl.scan_parquet(path, glob=False, hive_partitioning=False).select(pl.len()).collect().item()
        return int(rows)
    size = path.stat().st_size * (EXPANSION if path.name.lower().endswith(".gz") else 1)
    return size // SHORTEST_LINE + 1


def bytes_before(path: Path, position: Position, rows: int) -> int:
    """About how much of a file lies before a position, for those who wait; `rows` are those of the file."""
    size = path.stat().st_size
    if _opener(path) is _of_parquet:
        return size * position.at // max(rows, 1)
    return min(size, position.at // (EXPANSION if path.name.lower().endswith(".gz") else 1))


def _opener(path: Path) -> _Opener:
    kind, packed = kind_of(path.name), path.name.lower().endswith(".gz")
    if kind in PARQUET and not packed:
        return _of_parquet
    if kind in TEXT:
        return _of_text
    raise UsageError(
        f"{shown(path)} cannot be read in pieces: a store is made of Parquet, CSV and TSV files, the text also as .gz. "
        "Convert it with corml data convert."
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
        from corml.lazy_polars import polars as pl

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

    def _refuse(self, size: int) -> None:
        raise DataError(
            f"{self.where}, rows {self._first + 1:,} to {self._first + self.rows:,}: they take more than "
            f"{LONGEST_ROW:,} bytes each, {memory.size(size)} so far: a store is made of ids shorter than that."
        )


def _of_parquet(path: Path, options: Options, notes: Notes, start: Position, cut: Cut) -> Iterator[Block]:
    from corml.lazy_polars import polars as pl

    with damage(shown(path)):
        names = list(pl.read_parquet_schema(path))
    rows, limit = about_rows(path), _expansion(path, options)
    limit.check(LEAST_ROW * rows)
    pages = Pages(Window(path), names, shown(path))
    for first in range(start.at, max(rows, 1), cut.rows):
        count = max(min(cut.rows, rows - first), 0)
        yield _Rows(path, names, pages, limit, first, count), Position(first + count, first + count)


# --- text ------------------------------------------------------------------------------------------------------------


class _Below:
    """A block of text below the first lines of its file; the first row is left out where it is no header."""

    def __init__(self, table: _text.TextTable, shift: int) -> None:
        self.where, self.names, self.named = table.where, table.names, table.named
        self._table, self._shift, self._repeated = table, shift, not table.header

    @property
    def rows(self) -> int:
        """Lines, which are rows but for some."""
        return self._table.rows

    def extra(self, columns: int) -> int:
        """As much as any text."""
        return self._table.extra(columns)

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
                    f"{content.where} has a user and items on each line: a store needs a row for each pair."
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
                yield _Below(below, where.line - lines), end
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
