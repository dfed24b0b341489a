"""Tables in memory: data frames of any make."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from corml.data._options import Notes
from corml.data.formats._table import Columns, Cut, Place, Table, cut_rows, plain_names
from corml.data.ids import is_missing
from corml.errors import DataError, UsageError, ascii_line, quoted

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl


class FrameTable(Table):
    """Named columns in memory; `get` makes one of a position, a stretch of rows, and whether it is only looked at."""

    def __init__(
        self, names: Sequence[str], get: "Callable[[int, slice, bool], pl.Series]", where: str, rows: int = 0
    ) -> None:
        self.where, self.rows, self.names, self._get = where, rows, plain_names(names, where), get

    def _slices(self, positions: Sequence[int], cut: Cut, skip: int) -> Iterator[Columns]:
        for first, rows in cut_rows(self.rows, cut, skip):
            series = [self._get(at, slice(first, first + rows), cut.limited) for at in positions]
            yield Columns(series, "row", [Place(self.where, len(series[0]), first + 1)])


def from_frame(frame: object, notes: Notes) -> FrameTable:
    """Read a data frame: pandas, polars, pyarrow or whatever else narwhals understands."""
    import narwhals as nw

    try:
        wrapped = nw.from_native(frame, eager_only=True)  # type: ignore[call-overload]
        names = [str(name) for name in wrapped.columns]
    except TypeError as fault:
        kind = type(frame).__name__
        raise UsageError(
            f"Cannot load from a {kind}: give a file path, the name of a data set, or a data frame "
            "(pandas, polars, pyarrow; collect lazy ones first)."
        ) from fault
    except nw.exceptions.NarwhalsError as fault:
        reason = " ".join(str(fault).split())
        raise DataError(f"The frame cannot be used: {reason} Rename its columns.") from fault
    levels = getattr(getattr(frame, "index", None), "names", None) or ()
    lost = [str(name) for name in levels if name is not None and str(name) not in names]
    if lost:
        notes.warn(f"index ignored: {quoted(lost)}: only columns are read; frame.reset_index() makes it one")

    def get(at: int, rows: slice, look: bool) -> "pl.Series":
        return _series(wrapped[rows, at] if look else wrapped[:, at], names[at], None if look else notes)

    table = FrameTable(names, get, "The frame", len(wrapped))
    if lost:
        table.hint = f"Its index, {quoted(lost)}, is no column: give frame.reset_index()."
    return table


def column(values: Sequence[object]) -> "pl.Series":
    """Make a column of Python values: of their type if they have one, else of text."""
    from corml._runtime.lazy_polars import polars as pl

    kinds = {type(value) for value in values} - {type(None)}
    if len(kinds) == 1 and kinds <= {int, float, str, bytes, datetime, date, Decimal}:
        with suppress(OverflowError, TypeError, pl.exceptions.PolarsError):  # whole numbers above 2⁶³ become text
            return pl.Series(values)
    return pl.Series([None if value is None or value != value else str(value) for value in values], dtype=pl.String)


def _series(column: "nw.Series[Any]", name: str, notes: Notes | None) -> "pl.Series":
    """Make a polars column; where types are mixed, of text."""
    from corml._runtime.lazy_polars import polars as pl
    from corml.data.cleaning._columns import word

    try:
        return column.to_polars()
    except Exception:  # each frame library has its own complaint about columns of mixed type
        values = column.to_list()
    if any(isinstance(value, list | dict | set | tuple) for value in values):
        raise DataError(
            f"Column {ascii_line(name)} of the frame holds lists or records: one plain value per row is needed."
        )
    whole = [value for value in values if isinstance(value, float) and value.is_integer()]
    if whole and notes is not None:
        notes.warn(
            f"column {ascii_line(name)} holds text and decimal numbers, and whole ones are read without .0 "
            f"({whole[0]} as {word(whole[0])}; rows: {len(whole):,})"
        )
    return pl.Series([None if is_missing(value) else word(value) for value in values], dtype=pl.String)
