"""Records in Thrift's compact form, in which Parquet says what it holds. Only the fields that are wanted are kept.

The bytes may be anybody's: a record ends where they end, and has bounds in depth and in parts.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, overload

__all__ = ["Records", "Wanted", "Window"]

Wanted = Mapping[int, "Wanted | None"]  # the numbers of fields, and what is wanted of the records in them

DEPTH = 40
PARTS = 5_000_000  # a hundred thousand pieces of columns
WIDTH = 1 << 16  # bytes of a file that are held
TRUE, FALSE, BYTE, INTEGERS, DOUBLE, BINARY, LISTS, MAP, RECORD, UUID = 1, 2, 3, (4, 5, 6), 7, 8, (9, 10), 11, 12, 13


class Window:
    """The bytes of a file too large to hold; of those asked for one after the other, many are read at a time."""

    def __init__(self, path: Path) -> None:
        self._path, self._size = path, path.stat().st_size
        self._first, self._held = 0, b""

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> bytes: ...
    def __getitem__(self, place: int | slice) -> int | bytes:
        if isinstance(place, slice):
            first, last, _ = place.indices(self._size)
            return self._read(first, last - first)
        if not self._first <= place < self._first + len(self._held):
            self._first, self._held = place, self._read(place, WIDTH)
        return self._held[place - self._first]

    def _read(self, first: int, length: int) -> bytes:
        with self._path.open("rb") as file:
            file.seek(first)
            read = file.read(length)
        if not read:
            raise ValueError("the file became shorter while it was read")
        return read


class Records:
    """Records one after the other in some bytes; what is no record is a ValueError."""

    def __init__(self, data: "bytes | Window") -> None:
        self._data = data
        self._parts = 0
        self.at = 0

    def read(self, at: int, wanted: Wanted) -> dict[int, Any]:
        """The record at a place; afterwards `at` is the place behind it."""
        if not 0 <= at < len(self._data):
            raise ValueError("a record lies outside of the file")
        self.at = at
        return self._record(wanted, 0)

    def _record(self, wanted: Wanted | None, depth: int) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            if wanted is not None and number in wanted:
                fields[number] = self._value(head & 15, wanted[number], depth + 1, keep=True)
            else:
                self._value(head & 15, None, depth + 1, keep=False)
        return fields

    def _value(self, kind: int, wanted: Wanted | None, depth: int, *, keep: bool) -> Any:
        self._parts += 1
        if depth > DEPTH or self._parts > PARTS:
            raise ValueError("its records have too many parts")
        if kind in (TRUE, FALSE):  # of a field; the kind is the value
            return kind == TRUE
        if kind == BYTE:
            return self._byte()
        if kind in INTEGERS:
            return self._integer()
        if kind == BINARY:
            return self._bytes(self._length(), keep=keep)
        if kind in (DOUBLE, UUID):
            return self._bytes(8 if kind == DOUBLE else 16, keep=False)
        if kind == RECORD:
            return self._record(wanted, depth)
        if kind in LISTS:
            return self._list(wanted, depth, keep=keep)
        if kind == MAP:
            return self._map(depth)
        raise ValueError("a record has a field of an unknown kind")

    def _list(self, wanted: Wanted | None, depth: int, *, keep: bool) -> list[Any]:
        head = self._byte()
        values = []
        for _ in range(head >> 4 if head >> 4 < 15 else self._length()):
            value = self._element(head & 15, wanted, depth, keep=keep)
            if keep:
                values.append(value)
        return values

    def _map(self, depth: int) -> None:
        length = self._length()
        kinds = self._byte() if length else 0
        for _ in range(length):
            self._element(kinds >> 4, None, depth, keep=False)
            self._element(kinds & 15, None, depth, keep=False)

    def _element(self, kind: int, wanted: Wanted | None, depth: int, *, keep: bool) -> Any:
        kind = BYTE if kind in (TRUE, FALSE) else kind  # in a list the value of a truth is a byte
        return self._value(kind, wanted, depth + 1, keep=keep)

    def _byte(self) -> int:
        self.at += 1
        if self.at > len(self._data):
            raise ValueError("a record has no end")
        return self._data[self.at - 1]

    def _bytes(self, length: int, *, keep: bool) -> bytes:
        self.at += length
        if self.at > len(self._data):
            raise ValueError("a record has no end")
        return self._data[self.at - length : self.at] if keep else b""

    def _length(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a record has a number that is too long")
        return value | byte << shift

    def _integer(self) -> int:
        value = self._length()
        return value >> 1 ^ -(value & 1)
