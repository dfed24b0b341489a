r"""Many texts as bytes in one array, without an object of Python for each; `numbering` finds them again.

A text costs its bytes and 8 for where it begins; as an object of Python in an array and a dictionary it costs about
160. Half of a character ("\ud800") is not UTF-8, but a text that Python can hold: it is kept as the three bytes that it
would have ("surrogatepass"). Importing this package imports no compiled code, and opening a file needs none.
"""

import codecs
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

__all__ = ["AT_ONCE", "Labels", "are_few", "concatenated", "of_series", "repeated"]

FEW = 1 << 16
SMALL = 1 << 22  # bytes of few texts: one odd character makes an object four times as large as its bytes
AT_ONCE = 1 << 16  # texts that are objects at the same time, where there are many
SOME = 1 << 12  # texts whose bytes are objects at the same time
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

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Labels":
        """Labels of texts of Python, of which only some need exist at the same time."""
        rest = iter(texts)
        parts = [_encoded(some) for some in iter(lambda: list(islice(rest, AT_ONCE)), [])]
        return parts[0] if len(parts) == 1 else concatenated(parts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[str]:
        if self.are_few:
            return iter(self._objects.tolist())
        return chain.from_iterable(some._decoded() for some in self.parts())

    @overload
    def __getitem__(self, row: int | np.integer[Any]) -> str: ...
    @overload
    def __getitem__(self, row: slice | Rows | NDArray[np.bool_] | list[int]) -> NDArray[np.object_]: ...
    def __getitem__(self, row: Any) -> Any:
        if self.are_few:
            return self._objects[row]
        begins, ends = self.starts[:-1][row], self.starts[1:][row]
        if np.ndim(begins) == 0:
            return self.data[begins:ends].tobytes().decode("utf-8", "surrogatepass")
        _, first, which = np.unique(begins + ends, return_index=True, return_inverse=True)  # one object for each text
        distinct = _copied(self.data, begins.ravel()[first], ends.ravel()[first])
        return _as_objects(distinct._decoded())[which].reshape(begins.shape)

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
        pairs = zip(self.parts(), other.parts(), strict=True)
        return all(np.array_equal(a.lengths, b.lengths) and np.array_equal(a._bytes, b._bytes) for a, b in pairs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Labels({len(self):,} texts, {self.size:,} bytes)"

    def __reduce__(self) -> tuple[Any, ...]:
        return Labels, self.packed()

    @cached_property
    def are_few(self) -> bool:
        """Whether they may be objects: few, and together small."""
        return are_few(len(self)) and self.size <= SMALL

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

    def parts(self, step: int | None = None) -> Iterator["Labels"]:
        """All of them, some at a time."""
        step = step or AT_ONCE
        return (self.part(at, min(at + step, len(self))) for at in range(0, len(self), step))

    def take(self, rows: Rows | NDArray[np.bool_]) -> "Labels":
        """Some of them, in this order: by a mask, or by numbers from 0, where −1 gives an empty text."""
        numbers = np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.int64, copy=False)
        return _copied(self.data, self.starts[np.maximum(numbers, 0)], self.starts[numbers + 1])

    def packed(self) -> tuple[Bytes, Starts]:
        """Bytes and starts where the first begins at 0, as a file has them."""
        return self._bytes, self.starts - self.starts[0] if self.starts[0] else self.starts

    def feed(self, digest: _Digest, rows: Rows | None = None) -> None:
        """Hash bytes that no other labels have: their number, their lengths, themselves; of `rows`, if some are given.

        Some are hashed at a time: as many bytes as all have need not exist once more.
        """
        count = len(self) if rows is None else len(rows)

        def some() -> Iterator[Labels]:
            if rows is None:
                return self.parts()
            return (self.take(rows[at : at + AT_ONCE]) for at in range(0, count, AT_ONCE))

        digest.update(np.array([count], dtype="<i8"))
        for part in some():
            digest.update(part.lengths.astype("<i8", copy=False))
        for part in some():
            digest.update(np.ascontiguousarray(part._bytes))

    def are_texts(self) -> bool:
        """Whether the bytes of each can be read as text; few are decoded at a time, as an object can be larger."""
        for some in self.parts():
            if ((self.data[some.starts[:-1][some.lengths > 0]] & 0xC0) == 0x80).any():
                return False  # one begins in the middle of a character
        decoder = codecs.getincrementaldecoder("utf-8")("surrogatepass")
        try:
            for at in range(0, self.size, DECODED):
                decoder.decode(self._bytes[at : at + DECODED].tobytes())
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
        return True

    def order(self) -> NDArray[np.int64]:
        """The numbers in the order of the texts, as Python sorts them: by code points, which is the order of bytes."""
        if self.are_few:
            return np.argsort(self._objects, kind="stable")
        from corml._runtime.lazy_polars import polars as pl

        texts = [pl.Series("text", some._slices(), dtype=pl.Binary) for some in self.parts(SOME)]
        every = pl.concat([pl.Series("text", [], dtype=pl.Binary), *texts])
        ordered = every.to_frame().with_row_index().sort("text", maintain_order=True)
        return np.asarray(ordered["index"].to_numpy(), dtype=np.int64)

    @cached_property
    def _objects(self) -> NDArray[np.object_]:
        return _as_objects(self._decoded())

    @property
    def _bytes(self) -> Bytes:
        return self.data[self.starts[0] : self.starts[-1]]

    def _slices(self) -> list[bytes]:
        whole, ends = self._bytes.tobytes(), (self.starts - self.starts[0]).tolist()
        return [whole[a:b] for a, b in pairwise(ends)]

    def _decoded(self) -> list[str]:
        whole = self._bytes.tobytes()
        if whole.isascii():
            text, ends = whole.decode("ascii"), (self.starts - self.starts[0]).tolist()
            return [text[a:b] for a, b in pairwise(ends)]
        return [some.decode("utf-8", "surrogatepass") for some in self._slices()]


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
    lengths = np.concatenate([np.zeros(1, dtype=np.int64), *(part.lengths for part in parts)])
    return Labels(np.concatenate([np.zeros(0, dtype=np.uint8), *(part._bytes for part in parts)]), np.cumsum(lengths))


def repeated(labels: Labels) -> int:
    """How many texts occur earlier in the labels, found without compiled code.

    Hashes of Python are sorted, and only texts whose hashes are equal are compared.
    """
    hashes = (hash(text) for some in labels.parts(SOME) for text in some._slices())
    hashed = np.fromiter(hashes, dtype=np.int64, count=len(labels))
    ordered = np.sort(hashed)
    if (ordered[1:] != ordered[:-1]).all():
        return 0
    order = np.argsort(hashed, kind="stable")
    alike = np.flatnonzero(np.diff(hashed[order]) == 0)
    count, seen = 0, set[str]()
    for at, before in zip(alike.tolist(), [-2, *alike.tolist()], strict=False):
        if at != before + 1:
            seen = {labels[int(order[at])]}
        text = labels[int(order[at + 1])]
        count += text in seen
        seen.add(text)
    return count


def _copied(data: Bytes, begins: Starts, ends: Starts) -> Labels:
    """The texts between these bytes, one after the other."""
    starts = np.zeros(len(begins) + 1, dtype=np.int64)
    np.cumsum(ends - begins, out=starts[1:])
    copied = np.empty(int(starts[-1]), dtype=np.uint8)
    if are_few(len(begins)):
        for begin, end, (first, last) in zip(begins.tolist(), ends.tolist(), pairwise(starts.tolist()), strict=True):
            copied[first:last] = data[begin:end]
        return Labels(copied, starts)
    from corml.data.labels.kernels import copy

    copy(data, begins, starts, copied)
    return Labels(copied, starts)


def _encoded(texts: list[str]) -> Labels:
    joined, lengths = "".join(texts), map(len, texts)
    if joined.isascii():
        data = joined.encode()
    else:
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        data, lengths = b"".join(encoded), map(len, encoded)
    starts = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(lengths, dtype=np.int64, count=len(texts)), out=starts[1:])
    return Labels(np.frombuffer(bytearray(data), dtype=np.uint8), starts)  # writable: see `numbering`


def _as_objects(texts: list[str]) -> NDArray[np.object_]:
    objects = np.empty(len(texts), dtype=object)
    objects[:] = texts
    return objects
