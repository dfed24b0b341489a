r"""Texts one after the other in one array of bytes.

A text costs its bytes and 8 for where it begins; as an object of Python in an array and a dictionary it costs about
160. Half of a character ("\ud800") is no UTF-8, but a text that Python can hold: it is kept as the three bytes that it
would have ("surrogatepass").
"""

from collections.abc import Iterable, Iterator
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

__all__ = ["AT_ONCE", "Bytes", "Labels", "Rows", "Starts", "are_few", "concatenated", "of_series"]

FEW = 1 << 16
SMALL = 1 << 22  # bytes of few texts: one odd character makes an object four times as large as its bytes
ONE_BY_ONE = 256  # texts of which it does not matter whether one is there twice
AT_ONCE = 1 << 16  # texts that are objects at the same time, where there are many
DECODED = 1 << 22  # bytes that are read as text together

Bytes = NDArray[np.uint8]
Starts = NDArray[np.int64]
Rows = NDArray[np.integer[Any]]


def are_few(count: int) -> bool:
    """Whether so many texts may be objects, and a dictionary of them, which are faster and take more memory."""
    return count < FEW


class _Digest(Protocol):
    def update(self, data: Any, /) -> None: ...


class Labels:
    """Texts in an order: number i is the bytes from `starts[i]` to `starts[i + 1]` of `data`.

    They are read like an array of texts: one by its number, some by a slice, a mask or an array of numbers, all by
    iteration. `part` and `take` give labels again, without an object for each.
    """

    def __init__(self, data: Bytes, starts: Starts) -> None:
        self.data, self.starts = data, starts
        self._kept: NDArray[np.object_] | None = None  # as objects, of few

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Labels":
        """Labels of texts of Python, of which only some need exist at the same time."""
        rest = iter(texts)
        first = list(islice(rest, AT_ONCE))
        labels = _encoded(first)
        if len(first) < AT_ONCE:
            labels._kept = _as_objects(first) if are_few(len(first)) else None
            return labels
        parts = [labels]
        while some := list(islice(rest, AT_ONCE)):
            parts.append(_encoded(some))
        return concatenated(parts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[str]:
        if self.are_few:
            return iter(self._objects().tolist())
        return chain.from_iterable(some._decoded() for some in self.parts())

    @overload
    def __getitem__(self, row: int | np.integer[Any]) -> str: ...
    @overload
    def __getitem__(self, row: slice | Rows | NDArray[np.bool_] | list[int]) -> NDArray[np.object_]: ...
    def __getitem__(self, row: Any) -> Any:
        if self._kept is not None:
            return self._kept[row]
        if self.are_few:
            return self._objects()[row]
        if isinstance(row, slice):
            first, last, step = row.indices(len(self))
            if step == 1:
                return _as_objects(self.part(first, max(first, last))._decoded())
            return self[np.arange(first, last, step)]
        if np.ndim(row) == 0 and not isinstance(row, bool | np.bool_):
            try:
                at = range(len(self))[row]
            except TypeError:
                raise IndexError(f"Labels are read by whole numbers, not by {type(row).__name__}.") from None
            return self._bytes(at, at + 1).decode("utf-8", "surrogatepass")
        return self._texts_of(np.asarray(row))

    def _texts_of(self, rows: NDArray[Any]) -> NDArray[np.object_]:
        """Texts by numbers of any shape, or by a mask; of very many, one that is there twice is the same object."""
        if rows.dtype == bool:
            rows = np.flatnonzero(self._checked(rows))
        if rows.size <= ONE_BY_ONE:
            return _as_objects(self.take(self._checked(rows).ravel())._decoded()).reshape(rows.shape)
        distinct, which = np.unique(self._checked(rows), return_inverse=True)
        texts = _as_objects(self.take(distinct)._decoded())
        return texts[which].reshape(rows.shape)

    def _checked(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Numbers counted from the beginning, or the mask, if there are such."""
        if rows.dtype == bool:
            if rows.shape != (len(self),):
                raise IndexError(f"A mask of shape {rows.shape} does not fit {len(self):,} labels.")
            return rows
        if rows.size and not np.issubdtype(rows.dtype, np.integer):
            raise IndexError(f"Labels are read by whole numbers or a mask, not by {rows.dtype}.")
        rows = rows.astype(np.int64, copy=False)
        if rows.size and not -len(self) <= rows.min() <= rows.max() < len(self):
            raise IndexError(f"There are {len(self):,} labels, counted from 0.")
        return np.where(rows < 0, rows + len(self), rows) if rows.size and rows.min() < 0 else rows

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """As a column of texts for Polars, PyArrow and others that speak Arrow."""
        from corml._runtime.lazy_polars import polars

        return polars.Series(self.tolist(), dtype=polars.String).__arrow_c_stream__(requested_schema)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self[:], dtype=object if dtype is None else dtype, copy=bool(copy) or None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Labels):
            return NotImplemented
        if self is other or (self.data is other.data and self.starts is other.starts):
            return True
        if len(self) != len(other) or self.size != other.size:
            return False
        ours, theirs = self.parts(), other.parts()
        return all(
            np.array_equal(a.lengths, b.lengths) and a._bytes(0, len(a)) == b._bytes(0, len(b))
            for a, b in zip(ours, theirs, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Labels({len(self):,} texts, {self.size:,} bytes)"

    def __reduce__(self) -> tuple[Any, ...]:
        return Labels, self.packed()

    @property
    def are_few(self) -> bool:
        """Whether they may be objects: few, and together small."""
        return self._kept is not None or (are_few(len(self)) and self.size <= SMALL)

    @property
    def size(self) -> int:
        """Bytes of all texts."""
        return int(self.starts[-1] - self.starts[0])

    @property
    def lengths(self) -> Starts:
        """Bytes of each."""
        return np.diff(self.starts)

    def tolist(self) -> list[str]:
        """All of them as objects."""
        return list(self)

    def part(self, first: int, last: int) -> "Labels":
        """Those from one number to before another; the bytes are not copied."""
        return Labels(self.data, self.starts[first : last + 1])

    def parts(self) -> Iterator["Labels"]:
        """All of them, some at a time."""
        return (self.part(at, min(at + AT_ONCE, len(self))) for at in range(0, len(self), AT_ONCE))

    def take(self, rows: Rows | NDArray[np.bool_]) -> "Labels":
        """Some of them, in this order: by numbers from 0, or by a mask."""
        if self._kept is not None:
            return Labels.of(self._kept[rows].tolist())
        from corml.data.labels.copying import taken

        numbers = np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.int64, copy=False)
        return Labels(*taken(self.data, self.starts, numbers))

    def taken(self, rows: Rows) -> "Labels":
        """Some of them, in this order; −1 is an empty text."""
        if self.are_few:
            objects = self._objects()
            return Labels.of("" if row < 0 else objects[row] for row in rows.tolist())
        with_empty = concatenated([self, Labels.of([""])])
        return with_empty.take(np.where(rows < 0, len(self), rows))

    def packed(self) -> tuple[Bytes, Starts]:
        """Bytes and starts where the first begins at 0, as a file has them."""
        first = int(self.starts[0])
        starts = self.starts if not first else self.starts - first
        return self.data[first : first + self.size], starts

    def feed(self, digest: _Digest, rows: Rows | None = None) -> None:
        """Hash bytes that no other labels have: their number, their lengths, themselves; of `rows`, if some are given.

        Some are hashed at a time: as many bytes as all have need not exist once more.
        """
        digest.update(np.array([len(self) if rows is None else len(rows)], dtype="<i8"))
        for some in self._some(rows):
            digest.update(some.lengths.astype("<i8", copy=False))
        for some in self._some(rows):
            digest.update(np.ascontiguousarray(some.packed()[0]))

    def _some(self, rows: Rows | None) -> Iterator["Labels"]:
        if rows is None:
            return self.parts()
        return (self.take(rows[at : at + AT_ONCE]) for at in range(0, len(rows), AT_ONCE))

    def are_texts(self) -> bool:
        """Whether the bytes of each can be read as text."""
        for some in self.parts():
            begins = self.data[some.starts[:-1][some.lengths > 0]]
            if _in_the_middle(begins).any():
                return False
        return _is_text(self.packed()[0])

    def order(self) -> NDArray[np.int64]:
        """The numbers in the order of the texts, as Python sorts them: by code points, which is the order of bytes."""
        if self.are_few:
            return np.argsort(self._objects(), kind="stable")
        from corml.data.labels.sorting import in_order

        return in_order(self.data, self.starts)

    def _objects(self) -> NDArray[np.object_]:
        if self._kept is None:
            self._kept = _as_objects(self._decoded())
        return self._kept

    def _bytes(self, first: int, last: int) -> bytes:
        return self.data[self.starts[first] : self.starts[last]].tobytes()

    def _decoded(self) -> list[str]:
        whole, ends = self._bytes(0, len(self)), (self.starts - self.starts[0]).tolist()
        if whole.isascii():
            text = whole.decode("ascii")
            return [text[a:b] for a, b in pairwise(ends)]
        return [whole[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(ends)]


def _is_text(data: Bytes) -> bool:
    """Whether bytes are UTF-8; few are decoded at a time, as an object can be four times as large."""
    at = 0
    while at < len(data):
        end = min(at + DECODED, len(data))
        if end < len(data):  # a character has three bytes at most after its first
            end -= int(np.argmin(_in_the_middle(data[end : end - 4 : -1])))
        try:
            data[at:end].tobytes().decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return False
        at = end
    return True


def _in_the_middle(data: Bytes) -> NDArray[np.bool_]:
    """Of each byte, whether a character goes on there."""
    middle: NDArray[np.bool_] = (data & 0xC0) == 0x80
    return middle


def of_series(series: "pl.Series") -> Labels:
    """The labels of a column of text without nulls."""
    starts = np.zeros(len(series) + 1, dtype=np.int64)
    np.cumsum(series.str.len_bytes().to_numpy(), out=starts[1:])
    data = np.empty(int(starts[-1]), dtype=np.uint8)
    for at in range(0, len(series), AT_ONCE):
        joined = str(series.slice(at, AT_ONCE).str.join("").item()).encode()
        data[starts[at] : starts[at] + len(joined)] = np.frombuffer(joined, dtype=np.uint8)
    return Labels(data, starts)


def concatenated(parts: list[Labels]) -> Labels:
    """The labels of several, one after the other."""
    data = np.empty(sum(part.size for part in parts), dtype=np.uint8)
    starts = np.zeros(sum(map(len, parts)) + 1, dtype=np.int64)
    at = end = 0
    for part in parts:
        data[end : end + part.size] = part.packed()[0]
        np.add(part.starts[1:], end - part.starts[0], out=starts[at + 1 : at + 1 + len(part)])
        at, end = at + len(part), end + part.size
    return Labels(data, starts)


def _encoded(texts: list[str]) -> Labels:
    joined, lengths = "".join(texts), map(len, texts)
    if joined.isascii():
        data = joined.encode()
    else:
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        data, lengths = b"".join(encoded), map(len, encoded)
    starts = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(lengths, dtype=np.int64, count=len(texts)), out=starts[1:])
    return Labels(_writable(data), starts)


def _writable(data: bytes) -> Bytes:
    """For an array that must not be written to, Numba compiles everything once more."""
    return np.frombuffer(bytearray(data), dtype=np.uint8)


def _as_objects(texts: list[str]) -> NDArray[np.object_]:
    objects = np.empty(len(texts), dtype=object)
    objects[:] = texts
    return objects
