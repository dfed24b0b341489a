"""Text tables: CSV, TSV, RecBole `.inter` and their relatives, every field kept as the text it is.

Polars reads pieces without quotes. From the first quote on, and where anything is odd, Python's own reader decides row
by row: it knows line numbers, and there is only one opinion about what a quote means.
"""

import codecs
import csv
import io
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import ClassVar

import numpy as np

import corml.data.formats._sniff as _sniff
from corml.data._options import Notes, Options
from corml.data.formats._bytes import text_pieces, unix_lines
from corml.data.formats._files import File
from corml.data.formats._table import PER_OBJECT, WHOLE, Columns, Cut, Faults, Place, Table
from corml.errors import DataError, ascii_line

__all__ = ["Text"]

DAT = ("user", "item", "rating", "time")  # MovieLens' .dat files, which are divided by `::` and have no header
STAND_IN = "\x1f"  # «unit separator», which replaces a separator of several bytes
SAMPLE_ROWS = 20
SAMPLE_BYTES = 1 << 20
LINE_END = re.compile(rb"\r\n|\r|\n")


class Text(Table):
    """A text file with its separator, header and column names settled."""

    SUFFIXES: ClassVar[tuple[str, ...]] = ("csv", "tsv", "inter", "txt", "dat", "data", "")
    quotes: ClassVar[bool] = True  # whether a quote may hold a separator or a line end

    def __init__(self, file: File, options: Options, notes: Notes, *, about_items: bool = False) -> None:
        self.where, self._file, self._options, self._about_items = file.where, file, options, about_items
        self.budget, self._stand_in = file.budget, b""
        start = next(text_pieces(file, options.encoding, SAMPLE_BYTES), b"")
        self._has_quotes = self.quotes and b'"' in start
        top, at = _preamble(start, self.where)
        self._separator = self._settle_separator(start[at:], file.kind, notes)
        first = self._first_row(self._normal(start)[0:], top)
        given = options.separator
        dat = bool(self._stand_in) and given in (None, "::") and _is_dat(first, options)
        self._header = not dat and _has_header(first, options, self.where, about_items=about_items)
        self._skip = top
        self.named = self._header or (dat and _sniff.looks_like_data(first[2:3]))
        names: Sequence[object] = first if self._header else DAT if self.named else range(len(first))
        self.names = [_sniff.bare(str(name)) for name in names][: len(first)]
        if dat and self.named:
            notes.add("no header: read as user::item::rating::time, the layout of MovieLens' .dat files")
        counts = Counter(self.names)
        if twice := [name for name in self.names if counts[name] > 1]:
            raise DataError(
                f"{self.where} has two columns named {ascii_line(twice[0])}; its columns are "
                f"{_sniff.listed(self.names)}: rename one."
            )
        self.rows = start.count(b"\n") * max(file.size, len(start)) // len(start) + 1

    @classmethod
    def open(cls, file: File, options: Options, notes: Notes, *, about_items: bool = False) -> Table:
        """The table in a file."""
        return cls(file, options, notes, about_items=about_items)

    def extra(self, columns: int) -> int:
        """A piece of the text; with quotes, every field as an object."""
        return min(self._file.size, WHOLE.bytes) // 2 + (PER_OBJECT * columns * self.rows if self._has_quotes else 0)

    def _slices(self, positions: Sequence[int], cut: Cut, skip: int) -> Iterator[Columns]:
        pieces, line = text_pieces(self._file, self._options.encoding, cut.bytes), 0
        for piece in pieces:
            if b'"' in piece and self.quotes and not self._stand_in:
                yield from self._quoted(chain([piece], pieces), line, positions, skip)
                return
            text = self._normal(piece)
            fast = None if skip else self._fast(text, line, positions)
            if not skip:
                yield fast or self._slow(text, line, positions)
            skip = max(skip - 1, 0)
            line = fast.places[0].first + len(fast) - 1 if fast else line + text.count(b"\n")

    def _fast(self, text: bytes, line: int, positions: Sequence[int]) -> Columns | None:
        """Read by polars; None where a row is short, long or blank, or a field empty."""
        from corml._runtime.lazy_polars import polars as pl

        above = max(self._skip + self._header - line, 0)
        start = 0
        for _ in range(above):
            start = text.find(b"\n", start) + 1 or len(text)
        if text.startswith(codecs.BOM_UTF8, start):
            return None  # polars would take a part of the first id for a mark of the file
        last = len(self.names) - 1
        order = sorted({*positions, last})
        try:
            frame = pl.read_csv(
                text,
                has_header=False,
                separator=self._separator,
                quote_char=None,
                infer_schema=False,
                skip_lines=above,
                columns=order,
            )
        except pl.exceptions.PolarsError:
            return None
        separators = text.count(self._separator.encode(), start)
        if sum(frame.null_count().row(0)) or separators != last * len(frame):
            return None
        series = [frame.to_series(order.index(at)) for at in positions]
        return Columns(series, "line", [Place(self.where, len(frame), line + above + 1)])

    def _slow(self, text: bytes, line: int, positions: Sequence[int]) -> Columns:
        rows = _Rows(positions, len(self.names), self.where)
        above = max(self._skip + self._header - line, 0)
        lines = io.StringIO(text.decode(), newline="")
        for _ in range(above):
            next(lines, None)
        for number, record in self._records(lines, line + above, quoted=False):
            rows.add(number, record)
        return rows.columns()

    def _quoted(self, pieces: Iterator[bytes], line: int, positions: Sequence[int], skip: int) -> Iterator[Columns]:
        """Read rows that quotes may extend over lines, and so over pieces: a slice ends with the row that ends one."""
        pulled = 0

        def lines() -> Iterator[str]:
            nonlocal pulled
            for piece in pieces:
                pulled += 1
                yield from io.StringIO(piece.decode(), newline="")

        rest, above = lines(), max(self._skip - line, 0)
        for _ in range(above):
            next(rest, None)
        records = self._records(rest, line + above, quoted=True)
        if self._header and line <= self._skip:
            next(records, None)
        rows, before = _Rows(positions, len(self.names), self.where, skipped=bool(skip)), pulled
        for number, record in records:
            rows.add(number, record)
            if pulled > before:
                if not skip:
                    yield rows.columns()
                before, skip = pulled, max(skip - 1, 0)
                rows = _Rows(positions, len(self.names), self.where, skipped=bool(skip))
        if not skip:
            yield rows.columns()

    def _records(self, lines: Iterator[str], line: int, *, quoted: bool) -> Iterator[tuple[int, list[str] | str]]:
        """Rows with the line they begin on, or why they are none; blank lines are passed over."""
        reader = csv.reader(lines, **self._dialect(quoted=quoted))  # type: ignore[arg-type]
        while True:
            number = line + reader.line_num + 1
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error as fault:
                if "unexpected end of data" in str(fault) or "field limit" in str(fault):
                    raise DataError(
                        f"{self.where}, line {number:,}: a quote opens and never closes: close it, or double it."
                    ) from fault
                yield number, "there is text after a closing quote"
                continue
            if len(fields) > 1 or (fields and fields[0].strip()):
                yield number, fields

    def _settle_separator(self, start: bytes, kind: str, notes: Notes) -> str:
        lines = re.split(r"\r\n|\r|\n", start[:SAMPLE_BYTES].decode("utf-8", "ignore"))
        lines = [line for line in lines[:SAMPLE_ROWS] if line.strip()]
        if not lines:  # of blanks that only Unicode knows
            raise DataError(f"{self.where} has no interactions: it begins with blank lines. Remove them.")
        option = self._options.separator
        given = "\t" if option == r"\t" else option  # as a command line writes it
        separator = given or _sniff.pick_separator(lines, kind)
        if separator is None or separator not in lines[0]:
            tried = f"one column only when divided by {ascii_line(separator)}" if separator else "one column only"
            advice = "put commas or tabs between its columns" if self._about_items else "give separator= (--separator)"
            raise DataError(
                f"{self.where} has {tried}; its first line is {ascii_line(lines[0], 120)}, "
                f"which holds {_sniff.candidates(lines[0])}: {advice}."
            )
        if given is None and separator != _sniff.NATURAL.get(kind):
            notes.add(f"separator: {ascii_line(separator)}")
        if len(separator.encode()) == 1:
            return separator
        self._stand_in = separator.encode()  # polars and csv take one byte
        return STAND_IN

    def _normal(self, piece: bytes) -> bytes:
        """A piece with line feeds alone and a separator of one byte."""
        if self._stand_in:
            if STAND_IN.encode() in piece:
                raise DataError(
                    f"{self.where} holds the control character U+001F: it cannot be read with a long separator."
                )
            return unix_lines(piece).replace(self._stand_in, STAND_IN.encode())
        return piece if b'"' in piece and self.quotes else unix_lines(piece)

    def _dialect(self, *, quoted: bool) -> Mapping[str, object]:
        quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
        return {"delimiter": self._separator, "quoting": quoting, "strict": True}

    def _first_row(self, start: bytes, top: int) -> list[str]:
        lines = io.StringIO(start[:SAMPLE_BYTES].decode("utf-8", "ignore"), newline="")
        for _ in range(top):
            next(lines, None)
        quoted = self._has_quotes and not self._stand_in
        try:
            return next(csv.reader(lines, **self._dialect(quoted=quoted)))  # type: ignore[arg-type]
        except csv.Error as fault:
            raise DataError(f"{self.where}, line {top + 1}: {fault}: close or double the quote.") from fault


