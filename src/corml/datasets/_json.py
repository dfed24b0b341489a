"""JSON Lines: a record on each line. A whole file that is one list of records is read as well."""

import json
import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from corml import memory
from corml.datasets._bytes import as_text
from corml.datasets._columns import PER_OBJECT, Columns, Faults
from corml.datasets._packed import Content
from corml.errors import DataError

__all__ = ["JsonTable"]

LONGEST = 1 << 22  # characters of one record
SAMPLE = 1000  # records that are looked at for names
MOST_NAMES = 1 << 20

Record = tuple[int, dict[str, Any] | str]  # the line or record number, and its fields, or why it has none


class JsonTable:
    """Records with the names of the first thousand; numbers keep the text they have in the file."""

    named = True

    def __init__(self, content: Content, encoding: str | None, *, nested: bool = False) -> None:
        self.where = content.where
        self._nested = nested  # whether a field may hold a list, which is then given as its JSON text
        data = as_text(content.data, self.where, encoding)
        self._text = data.decode()
        self._list = self._text[:1000].lstrip().startswith("[")
        self.unit = "record" if self._list else "line"
        self.names = self._names()

    @property
    def rows(self) -> int:
        """Lines, or in a list, braces."""
        return self._text.count("{" if self._list else "\n") + 1

    def extra(self, columns: int) -> int:
        """Every field as an object."""
        return PER_OBJECT * columns * self.rows

    def read(self, positions: Sequence[int]) -> Columns:
        """Read some fields of all records; one that is missing is an empty field."""
        from corml.lazy_polars import polars as pl

        names = [self.names[at] for at in positions]
        values: list[list[str | None]] = [[] for _ in names]
        lines = array("q")
        faults = Faults()
        for line, record in self._records():
            row = record if isinstance(record, str) else _row(record, names, nested=self._nested)
            if isinstance(row, str):
                faults.add(line, row)
                continue
            lines.append(line)
            for column, value in zip(values, row, strict=True):
                column.append(value)
        series = [pl.Series(values=column, dtype=pl.String) for column in values]
        numbers = np.array(lines, dtype=np.int64)
        return Columns(series, self.unit, lines=numbers, faults=faults.first, more_faults=faults.more)

    def _names(self) -> list[str]:
        """The names in the first records, of which only one is in memory at a time."""
        names: dict[str, None] = {}
        found, said = False, ""
        for _, record in islice(self._records(), SAMPLE):
            if isinstance(record, str):
                said = said or record
                continue
            found = True
            names.update(dict.fromkeys(record))
            if len(names) > MOST_NAMES:
                raise DataError(
                    f"{self.where} has records with more than {MOST_NAMES:,} names of fields: are ids written "
                    "as names? Write each id as the value of a field."
                )
        if not found:
            said = said or "it is empty"
            raise DataError(f"{self.where} has no interactions: no {self.unit} holds a JSON record ({said}).")
        return list(names)

    def _records(self) -> Iterator[Record]:
        return self._listed() if self._list else self._by_line()

    def _by_line(self) -> Iterator[Record]:
        start, number = 0, 0
        while start < len(self._text):  # not splitlines: U+2028 inside a text does not end a line
            end = self._text.find("\n", start)
            end = len(self._text) if end < 0 else end
            number += 1
            line = self._text[start:end].strip()
            start = end + 1
            if line:
                yield number, _parse(line)

    def _listed(self) -> Iterator[Record]:
        try:
            for number, record in enumerate(_values(self._text.strip()), start=1):
                yield number, record if isinstance(record, dict) else "it is not a JSON record"
        except (ValueError, RecursionError) as fault:
            raise DataError(f"{self.where} is not JSON ({fault}): write it again, a record on each line.") from fault


_BLANKS = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)


def _values(text: str) -> Iterator[Any]:
    """The values of a list, one after the other: all at once would take twenty times the text."""
    window = _Window(text)
    at = _after_blanks(text, 1)
    more = not text.startswith("]", at)
    while more:
        value, at = window.decode(at)
        yield value
        at = _after_blanks(text, at)
        more = text.startswith(",", at)
        if more:
            at = _after_blanks(text, at + 1)
    if not text.startswith("]", at):
        raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
    if at + 1 < len(text):
        raise json.JSONDecodeError("Extra data", text, _after_blanks(text, at + 1))


class _Window:
    """A piece of a text in which values are decoded: one that is longer than it is refused before it fills memory."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._move(0)

    def decode(self, at: int) -> tuple[Any, int]:
        """The value that begins at a place of the text, and where it ends."""
        value, end = self._whole(at)
        if end < 0 and at > self._start:
            self._move(at)
            value, end = self._whole(at)
        if end < 0:
            raise ValueError(f"the record at character {at:,} is longer than {memory.size(LONGEST)}, or has no end")
        return value, end

    def _move(self, at: int) -> None:
        self._start, self._piece = at, self._text[at : at + LONGEST]
        self._last = at + LONGEST >= len(self._text)

    def _whole(self, at: int) -> tuple[Any, int]:
        """A value and its end; -1 if it may go on behind the window."""
        try:
            value, end = _DECODER.raw_decode(self._piece, at - self._start)
        except json.JSONDecodeError as fault:
            if self._last:
                raise json.JSONDecodeError(fault.msg, self._text, self._start + fault.pos) from fault
            return None, -1
        return value, self._start + end if self._last or end < len(self._piece) else -1


def _after_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return at if found is None else found.end()


def _parse(line: str) -> dict[str, Any] | str:
    try:
        record = _DECODER.decode(line)
    except (ValueError, RecursionError):
        return "it is not JSON"
    return record if isinstance(record, dict) else "it is not a JSON record"


def _row(record: dict[str, Any], names: Sequence[str], *, nested: bool) -> list[str | None] | str:
    row: list[str | None] = []
    for name in names:
        value = record.get(name)
        value = json.dumps(value, ensure_ascii=False) if nested and isinstance(value, list) else value
        if isinstance(value, dict | list):
            return f"its field {name} holds a list or a record"
        row.append(value if value is None or isinstance(value, str) else str(value).lower())
    return row
