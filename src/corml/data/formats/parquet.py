"""Parquet files: what a column grows to is known from the headers of its pages, before a value of it is read.

Pages say how many bytes they unpack to, and no decompressor exceeds that; the footer could say anything. Texts that are
stored once and used by many rows are counted apart: those of a dictionary once their column is read, those that
continue the text before them slice by slice.
"""

import mmap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corml._runtime import memory
from corml.data._options import Notes, Options
from corml.data.formats._files import File
from corml.data.formats._table import LOOK, Columns, Cut, Place, Table, cut_rows, plain_names
from corml.data.formats._thrift import Records, Wanted
from corml.errors import CormlError, DataError, ascii_line

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Parquet"]

NUMBER, VIEW = 8, 16  # bytes of a number in memory, and of the reference to a text
LEAST_ROW = 2 * NUMBER  # bytes of a user and an item, however well they are packed
TEXT, FIXED = 6, 7  # types: bytes of any length, and all of one length
DELTA_TEXT = 7  # encoding: each text as what it adds to the beginning of the one before
SLICE = 1 << 29  # bytes that a slice of such texts takes at most
DELTA_PAGE = 1 << 21  # bytes of a page of such texts; writers make them half as large

FOOTER: Wanted = {
    2: [{1: None, 2: None, 5: None}],  # schema elements: type, length, number of children
    4: [{1: [{3: {5: None, 7: None, 9: None, 11: None}}]}],  # row groups: column chunks: values, bytes, offsets
}
PAGE: Wanted = {2: None, 3: None, 5: {1: None, 2: None}, 7: {1: None}, 8: {1: None, 4: None}}
KINDS_OF_PAGES = ((5, 2), (7, None), (8, 4))  # data, dictionary, data: the field, and where its encoding is


@dataclass
class _Leaf:
    """Values of one type below a column, in all row groups."""

    column: int
    width: int
    nested: bool
    chunks: list[dict[int, int]]


@dataclass
class _Growth:
    """What the pages of a column grow to, and the largest of those whose texts continue each other."""

    size: int = 0
    delta: int = 0