class Unquoted(Text):
    """A text file in which quotes are characters like others."""

    quotes: ClassVar[bool] = False


class _Rows:
    """Fields of some columns, collected row by row; rows with too few or too many fields are faults."""

    def __init__(self, positions: Sequence[int], width: int, where: str, *, skipped: bool = False) -> None:
        self._positions, self._width, self._where, self._skipped = positions, width, where, skipped
        self._values: list[list[str]] = [[] for _ in positions]
        self._lines, self._faults = array("q"), Faults()

    def add(self, line: int, fields: list[str] | str) -> None:
        if self._skipped:
            return
        if isinstance(fields, str):
            self._faults.add(line, fields)
        elif len(fields) != self._width:
            self._faults.add(line, f"there are {len(fields)} fields where {self._width} are expected")
        else:
            self._lines.append(line)
            for column, at in zip(self._values, self._positions, strict=True):
                column.append(fields[at])

    def columns(self) -> Columns:
        from corml._runtime.lazy_polars import polars as pl

        series = [pl.Series(values=column, dtype=pl.String) for column in self._values]
        lines = np.array(self._lines, dtype=np.int64)
        place = Place(self._where, len(lines), lines=lines)
        return Columns(series, "line", [place], self._faults.first, self._faults.more)


def _preamble(data: bytes, where: str) -> tuple[int, int]:
    """Count blank and comment lines at the top, and find where they end."""
    lines = start = 0
    while start < len(data):
        end = LINE_END.search(data, start)
        line = data[start : end.start() if end else len(data)].strip()
        if line and not line.startswith(b"#"):
            return lines, start
        start = end.end() if end else len(data)
        lines += 1
    raise DataError(f"{where} has no interactions: it is empty.")


def _is_dat(first: list[str], options: Options) -> bool:
    """Whether a file divided by `::` is like MovieLens' own: no header, data from the first line on."""
    plain = options.header is None and len(first) <= len(DAT) and _sniff.looks_like_data(first[:2])
    return plain and not _sniff.looks_like_header(first)


def _has_header(first: list[str], options: Options, where: str, *, about_items: bool = False) -> bool:
    """Whether the first row names the columns; an error where that cannot be meant."""
    if options.header is False and _sniff.looks_like_header(first):
        raise DataError(
            f"{where} starts with a header ({_sniff.listed(first)}): read it without header=False (--no-header)."
        )
    if options.header is not None:
        return options.header
    given = [name for name in (options.user, options.item) if name is not None]
    if _sniff.looks_like_header(first) or set(given) & set(map(_sniff.bare, first)):
        return True
    if len(given) == 2 and all(isinstance(name, int) for name in given):
        return False
    if _sniff.looks_like_data(first):
        more = " If each line is a user and then their items: item_lists=True (--item-lists)."
        raise _sniff.without_header(where, first, more, about_items=about_items)
    return True
