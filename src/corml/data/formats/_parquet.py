"""Parquet files: what a column grows to is known from the records of its pages, before a value of it is read.

Pages say how many bytes they unpack to, and no unpacker goes beyond; the footer could say anything. What their values
refer to instead of holding it is counted apart: a text that a dictionary has once, when its column is there; a text
that goes on from the one before, slice by slice.
"""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from corml._runtime import memory
from corml.data.cleaning._columns import LOOK, Columns
from corml.data.formats._expansion import Expansion
from corml.data.formats._frames import plain_names
from corml.data.formats._packed import Content
from corml.data.formats._thrift import Records, Wanted, Window
from corml.errors import CormlError, DataError, ascii_line

if TYPE_CHECKING:
    import polars as pl

__all__ = ["LEAST_ROW", "Pages", "ParquetTable", "bytes_of", "damage"]

NUMBER, VIEW = 8, 16  # bytes of a number in memory, and of where a text is
LEAST_ROW = 2 * NUMBER  # bytes of a user and an item, however well they are packed
TEXT, FIXED = 6, 7  # types: bytes of any length, and all of one length
DELTA_TEXT = 7  # encoding: each text as what it adds to the beginning of the one before
SLICE = 1 << 29  # bytes that a slice of such texts takes at most
DELTA_PAGE = 1 << 21  # bytes of a page of such texts; writers make them half as large

FOOTER: Wanted = {
    2: [{1: None, 2: None, 5: None}],  # elements: their type, length and number of children
    4: [{1: [{3: {5: None, 7: None, 9: None, 11: None}}]}],  # groups of rows: pieces of columns: values, bytes, places
}
PAGE: Wanted = {2: None, 3: None, 5: {1: None, 2: None}, 7: {1: None}, 8: {1: None, 4: None}}
KINDS_OF_PAGES = ((5, 2), (7, None), (8, 4))  # values, a dictionary, values: the field, and where its encoding is


@dataclass
class _Leaf:
    """Values of one type below a column, in all groups of rows."""

    column: int
    width: int
    nested: bool
    pieces: list[dict[int, int]]


@dataclass
class _Growth:
    """What the pages of a column grow to, and the largest of those whose texts go on from each other."""

    size: int = 0
    delta: int = 0


