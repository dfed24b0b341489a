"""Attributes of items: a frozen table of items × named columns.

A column has one kind. The row of an item that the table does not describe is empty.

    category   any number of labels of each item, such as genres        categories(name), values(name)
    number     such as a price                                          numbers(name), NaN where there is none
    time       such as the day from which an item is on sale            numbers(name), in seconds since 1970
    text       such as a title or a description                         texts(name)
"""

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime import html
from corml._runtime.values import no_such
from corml.data.ids import Ids
from corml.data.labels import Labels
from corml.data.titles import Titles
from corml.errors import DataError, UsageError, as_utf8, ascii_line, printable

if TYPE_CHECKING:
    import polars

Kind = Literal["category", "number", "time", "text"]
KINDS: tuple[Kind, ...] = ("category", "number", "time", "text")
SHOWN = 5  # rows that a notebook shows


@dataclass(frozen=True, eq=False)
class Categories:
    """Labels of items: an items × labels matrix of ones, the labels in ascending order."""

    labels: Labels
    matrix: csr_array
    kind: Kind = "category"

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def taken(self, rows: NDArray[np.int64]) -> Self:
        """The rows in this order; −1 is an empty one. Labels that no row has are forgotten."""
        chosen = _rows(self.matrix, rows)
        used = np.zeros(len(self.labels), dtype=bool)
        used[chosen.indices] = True
        columns = (np.cumsum(used) - 1)[chosen.indices].astype(np.int32)
        labels = self.labels.take(used)
        return type(self)(labels, _matrix(columns, chosen.indptr, len(labels)))

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which rows have a label."""
        return np.asarray(np.diff(self.matrix.indptr) > 0)

    def gathered(self, rows: NDArray[np.int64], count: int) -> Self:
        """Of `count` rows, each with all labels of those that are put there; −1 is put nowhere."""
        used = np.flatnonzero(rows >= 0)
        put = csr_array((np.ones(len(used), np.float32), (rows[used], used)), shape=(count, len(self)))
        sums = csr_array(put @ self.matrix)
        sums.sort_indices()
        return type(self)(self.labels, _matrix(sums.indices, sums.indptr, len(self.labels))).taken(np.arange(count))

    def shown(self, row: int) -> list[str] | None:
        """The labels of a row; None where there are none."""
        some = self.matrix.indices[self.matrix.indptr[row] : self.matrix.indptr[row + 1]]
        return self.labels[some].tolist() or None


@dataclass(frozen=True, eq=False)
class Numbers:
    """One number of each item, or time in seconds since 1970; NaN where there is none."""

    values: NDArray[np.float64]
    kind: Kind = "number"

    def __len__(self) -> int:
        return len(self.values)

    def taken(self, rows: NDArray[np.int64]) -> Self:
        """The rows in this order; −1 is an empty one."""
        return type(self)(np.append(self.values, np.nan)[rows], self.kind)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which rows have a number."""
        return ~np.isnan(self.values)

    def shown(self, row: int) -> float | datetime | None:
        """The number or time of a row; None where there is none."""
        value = float(self.values[row])
        if np.isnan(value):
            return None
        return value if self.kind == "number" else datetime.fromtimestamp(value, UTC).replace(tzinfo=None)


