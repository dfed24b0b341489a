"""JSON Lines: a record on each line. A whole file that is one list of records is read as well.

A record is a row, or with `item_lists` as many rows as one of its fields, which holds a list, has items.
"""

import json
import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from corml._runtime import memory
from corml.data._options import Column, Notes, Options
from corml.data.formats._bytes import text_pieces
from corml.data.formats._files import File
from corml.data.formats._sniff import find, listed, position
from corml.data.formats._table import PER_OBJECT, Columns, Cut, Faults, Place, Table
from corml.errors import DataError

__all__ = ["Json"]

SAMPLE = 1000  # records that are searched for names
LONGEST = 1 << 22  # characters of one record
MOST_NAMES = 1 << 20
ITEM = "item"

Record = tuple[int, dict[str, Any] | str]  # the line or record number, and its fields, or why it has none


class Json(Table):
    """Records with the names of the first thousand; numbers keep the text they have in the file."""

    SUFFIXES: ClassVar[tuple[str, ...]] = ("jsonl", "ndjson", "json")

    def __init__(self, file: File, encoding: str | None, *, nested: bool = False) -> None:
        self.where, self.budget, self._file, self._encoding = file.where, file.budget, file, encoding
        self._nested = nested  # whether a field may hold a list, which is then given as its JSON text
        self._lists: dict[str, None] = {}  # fields that hold lists in the first records
        start = next(text_pieces(file, encoding, 1 << 20), b"").decode()
        self._is_list = start.lstrip().startswith("[")
        self.unit = "record" if self._is_list else "line"
        self._own = self._names()
        self.names = list(self._own)
        self.rows = start.count(self._per_row()) * max(file.size, 1) // max(len(start.encode()), 1) + 1

    @classmethod
    def starts(cls, start: bytes) -> bool:
        """Whether bytes begin with a record or a list of records."""
        return start.lstrip().startswith((b"{", b"[{"))

    @classmethod
    def open(cls, file: File, options: Options, notes: Notes, *, about_items: bool = False) -> Table:
        """The table in a file; a field of one about items may hold a list."""
        if options.item_lists and not about_items:
            notes.add("lists: each record has a user and all their items")
            return JsonLists(file, options.encoding, options.item)
        return cls(file, options.encoding, nested=about_items)

    def extra(self, columns: int) -> int:
        """Every field as an object, for as many rows as are read at a time."""
        return PER_OBJECT * columns * self.rows

    def _slices(self, positions: Sequence[int], cut: Cut, skip: int) -> Iterator[Columns]:
        from corml._runtime.lazy_polars import polars as pl

        names = [self._own[at] for at in positions]
        for records in islice(self._records(self._cut_size(cut)), skip, None):
            values: list[list[str | None]] = [[] for _ in names]
            lines, faults = array("q"), Faults()
            for line, record in records:
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
            place = Place(self.where, len(numbers), lines=numbers)
            yield Columns(series, self.unit, [place], faults.first, faults.more)

    def _cut_size(self, cut: Cut) -> int:
        return cut.bytes

    def _per_row(self) -> str:
        """What a text has about once for each row."""
        return "{" if self._is_list else "\n"

    def _rows(self, record: dict[str, Any], names: Sequence[str]) -> list[list[str | None]] | str:
        """The rows of a record, or why there are none."""
        row = _row(record, names, nested=self._nested)
        return row if isinstance(row, str) else [row]

    def _names(self) -> list[str]:
        """The names in the first records, of which only one is in memory at a time."""
        names: dict[str, None] = {}
        found, reason = False, ""
        first = (record for records in self._records(1 << 20) for _, record in records)
        for record in islice(first, SAMPLE):
            if isinstance(record, str):
                reason = reason or record
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
            reason = reason or "it is empty"
            raise DataError(f"{self.where} has no interactions: no {self.unit} holds a JSON record ({reason}).")
        return list(names)

    def _records(self, size: int) -> Iterator[Iterator[Record]]:
        """Records, together those of a piece of text."""
        pieces = (piece.decode() for piece in text_pieces(self._file, self._encoding, size))
        if self._is_list:
            yield self._listed(pieces)
            return
        first = 1
        for piece in pieces:
            lines = piece.split("\n")  # not splitlines: U+2028 inside a text does not end a line
            yield ((number, _parse(line)) for number, line in enumerate(lines, first) if line.strip())
            first += len(lines) - 1

    def _listed(self, pieces: Iterator[str]) -> Iterator[Record]:
        number = 0
        try:
            for number, record in enumerate(_values(pieces), start=1):
                yield number, record if isinstance(record, dict) else "it is not a JSON record"
        except (ValueError, RecursionError) as fault:
            reason = fault.msg if isinstance(fault, json.JSONDecodeError) else fault
            raise DataError(
                f"{self.where} is not JSON (after {number:,} records: {reason}): write it again, a record on each line."
            ) from fault


class JsonLists(Json):
    """Records with a list of items in one of their fields: a row for each of them, with the other fields again.

    Where the name of that field says nothing, the column is called «item», so that it is found.
    """

    def __init__(self, file: File, encoding: str | None, item: Column) -> None:
        super().__init__(file, encoding)
        self._items = self._field_of_items(item)
        usual = item is not None or find("item", [self._items]) is not None
        self.names = [ITEM if name == self._items and not usual else name for name in self._own]

    def _per_row(self) -> str:
        return ","

    def _cut_size(self, cut: Cut) -> int:
        return cut.bytes // 8 if cut.limited else cut.bytes  # each item repeats the other fields

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


def _values(pieces: Iterator[str]) -> Iterator[Any]:
    """The values of a list, one after the other: all at once would take twenty times the text."""
    text = _Ahead(pieces)
    text.take("[")
    while text.peek() != "]":
        yield text.value()
        if text.peek() != "]":
            text.take(",")
            if text.peek() == "]":
                raise json.JSONDecodeError("Illegal trailing comma before end of array", "", 0)
    text.take("]")
    if text.peek():
        raise json.JSONDecodeError("Extra data", "", 0)


class _Ahead:
    """Text that comes in pieces, with enough of it in memory to decode the next value."""

    def __init__(self, pieces: Iterator[str]) -> None:
        self._pieces, self._text, self._at = pieces, "", 0

    def peek(self) -> str:
        """The next character that is no blank; an empty text at the end."""
        while True:
            blanks = _BLANKS.match(self._text, self._at)
            self._at = self._at if blanks is None else blanks.end()
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def take(self, mark: str) -> None:
        """Pass over a character that must come next."""
        if self.peek() != mark:
            raise json.JSONDecodeError(f"Expecting '{mark}' delimiter", "", 0)
        self._at += 1

    def value(self) -> Any:
        """The next value; one that is longer than a record may be is refused before it fills memory."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
                if end < len(self._text) or not self._more():
                    self._at = end
                    return value
            except json.JSONDecodeError:
                if not self._more():
                    raise
            if len(self._text) > LONGEST:
                raise ValueError(f"a record is longer than {memory.size(LONGEST)}, or has no end")

    def _more(self) -> bool:
        piece = next(self._pieces, None)
        if piece is None:
            return False
        self._text, self._at = self._text[self._at :] + piece, 0
        return True


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
