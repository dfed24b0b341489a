"""Text tables: CSV, TSV, RecBole `.inter` and their relatives, every field kept as the text it is.

Without quotes in it a file is read by polars. With quotes, or where anything is odd, Python's own reader decides
row by row: it knows line numbers, and there is only one opinion about what a quote means.
"""

import codecs
import csv
import io
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

import corml.data.formats._sniff as _sniff
from corml.data._options import Notes, Options
from corml.data.cleaning._columns import LOOK, PER_OBJECT, Columns, Faults
from corml.data.formats._bytes import as_text, unix_lines
from corml.data.formats._packed import Content
from corml.errors import DataError, ascii_line

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TextTable"]

DAT = ("user", "item", "rating", "time")  # of MovieLens' .dat files, which are divided by `::` and have no header
STAND_IN = "\x1f"  # the character that replaces a separator of several characters: «unit separator»
SAMPLE_ROWS = 20
LINE_END = re.compile(rb"\r\n|\r|\n")
SAMPLE_BYTES = 1 << 20

Record = tuple[int, list[str] | str]  # the line a row begins on, and its fields, or why it has none


class TextTable:
    """A text file with its separator, header and column names settled, ready to give columns."""

    def __init__(
        self, content: Content, options: Options, notes: Notes, *, quotes: bool = True, beside: bool = False
    ) -> None:
        self.where, self._beside = content.where, beside
        self._data = as_text(content.data, self.where, options.encoding)
        self._quoted = quotes and b'"' in self._data
        if not self._quoted:
            self._data = unix_lines(self._data)
        self._skip, start = _preamble(self._data, self.where)
        self._separator = self._settle_separator(start, content.kind, options, notes)
        self._skip, start = _preamble(self._data, self.where)  # again: a stand-in may have moved it
        first = self._first_row(start)
        dat = self._separator == STAND_IN and options.separator in (None, "::") and _is_dat(first, options)
        self._header = not dat and _has_header(first, options, self.where, beside=beside)
        self.named = self._header or (dat and _sniff.looks_like_data(first[2:3]))
        names = first if self._header else DAT if self.named else range(len(first))
        self.names = [_sniff.bare(str(name)) for name in names][: len(first)]
        if dat and self.named:
            notes.add("no header: read as user::item::rating::time, the layout of MovieLens' .dat files")
        self._check_names()

    @property
    def header(self) -> bool:
        """Whether the first row names the columns."""
        return self._header

    @property
    def skipped(self) -> int:
        """Blank and comment lines above the first row."""
        return self._skip

    @property
    def separator(self) -> str:
        """What divides the columns, as an option would give it."""
        return self._given_separator

    @property
    def may_quote(self) -> bool:
        """Whether a quote in this file may hold a separator or a line end."""
        return self._separator != STAND_IN

    @property
    def rows(self) -> int:
        """Lines, which are rows but for some."""
        return self._data.count(b"\n") + 1

    def extra(self, columns: int) -> int:
        """Most of the text again; with quotes, every field as an object."""
        return 3 * len(self._data) // 4 + (PER_OBJECT * columns * self.rows if self._quoted else 0)

    def read(self, positions: Sequence[int]) -> Columns:
        """Read some columns, fast if the file is plain and clean."""
        columns = None if self._quoted else self._fast(positions)
        return self._slow(positions) if columns is None else columns

    def head(self, positions: Sequence[int]) -> "dict[int, pl.Series]":
        """The first rows of some columns."""
        layout = _Layout(self._dialect(), len(self.names), self._skip, self._header, self.where)
        return dict(zip(positions, _read_rows(self._data, positions, layout, LOOK).series, strict=True))

    def _fast(self, positions: Sequence[int]) -> Columns | None:
        """Read by polars; None where a row is short, long or blank, or a field empty."""
        from corml._runtime.lazy_polars import polars as pl

        start, skipped = self._body_start(), self._skip + self._header
        if self._data.startswith(codecs.BOM_UTF8, start):
            return None  # polars would take a part of the first id for a mark of the file
        last = len(self.names) - 1
        order = sorted({*positions, last})
        try:
            frame = pl.read_csv(
                self._data,
                has_header=False,
                separator=self._separator,
                quote_char=None,
                infer_schema=False,
                skip_lines=skipped,
                columns=order,
            )
        except pl.exceptions.PolarsError:
            return None
        body = self._data.count(self._separator.encode(), start)
        if sum(frame.null_count().row(0)) or body != last * len(frame):
            return None
        series = [frame.to_series(order.index(at)) for at in positions]
        return Columns(series, "line", first=skipped + 1)

    def _slow(self, positions: Sequence[int]) -> Columns:
        layout = _Layout(self._dialect(), len(self.names), self._skip, self._header, self.where)
        return _read_rows(self._data, positions, layout)

    def _settle_separator(self, start: int, kind: str, options: Options, notes: Notes) -> str:
        lines = re.split(r"\r\n|\r|\n", self._data[start : start + SAMPLE_BYTES].decode("utf-8", "ignore"))
        lines = [line for line in lines[:SAMPLE_ROWS] if line.strip()]
        if not lines:  # of blanks that only Unicode knows
            raise DataError(f"{self.where} has no interactions: it begins with blank lines. Remove them.")
        given = "\t" if options.separator == r"\t" else options.separator  # as a command line writes it
        separator = given or _sniff.pick_separator(lines, kind)
        if separator is None or separator not in lines[0]:
            tried = f"one column only when divided by {ascii_line(separator)}" if separator else "one column only"
            advice = "put commas or tabs between its columns" if self._beside else "give separator= (--separator)"
            raise DataError(
                f"{self.where} has {tried}; its first line is {ascii_line(lines[0], 120)}, "
                f"which holds {_sniff.candidates(lines[0])}: {advice}."
            )
        if given is None and separator != _sniff.NATURAL.get(kind):
            notes.add(f"separator: {ascii_line(separator)}")
        self._given_separator = separator
        return self._stand_in(separator) if len(separator.encode()) > 1 else separator

    def _stand_in(self, separator: str) -> str:
        """Polars and csv take one byte as separator: put one in place of several."""
        if STAND_IN.encode() in self._data:
            raise DataError(
                f"{self.where} holds the control character U+001F: it cannot be read with a long separator."
            )
        self._data = unix_lines(self._data).replace(separator.encode(), STAND_IN.encode())
        self._quoted = False  # files with such separators have no rules for quotes
        return STAND_IN

    def _dialect(self) -> dict[str, object]:
        quoting = csv.QUOTE_MINIMAL if self._quoted else csv.QUOTE_NONE
        return {"delimiter": self._separator, "quoting": quoting, "strict": True}

    def _first_row(self, start: int) -> list[str]:
        text = self._data[start : start + SAMPLE_BYTES].decode("utf-8", "ignore")
        try:
            return next(csv.reader(io.StringIO(text, newline=""), **self._dialect()))  # type: ignore[arg-type]
        except csv.Error as fault:
            raise DataError(f"{self.where}, line {self._skip + 1}: {fault}: close or double the quote.") from fault

    def _check_names(self) -> None:
        if len(set(self.names)) < len(self.names):
            counts = Counter(self.names)
            twice = next(name for name in self.names if counts[name] > 1)
            columns = _sniff.listed(self.names)
            raise DataError(
                f"{self.where} has two columns named {ascii_line(twice)}; its columns are {columns}: rename one."
            )

    def _body_start(self) -> int:
        start = 0
        for _ in range(self._skip + self._header):
            start = self._data.find(b"\n", start) + 1 or len(self._data)
        return start


