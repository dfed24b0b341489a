"""Records in Thrift's compact form, in which Parquet says what it holds. Only the fields that are wanted are kept.

The bytes may be anybody's: a record ends where they end, and has bounds in depth and in parts.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Union, overload

__all__ = ["Records", "Wanted", "Window"]

# The numbers of fields, and what they hold: a number, a record, or a list of records.
Kept = Union[None, "Wanted", list["Wanted"]]
Wanted = Mapping[int, Kept]

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

    def _record(self, wanted: Wanted, depth: int) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            if number in wanted:
                fields[number] = self._wanted(head & 15, wanted[number], depth + 1)
            else:
                self._skip(head & 15, depth + 1)
        return fields

    def _wanted(self, kind: int, what: Kept, depth: int) -> Any:
        """A field that is kept; if it is of another kind than it should be, this is no record of its format."""
        self._count(depth)
        if what is None and kind in INTEGERS:
            return self._integer()
        if isinstance(what, Mapping) and kind == RECORD:
            return self._record(what, depth)
        if isinstance(what, list) and kind in LISTS:
            inner, length = self._list_head()
            return [self._wanted(inner, what[0], depth + 1) for _ in range(length)]
        raise ValueError("a record has a field of another kind than it should have")

    def _skip(self, kind: int, depth: int) -> None:
        self._count(depth)
        if kind in (TRUE, FALSE):  # of a field; the kind is the value
            return
        if kind == BYTE:
            self._byte()
        elif kind in INTEGERS:
            self._integer()
        elif kind == BINARY:
            self._pass(self._length())
        elif kind in (DOUBLE, UUID):
            self._pass(8 if kind == DOUBLE else 16)
        elif kind == RECORD:
            self._record({}, depth)
        elif kind in LISTS:
            inner, length = self._list_head()
            self._skip_elements([inner], length, depth + 1)
        elif kind == MAP:
            length = self._length()
            kinds = self._byte() if length else 0
            self._skip_elements([kinds >> 4, kinds & 15], length, depth + 1)
        else:
            raise ValueError("a record has a field of an unknown kind")

    def _skip_elements(self, kinds: Sequence[int], length: int, depth: int) -> None:
        kinds = [BYTE if kind in (TRUE, FALSE) else kind for kind in kinds]  # in a list the value of a truth is a byte
        for _ in range(length):
            for kind in kinds:
                self._skip(kind, depth)

    def _list_head(self) -> tuple[int, int]:
        head = self._byte()
        return head & 15, head >> 4 if head >> 4 < 15 else self._length()

    def _count(self, depth: int) -> None:
        self._parts += 1
        if depth > DEPTH or self._parts > PARTS:
            raise ValueError("its records have too many parts")

    def _byte(self) -> int:
        self.at += 1
        if self.at > len(self._data):
            raise ValueError("a record has no end")
        return self._data[self.at - 1]

    def _pass(self, length: int) -> None:
        self.at += length
        if self.at > len(self._data):
            raise ValueError("a record has no end")

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
