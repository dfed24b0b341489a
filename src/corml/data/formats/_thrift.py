"""Records in Thrift's compact form, in which Parquet describes its contents. Only the wanted fields are kept.

The bytes may be hostile: a record ends where they end, and has bounds in depth and in parts.
"""

import mmap
from collections.abc import Mapping
from typing import Any

# The numbers of the wanted fields, and what they hold: a number (None), a record, or a list of records.
Wanted = Mapping[int, Any]

DEPTH = 40
PARTS = 5_000_000  # enough for a hundred thousand column chunks
TRUE, FALSE, BYTE, INTEGERS, BINARY, LISTS, MAP, RECORD = 1, 2, 3, (4, 5, 6), 8, (9, 10), 11, 12
FIXED = {BYTE: 1, 7: 8, 13: 16}  # bytes of a byte, a double and a UUID


class Records:
    """Records one after the other in some bytes; anything else is a ValueError."""

    def __init__(self, data: bytes | mmap.mmap) -> None:
        self._data, self._parts, self.at = data, 0, 0

    def read(self, at: int, wanted: Wanted) -> dict[int, Any]:
        """The record at a position; afterwards `at` is the position after it."""
        if not 0 <= at < len(self._data):
            raise ValueError("a record lies outside of the file")
        self.at = at
        return self._record(wanted, 0)

    def _record(self, wanted: Wanted, depth: int) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            value = None if head & 15 in (TRUE, FALSE) else self._value(head & 15, wanted.get(number), depth + 1)
            if number in wanted:
                kind = int if wanted[number] is None else dict if isinstance(wanted[number], Mapping) else list
                if not isinstance(value, kind):
                    raise ValueError("a record has a field of another kind than it should have")
                fields[number] = value
        return fields

    def _value(self, kind: int, wanted: Any, depth: int) -> Any:
        """A number, a record or a list; None for anything else."""
        self._parts += 1
        if depth > DEPTH or self._parts > PARTS:
            raise ValueError("its records have too many parts")
        if kind in INTEGERS:
            return self._integer()
        if kind == RECORD:
            return self._record(wanted if isinstance(wanted, Mapping) else {}, depth)
        if kind in LISTS:
            return self._list(wanted, depth)
        if kind == MAP:
            length = self._length()
            kinds = self._byte() if length else 0
            for _ in range(length):
                self._skip(kinds >> 4, depth + 1)
                self._skip(kinds & 15, depth + 1)
        elif kind == BINARY:
            self._pass(self._length())
        elif kind in FIXED:
            self._pass(FIXED[kind])
        else:
            raise ValueError("a record has a field of an unknown kind")
        return None

    def _list(self, wanted: Any, depth: int) -> list[Any] | None:
        head = self._byte()
        length = head >> 4 if head >> 4 < 15 else self._length()
        if isinstance(wanted, list):
            if length and head & 15 != RECORD:
                raise ValueError("a record has a list of another kind than it should have")
            return [self._value(RECORD, wanted[0], depth + 1) for _ in range(length)]
        for _ in range(length):
            self._skip(head & 15, depth + 1)
        return None

    def _skip(self, kind: int, depth: int) -> None:
        self._value(BYTE if kind in (TRUE, FALSE) else kind, None, depth)  # in a list, a truth value is a byte

    def _byte(self) -> int:
        self._pass(1)
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