class Pages:
    """What the columns of a file grow to, and the values of them, read no faster than they may grow."""

    def __init__(self, data: bytes | Window, names: Sequence[str], where: str) -> None:
        self._records, self._size, self._names, self._where = Records(data), len(data), names, where
        with damage(where):
            self._leaves = _leaves(self._records, data, len(names))
        self._known: dict[int, _Growth] = {}

    def growth(self, columns: Sequence[int]) -> int:
        """Bytes in memory, beside those of texts that a dictionary has once."""
        return sum(self._of(column).size for column in columns)

    def parts(self, scan: "pl.LazyFrame", column: int, rows: int) -> "Iterator[pl.Series]":
        """A column at once, or in slices where a text can be as long as a page."""
        delta, name = self._of(column).delta, self._names[column]
        if delta * rows > SLICE and delta > DELTA_PAGE:
            raise DataError(
                f"{self._where} has a page of {memory.size(delta)} in column {ascii_line(name)}, whose texts go on "
                f"from each other: write it again with pages of 1 MiB, or another encoding than DELTA_BYTE_ARRAY."
            )
        step, scan = max(SLICE // max(delta, 1), 1), scan.select(name)
        for first in range(0, max(rows, 1), step):
            with damage(self._where):
                part = (scan.slice(first, step) if step < rows else scan).collect().to_series()
            yield part

    def head(self, scan: "pl.LazyFrame", columns: Sequence[int], limit: Expansion) -> "dict[int, pl.Series]":
        """The first rows of some columns, without those that are damaged or grow too much: nobody asked for them."""
        known: dict[int, pl.Series] = {}
        for at in columns:
            with suppress(CormlError):
                limit.check(self.growth([at]))
                known[at] = next(self.parts(scan.head(LOOK), at, LOOK))
        return known

    def _of(self, column: int) -> _Growth:
        if column not in self._known:
            growth = _Growth()
            with damage(self._where):
                for leaf in self._leaves:
                    for piece in leaf.pieces if leaf.column == column else ():
                        _add_pages(growth, leaf, piece, self._records, self._size)
            self._known[column] = growth
        return self._known[column]


class ParquetTable:
    """Named columns of a file, read as they are needed and as far as they fit."""

    named = True

    def __init__(self, content: Content, *, allow_expansion: bool | None = False) -> None:
        from corml._runtime.lazy_polars import polars as pl

        self.where, self._data = content.where, content.data
        self._limit = content.expansion(allowed=allow_expansion)
        with damage(self.where):
            own = list(pl.read_parquet_schema(io.BytesIO(self._data)))
            self.rows = int(pl.scan_parquet(io.BytesIO(self._data)).select(pl.len()).collect().item())
        self._pages = Pages(self._data, own, self.where)
        self.names = plain_names(own, self.where)
        self._limit.check(LEAST_ROW * self.rows)

    def extra(self, columns: int) -> int:
        """Nothing: columns come as they are."""
        return 0

    def read(self, positions: Sequence[int]) -> Columns:
        """Read some columns, if together they do not grow too much."""
        from corml._runtime.lazy_polars import polars as pl

        self._require(self._pages.growth(positions))
        series, size = [], 0
        for at in positions:
            parts = []
            for part in self._pages.parts(pl.scan_parquet(io.BytesIO(self._data)), at, self.rows):
                size += bytes_of(part)
                self._require(size)  # it is copied once more in the end
                parts.append(part)
            series.append(pl.concat(parts) if len(parts) > 1 else parts[0])
        return Columns(series, "row")

    def head(self, positions: Sequence[int]) -> "dict[int, pl.Series]":
        """The first rows of some columns."""
        from corml._runtime.lazy_polars import polars as pl

        return self._pages.head(pl.scan_parquet(io.BytesIO(self._data)), positions, self._limit)

    def _require(self, size: int) -> None:
        self._limit.check(size)
        memory.require(size, what=f"Reading {self.where}", instead="read it in parts, or add memory.")


def bytes_of(values: "pl.Series") -> int:
    """Bytes of a column, each text with all its own, wherever they are: texts of one category are many once written."""
    from corml._runtime.lazy_polars import polars as pl

    kind = values.dtype
    if kind in (pl.Categorical, pl.Enum):
        return int(values.estimated_size()) + int(values.cat.len_bytes().cast(pl.UInt64).sum())
    if kind in (pl.List, pl.Array):
        return int(values.estimated_size()) + bytes_of(values.drop_nulls().explode())
    if kind == pl.Struct:
        return sum(map(bytes_of, values.struct.unnest().iter_columns()))
    return int(values.estimated_size())


# --- what a file says of itself --------------------------------------------------------------------------------------


def _leaves(records: Records, data: bytes | Window, columns: int) -> list[_Leaf]:
    """What lies below each column, and the pieces of it."""
    footer = records.read(len(data) - 8 - int.from_bytes(data[-8:-4], "little"), FOOTER)
    leaves = list(_of_schema(footer.get(2, [])))
    if len({leaf.column for leaf in leaves}) > columns:
        raise ValueError("its columns are not those it names")
    for group in footer.get(4, []):
        pieces = group.get(1, [])
        if len(pieces) != len(leaves):
            raise ValueError("a group of its rows has other columns")
        for leaf, piece in zip(leaves, pieces, strict=True):
            leaf.pieces.append(piece.get(3, {}))
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
            yield _Leaf(column, _width(element), len(open_children) > 1, [])
        else:
            open_children.append(element.get(5, 0))


def _width(element: dict[int, int]) -> int:
    """Bytes of a value in memory, beside those of a text."""
    if element[1] == FIXED:
        return VIEW + max(element.get(2, 0), 0)
    return VIEW if element[1] == TEXT else NUMBER


def _add_pages(growth: _Growth, leaf: _Leaf, piece: dict[int, int], records: Records, size: int) -> None:
    """Count the pages of a piece of a column, one after the other to its end."""
    at = piece.get(11) or piece.get(9, 0)  # a dictionary comes before the values
    if at > piece.get(9, 0):
        raise ValueError("a dictionary lies behind its values")
    end, values = min(at + piece.get(7, 0), size), 0
    while at < end:
        try:
            page = records.read(at, PAGE)
            at = records.at + _count(page, 3)
        except ValueError:
            if values < piece.get(5, 0):
                raise
            break  # what follows the last page is nobody's
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
    """Turn what a reader of Parquet says about a broken file into a sentence."""
    from corml._runtime.lazy_polars import polars as pl

    try:
        yield
    except CormlError:
        raise
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as fault:  # it can panic
        reason = ascii_line(str(fault).partition("\n")[0], 200)
        raise DataError(f"{where} is not a readable Parquet file ({reason}): write it again.") from fault