def _preamble(data: bytes, where: str) -> tuple[int, int]:
    """Count blank and comment lines at the top, and find where they end."""
    lines = start = 0
    while start < len(data):
        found = LINE_END.search(data, start)
        line = data[start : found.start() if found else len(data)].strip()
        if line and not line.startswith(b"#"):
            return lines, start
        start = found.end() if found else len(data)
        lines += 1
    raise DataError(f"{where} has no interactions: it is empty.")


def _is_dat(first: list[str], options: Options) -> bool:
    """Whether a file divided by `::` is like MovieLens' own: no header, data from the first line on."""
    plain = options.header is None and len(first) <= len(DAT) and _sniff.looks_like_data(first[:2])
    return plain and not _sniff.looks_like_header(first)


def _has_header(first: list[str], options: Options, where: str, *, beside: bool = False) -> bool:
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
        raise _sniff.without_header(
            where, first, " If each line is a user and then their items: item_lists=True (--item-lists).", beside=beside
        )
    return True


# --- row by row: the reader that can say on which line a table goes wrong --------------------------------------------


@dataclass(frozen=True)
class _Layout:
    """How the text is to be read: csv's options, fields per row, lines above the table, and whether it has a header."""

    dialect: Mapping[str, object]
    width: int
    skip: int
    header: bool
    where: str


def _read_rows(data: bytes, positions: Sequence[int], layout: _Layout, most: int | None = None) -> Columns:
    """Read some columns of all rows, or of the first `most` lines of them.

    Rows with too few or too many fields become faults, blank lines are passed over.
    """
    from corml._runtime.lazy_polars import polars as pl

    values: list[list[str]] = [[] for _ in positions]
    lines = array("q")
    faults = Faults()
    for line, fields in islice(_records(data, layout), layout.header, most):
        if isinstance(fields, str):
            faults.add(line, fields)
        elif len(fields) != layout.width:
            faults.add(line, f"there are {len(fields)} fields where {layout.width} are expected")
        else:
            lines.append(line)
            for column, at in zip(values, positions, strict=True):
                column.append(fields[at])
    series = [pl.Series(values=column, dtype=pl.String) for column in values]
    return Columns(series, "line", lines=np.array(lines, dtype=np.int64), faults=faults.first, more_faults=faults.more)


def _records(data: bytes, layout: _Layout) -> Iterator[Record]:
    with io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="") as text:
        for _ in range(layout.skip):
            next(text)
        reader = csv.reader(text, **layout.dialect)  # type: ignore[arg-type]
        while True:
            line = layout.skip + reader.line_num + 1
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error as fault:
                yield line, _complaint(fault, layout.where, line)
                continue
            if len(fields) > 1 or (fields and fields[0].strip()):
                yield line, fields


def _complaint(fault: csv.Error, where: str, line: int) -> str:
    """Say what is wrong with one row; a quote that never closes has swallowed the rest of the file and ends it all."""
    if "unexpected end of data" in str(fault) or "field limit" in str(fault):
        raise DataError(f"{where}, line {line:,}: a quote opens and never closes: close it, or double it.") from fault
    return "there is text after a closing quote"
