"""JSON Lines: a record on each line. A whole file that is one list of records is read as well.

A record is a row, or with `item_lists` as many rows as one of its fields, which holds a list, has items.
"""

import json
import re
from array import array
from collections.abc import Iterator, Sequence
from copy import copy
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from corml._runtime import memory
from corml.data._options import Column
from corml.data.cleaning._columns import LOOK, PER_OBJECT, Columns, Faults
from corml.data.formats._bytes import as_text
from corml.data.formats._packed import Content
from corml.data.formats._sniff import find, listed, position
from corml.errors import DataError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["JsonLists", "JsonTable"]

SAMPLE = 1000  # records that are looked at for names
LONGEST = 1 << 22  # characters of one record
MOST_NAMES = 1 << 20
ITEM = "item"

Record = tuple[int, dict[str, Any] | str]  # the line or record number, and its fields, or why it has none


class JsonTable:
    """Records with the names of the first thousand; numbers keep the text they have in the file."""

    named = True

    def __init__(self, content: Content, encoding: str | None, *, nested: bool = False) -> None:
        self.where = content.where
        self._nested = nested  # whether a field may hold a list, which is then given as its JSON text
        self._lists: dict[str, None] = {}  # fields that hold lists in the first records
        data = as_text(content.data, self.where, encoding)
        self._text = data.decode()
        self._list = self._text[:1000].lstrip().startswith("[")
        self.unit = "record" if self._list else "line"
        self._own = self._names()
        self.names = self._own

    def of_lines(self, data: bytes) -> Self:
        """Other lines of the same file, with the names of these."""
        if self._list:
            raise DataError(f"{self.where} is one list, which is not read in pieces: write a record on each line.")
        other = copy(self)
        other._text = as_text(data, self.where).decode()
        return other

    @property
    def rows(self) -> int:
        """Lines, or in a list, braces."""
        return self._text.count("{" if self._list else "\n") + 1

    def extra(self, columns: int) -> int:
        """Every field as an object."""
        return PER_OBJECT * columns * self.rows

    def read(self, positions: Sequence[int]) -> Columns:
        """Read some fields of all records; one that is missing is an empty field."""
        return self._read([self._own[at] for at in positions])

    def head(self, positions: Sequence[int]) -> "dict[int, pl.Series]":
        """The first records of some fields."""
        return dict(zip(positions, self._read([self._own[at] for at in positions], LOOK).series, strict=True))

    def _read(self, names: Sequence[str], most: int | None = None) -> Columns:
        from corml._runtime.lazy_polars import polars as pl

        values: list[list[str | None]] = [[] for _ in names]
        lines = array("q")
        faults = Faults()
        for line, record in islice(self._records(), most):
            rows = record if isinstance(record, str) else self._rows(record, names)
            if isinstance(rows, str):
                faults.add(line, rows)
                continue
            for row in rows:
                lines.append(line)
                for column, value in zip(values, row, strict=True):
                    column.append(value)
        series = [pl.Series(values=column, dtype=pl.String) for column in values]
        numbers = np.array(lines, dtype=np.int64)
        return Columns(series, self.unit, lines=numbers, faults=faults.first, more_faults=faults.more)

    def _rows(self, record: dict[str, Any], names: Sequence[str]) -> list[list[str | None]] | str:
        """The row that a record is, or why it is none."""
        row = _row(record, names, nested=self._nested)
        return row if isinstance(row, str) else [row]

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
            self._lists.update(dict.fromkeys(name for name, value in record.items() if isinstance(value, list)))
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


class JsonLists(JsonTable):
    """Records with a list of items in one of their fields: a row for each of them, with the other fields again.

    Where the name of that field says nothing, the column is called «item», so that it is found.
    """

    def __init__(self, content: Content, encoding: str | None, item: Column) -> None:
        super().__init__(content, encoding)
        self._items = self._field_of_items(item)
        usual = item is not None or find("item", [self._items]) is not None
        self.names = [ITEM if name == self._items and not usual else name for name in self._own]

    @property
    def rows(self) -> int:
        """Commas, as one stands before each item but the first, and lines."""
        return self._text.count(",") + self._text.count("\n") + 1

    def _field_of_items(self, item: Column) -> str:
        if item is not None:
            return self._own[position("item", item, self._own, self.where)]
        lists = list(self._lists)
        at = 0 if len(lists) == 1 else find("item", lists)
        if at is None:
            held = f"lists in the fields {listed(lists)}" if lists else f"no lists in its fields, {listed(self._own)}"
            raise DataError(
                f"{self.where} has {held}: name the one with the items as item= (--item)"
                + ("." if lists else ", or leave item_lists= (--item-lists) out.")
            )
        return lists[at]

    def _rows(self, record: dict[str, Any], names: Sequence[str]) -> list[list[str | None]] | str:
        items = record.get(self._items)
        if not isinstance(items, list):
            return f"its field {self._items} holds no list"
        rows = []
        for item in items:
            row = _row({**record, self._items: item}, names, nested=False)
            if isinstance(row, str):
                return row
            rows.append(row)
        return rows


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
        if isinstance(value, dict):
            return f"its field {name} holds a record"
        if isinstance(value, list):
            return f"its field {name} holds a list; item_lists=True (--item-lists) makes a row of each item"
        row.append(value if value is None or isinstance(value, str) else str(value).lower())
    return row