@dataclass(frozen=True, eq=False)
class Texts:
    """One text of each item; "" where there is none."""

    texts: Labels
    kind: Kind = "text"

    def __len__(self) -> int:
        return len(self.texts)

    def taken(self, rows: NDArray[np.int64]) -> Self:
        """The rows in this order; −1 is an empty one."""
        return type(self)(self.texts.take(rows))

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which rows have a text."""
        return self.texts.lengths > 0

    def shown(self, row: int) -> str | None:
        """The text of a row; None where there is none."""
        return self.texts[row] or None


Column = Categories | Numbers | Texts


@dataclass(frozen=True, eq=False)
class Attributes:
    """Items and their attributes, column by column; `title` is the column with their titles."""

    items: Ids
    columns: Mapping[str, Column] = field(default_factory=dict)
    title: str = ""

    def __post_init__(self) -> None:
        assert all(len(column) == len(self.items) for column in self.columns.values())
        assert not self.title or isinstance(self.columns[self.title], Texts)

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        listed = ", ".join(f"{printable(name)}: {column.kind}" for name, column in self.columns.items())
        return f"Attributes({len(self):,} items, {listed or 'no columns'})"

    def _repr_html_(self) -> str:
        facts = [[name, column.kind, self._summary(name)] for name, column in self.columns.items()]
        rows = [
            [self.items[row], *(_cell(column.shown(row)) for column in self.columns.values())]
            for row in range(min(SHOWN, len(self)))
        ]
        first = html.table(["item", *self.names], rows, caption="the first rows")
        return html.table([f"Attributes of {len(self):,} items", "kind", ""], facts) + first

    def _summary(self, name: str) -> str:
        column = self.columns[name]
        if isinstance(column, Categories):
            return f"{len(column.labels):,} values"
        if isinstance(column, Texts):
            return f"{np.count_nonzero(column.texts.lengths):,} texts"
        return f"{np.isfinite(column.values).sum():,} known"

    # --- reading -----------------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.columns)

    def name_of(self, given: str) -> str:
        """The column that is meant: of that name, else of that name but for capitals and a final s."""
        if given in self.columns:
            return given
        alike = [name for name in self.columns if _plain(name) == _plain(str(given))]
        if len(alike) == 1:
            return alike[0]
        if not self.columns:
            raise UsageError(
                f"There is no attribute {ascii_line(given)}: no table of items was given. "
                "Give one with items= (--items), or in Python with model.with_items(table)."
            )
        raise no_such("attribute", given, self.columns)

    def kind(self, name: str) -> Kind:
        """The kind of a column: category, number, time or text."""
        return self.columns[self.name_of(name)].kind

    def categories(self, name: str) -> csr_array:
        """Items × values: a one for each value that an item has."""
        return self._categories(name).matrix

    def values(self, name: str) -> tuple[str, ...]:
        """The distinct values of a column of categories, in the order of the columns of `categories`."""
        return tuple(self._categories(name).labels)

    def numbers(self, name: str) -> NDArray[np.float64]:
        """One number for each item, or time in seconds since 1970; NaN where there is none."""
        column = self.columns[self.name_of(name)]
        if not isinstance(column, Numbers):
            raise UsageError(f"The attribute {ascii_line(name)} is of kind {column.kind}: it holds no numbers.")
        return column.values

    def texts(self, name: str) -> tuple[str, ...]:
        """One text for each item; "" where there is none."""
        column = self.columns[self.name_of(name)]
        if not isinstance(column, Texts):
            raise UsageError(f"The attribute {ascii_line(name)} is of kind {column.kind}: it holds no text.")
        return tuple(column.texts)

    def _categories(self, name: str) -> Categories:
        column = self.columns[self.name_of(name)]
        if not isinstance(column, Categories):
            raise UsageError(
                f"The attribute {ascii_line(name)} is of kind {column.kind}, not of categories: "
                f"read the table with corml.load_items(…, kinds={{{ascii_line(name)}: 'category'}}) if it should be."
            )
        return column

    @property
    def titles(self) -> Mapping[str, str]:
        """What to call items, where the table says it."""
        if not self.title:
            return {}
        return Titles(self.items, cast(Texts, self.columns[self.title]).texts)

    # --- other rows --------------------------------------------------------------------------------------------------

    def on(self, items: Ids) -> Self:
        """The rows of these items, in their order; an item that the table does not have gets an empty row."""
        if items == self.items:
            return self
        rows = self.items.find(items)
        columns = {name: column.taken(rows) for name, column in self.columns.items()}
        return type(self)(items, columns, self.title)

    def extended(self, other: "Attributes") -> Self:
        """The columns of this table, with the items of another that it does not have."""
        new = [label for label in other.items if label not in self.items]
        items = Ids([*self.items, *new])
        mine, others = self.on(items), other.on(items)
        columns = {name: _filled(name, column, others.columns.get(name)) for name, column in mine.columns.items()}
        return type(self)(items, columns, self.title)

    @as_utf8()
    def to_frame(self) -> "polars.DataFrame":
        """A polars frame with one row per item; categories are lists."""
        from corml._runtime.lazy_polars import polars

        types: dict[str, Any] = {"category": polars.List(polars.String), "number": polars.Float64}
        types |= {"time": polars.Datetime("us"), "text": polars.String}
        columns = {"item": polars.Series("item", list(self.items), dtype=polars.String)}
        for name, column in self.columns.items():
            values = [column.shown(row) for row in range(len(self))]
            columns[name] = polars.Series(name, values, dtype=types[column.kind])
        return polars.DataFrame(columns)


def indicators(lists: Iterable[Iterable[str]]) -> Categories:
    """Categories from the labels of each item; each counts once."""
    number: dict[str, int] = {}
    entries, ends = array("i"), array("q", [0])
    for some in lists:
        entries.extend({number.setdefault(label, len(number)) for label in some})
        ends.append(len(entries))
    labels = sorted(number)
    place = np.empty(len(labels), dtype=np.int32)
    place[[number[label] for label in labels]] = np.arange(len(labels))
    matrix = _matrix(place[np.asarray(entries)], np.asarray(ends), len(labels))
    matrix.has_sorted_indices = False
    matrix.sort_indices()
    return Categories(Labels.of(labels), matrix)


def _filled(name: str, column: Column, other: Column | None) -> Column:
    """A column with what another one says where it says nothing itself."""
    if other is None:
        return column
    if isinstance(column, Categories) and isinstance(other, Categories):
        return indicators(column.shown(row) or other.shown(row) or () for row in range(len(column)))
    if isinstance(column, Texts) and isinstance(other, Texts):
        return Texts(Labels.of(mine or theirs for mine, theirs in zip(column.texts, other.texts, strict=True)))
    if isinstance(column, Numbers) and isinstance(other, Numbers) and column.kind == other.kind:
        return Numbers(np.where(np.isnan(column.values), other.values, column.values), column.kind)
    if not column.known.any():  # a column without a value has the kind of any other
        return other
    if not other.known.any():
        return column
    raise DataError(
        f"The attribute {ascii_line(name)} is of kind {column.kind} in one table of items and {other.kind} in another: "
        f"say which with corml.load_items(…, kinds={{{ascii_line(name)}: {ascii_line(column.kind)}}})."
    )


def _rows(matrix: csr_array, rows: NDArray[np.int64]) -> csr_array:
    """Rows of a matrix; −1 is an empty one, which is put at the end."""
    indptr = np.append(matrix.indptr, matrix.indptr[-1])
    return csr_array((matrix.data, matrix.indices, indptr), shape=(len(indptr) - 1, matrix.shape[1]))[rows]


def _matrix(indices: NDArray[Any], indptr: NDArray[Any], width: int) -> csr_array:
    ones = np.ones(len(indices), dtype=np.float32)
    matrix = csr_array((ones, indices.astype(np.int32), indptr.astype(np.int32)), shape=(len(indptr) - 1, width))
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


def _plain(name: str) -> str:
    return name.lower().replace(" ", "_").removesuffix("s")


def _cell(value: object) -> str:
    if value is None:
        return ""
    return ", ".join(value) if isinstance(value, list) else str(value)