class Parquet(Table):
    """Named columns of a file, read as they are needed and as far as they fit."""

    SUFFIXES: ClassVar[tuple[str, ...]] = ("parquet", "pq")

    def __init__(self, file: File, options: Options | None = None, notes: Notes | None = None) -> None:
        from corml._runtime.lazy_polars import polars as pl

        if not file.plain:
            file.require_whole()
        self.where, self.budget, self._file = file.where, file.budget, file
        with damage(self.where):
            self._own = list(pl.read_parquet_schema(file.scannable))
            self.rows = self.about_rows(file, Options())
            data = self._bytes()
            self._records, self._size = Records(data), len(data)
            self._leaves = _leaves(self._records, data, len(self._own))
        self.names = plain_names(self._own, self.where)
        self._known: dict[int, _Growth] = {}
        self.budget.check(LEAST_ROW * self.rows)

    @classmethod
    def starts(cls, start: bytes) -> bool:
        """Whether bytes begin a Parquet file."""
        return start.startswith(b"PAR1")

    @classmethod
    def about_rows(cls, file: File, options: Options) -> int:
        """How many rows the footer counts."""
        from corml._runtime.lazy_polars import polars as pl

        with damage(file.where):
            scan = pl.scan_parquet(file.scannable, glob=False, hive_partitioning=False)
            return int(scan.select(pl.len()).collect().item())

    def growth(self, columns: Sequence[int]) -> int:
        """Bytes in memory, without texts that a dictionary holds once."""
        return sum(self._growth(column).size for column in columns)

    def head(self, positions: Sequence[int]) -> "dict[int, pl.Series]":
        """The first rows of some columns, without those that are damaged or grow too much."""
        known: dict[int, pl.Series] = {}
        for at in positions:
            with suppress(CormlError):
                self.budget.check(self.growth([at]))
                known[at] = next(self._parts(at, 0, LOOK))
        return known

    def _slices(self, positions: Sequence[int], cut: Cut, skip: int) -> Iterator[Columns]:
        size = self.growth(positions)
        self.budget.check(size)
        if not cut.limited:
            self.budget.require(size)
        for first, rows in cut_rows(self.rows, cut, skip):
            series = {at: self._column(at, first, rows) for at in dict.fromkeys(positions)}
            yield Columns([series[at] for at in positions], "row", [Place(self.where, rows, first + 1)])

    def _column(self, at: int, first: int, rows: int) -> "pl.Series":
        from corml._runtime.lazy_polars import polars as pl

        parts, size = [], 0
        for part in self._parts(at, first, rows):
            size += int(part.estimated_size())
            self.budget.check(size)
            self.budget.require(size)
            parts.append(part)
        return pl.concat(parts) if len(parts) > 1 else parts[0]

    def _parts(self, column: int, first: int, rows: int) -> "Iterator[pl.Series]":
        """A column at once, or in slices where a text can be as long as a page."""
        delta, name = self._growth(column).delta, self._own[column]
        if delta * rows > SLICE and delta > DELTA_PAGE:
            raise DataError(
                f"{self.where} has a page of {memory.size(delta)} in column {ascii_line(name)}, whose texts continue "
                f"each other: write it again with pages of 1 MiB, or another encoding than DELTA_BYTE_ARRAY."
            )
        step, scan = max(SLICE // max(delta, 1), 1), self._scan().select(name)
        for start in range(first, first + max(rows, 1), step):
            with damage(self.where):
                part = scan.slice(start, min(step, first + rows - start)).collect().to_series()
            yield part

    def _scan(self) -> "pl.LazyFrame":
        from corml._runtime.lazy_polars import polars as pl

        return pl.scan_parquet(self._file.scannable, glob=False, hive_partitioning=False)

    def _bytes(self) -> bytes | mmap.mmap:
        if not self._file.in_slices:
            return self._file.data
        with self._file.disk.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def _growth(self, column: int) -> _Growth:
        if column not in self._known:
            growth = _Growth()
            with damage(self.where):
                for leaf in self._leaves:
                    for chunk in leaf.chunks if leaf.column == column else ():
                        _add_pages(growth, leaf, chunk, self._records, self._size)
            self._known[column] = growth
        return self._known[column]


def _leaves(records: Records, data: bytes | mmap.mmap, columns: int) -> list[_Leaf]:
    """What lies below each column, and the chunks of it."""
    footer = records.read(len(data) - 8 - int.from_bytes(data[-8:-4], "little"), FOOTER)
    leaves = list(_of_schema(footer.get(2, [])))
    if len({leaf.column for leaf in leaves}) > columns:
        raise ValueError("its columns are not those it names")
    for group in footer.get(4, []):
        chunks = group.get(1, [])
        if len(chunks) != len(leaves):
            raise ValueError("a row group has other columns")
        for leaf, chunk in zip(leaves, chunks, strict=True):
            leaf.chunks.append(chunk.get(3, {}))
    return leaves


def _of_schema(elements: Sequence[dict[int, int]]) -> Iterator[_Leaf]:
    """The leaves of a tree whose elements come one after the other, each before its children."""
    open_children = [elements[0].get(5, 0)] if elements else []
    column = -1
    for element in elements[1:]:
        while open_children and open_children[-1] < 1:
            open_children.pop()
        if not open_children:
            raise ValueError("its columns do not make a tree")
        open_children[-1] -= 1
        column += len(open_children) == 1
        if 1 in element:
            text = max(element.get(2, 0), 0) if element[1] == FIXED else 0
            width = VIEW + text if element[1] in (TEXT, FIXED) else NUMBER
            yield _Leaf(column, width, len(open_children) > 1, [])
        else:
            open_children.append(element.get(5, 0))


def _add_pages(growth: _Growth, leaf: _Leaf, chunk: dict[int, int], records: Records, size: int) -> None:
    """Count the pages of a column chunk, one after the other to its end."""
    at = chunk.get(11) or chunk.get(9, 0)  # a dictionary comes before the values
    if at > chunk.get(9, 0):
        raise ValueError("a dictionary lies behind its values")
    end, values = min(at + chunk.get(7, 0), size), 0
    while at < end:
        try:
            page = records.read(at, PAGE)
            at = records.at + _count(page, 3)
        except ValueError:
            if values < chunk.get(5, 0):
                raise
            break  # what follows the last page belongs to nothing
        unpacked = _count(page, 2)
        growth.size += unpacked
        for kind, encoding in KINDS_OF_PAGES:
            if kind in page:
                delta = unpacked if page[kind].get(encoding) == DELTA_TEXT else 0
                growth.delta = max(growth.delta, delta)
                growth.size += _count(page[kind], 1) * (leaf.width + (delta if leaf.nested else 0))
                values += _count(page[kind], 1) if encoding else 0


def _count(record: dict[int, Any], field: int) -> int:
    count = record.get(field, 0)
    if count < 0:
        raise ValueError("it counts below zero")
    return int(count)


@contextmanager
def damage(where: str) -> Iterator[None]:
    """Turn what a reader of Parquet says about a broken file into an error of ours."""
    from corml._runtime.lazy_polars import polars as pl

    try:
        yield
    except CormlError:
        raise
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as fault:  # it can panic
        reason = ascii_line(str(fault).partition("\n")[0], 200)
        raise DataError(f"{where} is not a readable Parquet file ({reason}): write it again.") from fault
