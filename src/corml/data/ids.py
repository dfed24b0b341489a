"""Labels ↔ rows.

Labels are opaque text. "007", "7" and "7.0" are three different items, and "NA" is a fine name for one.
"""

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from corml.data.labels import AT_ONCE, Labels, are_few, concatenated, repeated
from corml.errors import DataError, UnknownIdError, UsageError, ascii_line

if TYPE_CHECKING:
    from corml.data.labels.numbering import Numbering

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
    """Labels in a fixed order, and the way back from a label to its row.

    Few labels are objects in a dictionary. Many are bytes, with a table in which they are found: a label costs itself
    and 16 bytes, where as objects it would cost about 130.
    """

    labels: Labels

    def __init__(self, labels: "Iterable[Hashable] | Labels | Ids", *, kind: str = "item") -> None:
        self._keep(_as_labels(labels), kind)
        twice = repeated(self.labels) if self._row is None else len(self) - len(self._row)
        if twice:
            raise DataError(f"The {kind} ids are not unique: {twice} occur twice.")

    @classmethod
    def _distinct(cls, labels: Labels, kind: str) -> Self:
        """Ids of labels that are known to be distinct, which need not be found out."""
        ids = cls.__new__(cls)
        ids._keep(labels, kind)
        return ids

    def _keep(self, labels: Labels, kind: str) -> None:
        self.kind, self.labels = kind, labels
        self._row = {label: row for row, label in enumerate(labels)} if labels.are_few else None

    def take(self, rows: "Rows | NDArray[np.bool_]") -> Self:
        """Some of them, in this order: by a mask, or by distinct rows."""
        return self._distinct(self.labels.take(rows), self.kind)

    def followed_by(self, more: "Iterable[Hashable] | Labels | Ids") -> Self:
        """These, then others; none may be there twice."""
        return type(self)(concatenated([self.labels, _as_labels(more)]), kind=self.kind)

    def without(self, others: "Ids") -> Self:
        """Those that are not among others."""
        new = others.find(self) < 0
        return self if new.all() else self.take(new)

    def union(self, *others: "Ids") -> Self:
        """These, then the new ones of each of the others."""
        ids = self
        for other in others:
            more = other.without(ids)
            ids = ids if not len(more) else self._distinct(concatenated([ids.labels, more.labels]), self.kind)
        return ids

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[str]:
        return iter(self.labels)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return list(self.labels[row])
        try:
            return self.labels[row]
        except IndexError:
            counted = f"{len(self):,} {self.kind}s, counted from 0"
            if isinstance(row, str):
                raise UsageError(f"There are {counted}; {ascii_line(row)} is an id, not a number.") from None
            raise IndexError(f"There are {counted}; there is no number {row}.") from None

    def __contains__(self, label: Hashable) -> bool:
        if self._row is not None:
            return canonical(label) in self._row
        return self.numbers([canonical(label)])[0] >= 0

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Ids) and self.labels == other.labels)

    def __hash__(self) -> int:
        return hash((len(self.labels), *self.labels[:3]))

    def __repr__(self) -> str:
        return f"Ids({len(self):,} {self.kind}s)"

    def __reduce__(self) -> tuple[Any, ...]:
        return self._distinct, (self.labels, self.kind)

    @property
    def fingerprint(self) -> str:
        """Hash of the labels in their order: what is numbered by rows means the same where it is equal."""
        digest = hashlib.sha256()
        self.labels.feed(digest)
        return digest.hexdigest()

    def numbers(self, labels: Iterable[str]) -> list[int]:
        """Rows of labels that are text already, as a list: for a few of them faster than an array."""
        row = self._row
        if row is None:
            return list(map(int, self._index.find(Labels.of(labels))))
        return [row.get(label, -1) for label in labels]

    def find(self, labels: "Iterable[Hashable] | Labels | Ids") -> NDArray[np.int64]:
        """Rows of the labels; −1 where there is none."""
        if isinstance(labels, Labels | Ids) and _as_labels(labels) is self.labels:
            return np.arange(len(self), dtype=np.int64)
        row = self._row
        if row is None:
            return self._index.find(_as_labels(labels))
        return np.fromiter((row.get(canonical(label), -1) for label in labels), dtype=np.int64)

    def rows(self, labels: "Iterable[Hashable] | Labels | Ids") -> NDArray[np.int64]:
        """Rows of the labels; every one must be known."""
        labels = labels if isinstance(labels, Labels | Ids) else list(labels)
        rows = self.find(labels)
        if (rows < 0).any():
            missing = list(dict.fromkeys(canonical(labels[at]) for at in np.flatnonzero(rows < 0).tolist()))
            raise UnknownIdError(self.kind, missing, len(self))
        return rows

    @cached_property
    def _index(self) -> "Numbering":
        from corml.data.labels.numbering import Numbering

        return Numbering(self.labels)


def _as_labels(labels: Iterable[Hashable] | Labels | Ids) -> Labels:
    if isinstance(labels, Labels):
        return labels
    return labels.labels if isinstance(labels, Ids) else Labels.of(map(canonical, labels))


def numbered(labels: Sequence[Hashable] | NDArray[Any], kind: str) -> tuple[Ids, NDArray[np.int64]]:
    """Number labels in order of first appearance."""
    if not isinstance(labels, list | tuple | np.ndarray):
        labels = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    ids, codes = (_numbered_few if are_few(len(labels)) else _numbered_many)(labels, kind)
    for first, label in enumerate(ids):
        fault = fault_of(label)
        if fault:
            position = int(np.argmax(codes == first))
            raise DataError(f"{kind} number {position + 1} is {fault} ({ascii_line(label)}): drop or fill that row.")
    return ids, codes


def _numbered_few(labels: Sequence[Hashable] | NDArray[Any], kind: str) -> tuple[Ids, NDArray[np.int64]]:
    row: dict[str, int] = {}
    values = _present(labels, 0, kind)
    codes = np.fromiter((row.setdefault(canonical(x), len(row)) for x in values), dtype=np.int64, count=len(labels))
    return Ids(row, kind=kind), codes


def _numbered_many(labels: Sequence[Hashable] | NDArray[Any], kind: str) -> tuple[Ids, NDArray[np.int64]]:
    from corml.data.labels.numbering import Numbering

    numbering, codes = Numbering(), np.empty(len(labels), dtype=np.int64)
    for at in range(0, len(labels), AT_ONCE):
        some = Labels.of(map(canonical, _present(labels[at : at + AT_ONCE], at, kind)))
        codes[at : at + len(some)] = numbering.add(some)
    return Ids._distinct(concatenated([numbering.labels]), kind), codes  # without the space reserved for more


def _present(labels: Sequence[Hashable] | NDArray[Any], before: int, kind: str) -> Sequence[Hashable]:
    """Labels as objects, if none of them is missing."""
    values: Sequence[Hashable] = labels.tolist() if hasattr(labels, "tolist") else labels
    for position, value in enumerate(values, start=before + 1):
        if is_missing(value):
            raise DataError(f"{kind} number {position} is missing ({ascii_line(value)}): drop or fill that row.")
    return values


def is_missing(value: object) -> bool:
    """Whether it is None, NaN, which alone differs from itself, or the NA of pandas, which does not say."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def those_used(ids: Ids, rows: Rows) -> tuple[Ids, Rows]:
    """The ids that occur, and for each old row the new one (−1: none)."""
    used = np.zeros(len(ids), dtype=bool)
    used[rows] = True
    if used.all():
        return ids, np.arange(len(ids), dtype=np.int32)
    return ids.take(used), np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)
