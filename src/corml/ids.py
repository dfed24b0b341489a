"""Labels ↔ rows.

Labels are opaque text. "007", "7" and "7.0" are three different items, and "NA" is a fine name for one.
"""

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from corml.errors import DataError, UnknownIdError, UsageError, ascii_line

__all__ = ["LONGEST_ID", "Ids", "as_bytes", "canonical", "fault_of", "is_one_id", "labels_of", "numbered", "those_used"]

LONGEST_ID = 2048  # bytes of UTF-8

Rows = NDArray[np.integer[Any]]


def canonical(label: Hashable) -> str:
    """The one text form of a label, whatever type it arrived in: 7, np.int64(7) and "7" are one id."""
    return label if type(label) is str else str(label)


def is_one_id(value: object) -> bool:
    """Whether a value is a single id rather than several."""
    return isinstance(value, str | int | float | np.generic)


def labels_of(values: object, what: str) -> list[Hashable]:
    """Ids as a plain list: from one id, a list, an array or a column of a frame."""
    if is_one_id(values):
        return [values]
    if isinstance(values, Iterable) and not isinstance(values, bytes | Mapping):
        listed = values.tolist() if hasattr(values, "tolist") else list(values)
        if all(is_one_id(value) for value in listed):
            return listed
    raise UsageError(f"{what} takes item or user ids, one or a list of them; got {ascii_line(values)}.")


def fault_of(label: str) -> str | None:
    """Why a text cannot be an id, or None."""
    if not label or label.isspace():
        return "an empty id"
    if len(label) > LONGEST_ID or (len(label) * 4 > LONGEST_ID and len(label.encode("utf-8", "replace")) > LONGEST_ID):
        return f"an id longer than {LONGEST_ID} bytes"
    return None


class Ids:
    """Labels in a fixed order, and the way back from a label to its row."""

    def __init__(self, labels: Iterable[Hashable], *, kind: str = "item") -> None:
        values = [canonical(label) for label in labels]
        self.kind = kind
        self.labels: NDArray[np.object_] = np.empty(len(values), dtype=object)
        self.labels[:] = values
        self._row = {label: row for row, label in enumerate(values)}
        if len(self._row) != len(values):
            raise DataError(f"The {kind} ids are not unique: {len(values) - len(self._row)} occur twice.")

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[str]:
        return iter(self.labels.tolist())

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return list(self.labels[row])
        try:
            return str(self.labels[row])
        except IndexError:
            counted = f"{len(self):,} {self.kind}s, counted from 0"
            if isinstance(row, str):
                raise UsageError(f"There are {counted}; {ascii_line(row)} is an id, not a number.") from None
            raise IndexError(f"There are {counted}; there is no number {row}.") from None

    def __contains__(self, label: Hashable) -> bool:
        return canonical(label) in self._row

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Ids) and np.array_equal(self.labels, other.labels))

    def __hash__(self) -> int:
        return hash((len(self.labels), *self.labels[:3]))

    def __repr__(self) -> str:
        return f"Ids({len(self):,} {self.kind}s)"

    @property
    def fingerprint(self) -> str:
        """Hash of the labels in their order: what is numbered by rows means the same where it is equal."""
        return hashlib.sha256(as_bytes(self.labels)).hexdigest()

    def numbers(self, labels: Iterable[str]) -> list[int]:
        """Rows of labels that are text already, as a list: for a few of them faster than an array."""
        row = self._row
        return [row.get(label, -1) for label in labels]

    def find(self, labels: Iterable[Hashable]) -> NDArray[np.int64]:
        """Rows of the labels; −1 where there is none."""
        return np.fromiter((self._row.get(canonical(label), -1) for label in labels), dtype=np.int64)

    def rows(self, labels: Iterable[Hashable]) -> NDArray[np.int64]:
        """Rows of the labels; every one must be known."""
        labels = list(labels)
        rows = self.find(labels)
        if (rows < 0).any():
            missing = list(dict.fromkeys(canonical(labels[at]) for at in np.flatnonzero(rows < 0)))
            raise UnknownIdError(self.kind, missing, len(self))
        return rows


def numbered(labels: Sequence[Hashable] | NDArray[Any], kind: str) -> tuple[Ids, NDArray[np.int64]]:
    """Number labels in order of first appearance."""
    row: dict[str, int] = {}
    values = labels.tolist() if hasattr(labels, "tolist") else labels
    for position, value in enumerate(values, start=1):
        if value is None or value != value:  # NaN is the one thing that differs from itself
            raise DataError(f"{kind} number {position} is missing ({ascii_line(value)}): drop or fill that row.")
    codes = np.fromiter((row.setdefault(canonical(x), len(row)) for x in values), dtype=np.int64, count=len(labels))
    for label, first in row.items():
        fault = fault_of(label)
        if fault:
            position = int(np.argmax(codes == first))
            raise DataError(f"{kind} number {position + 1} is {fault} ({ascii_line(label)}): drop or fill that row.")
    return Ids(row, kind=kind), codes


def those_used(ids: Ids, rows: Rows) -> tuple[Ids, Rows]:
    """The ids that occur, and for each old row the new one (−1: none)."""
    used = np.zeros(len(ids), dtype=bool)
    used[rows] = True
    return Ids(ids.labels[used], kind=ids.kind), np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)


def as_bytes(labels: Iterable[str]) -> bytes:
    """Labels as bytes that no other labels have: their number, their lengths, themselves."""
    encoded = [label.encode("utf-8", "surrogatepass") for label in labels]
    return np.array([len(encoded), *map(len, encoded)], dtype="<i8").tobytes() + b"".join(encoded)
