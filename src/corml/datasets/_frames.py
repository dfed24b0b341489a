"""Tables in memory: data frames of any make, and known files in layouts of their own.

Of those, «adjacency» lines hold a user and all their items; «pairs» lines a user, an item and more. Their rows come out
sorted by user and item, as numbers, whatever the pieces' order: a split by seed must not depend on how files are cut.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from corml.datasets._bytes import as_text, unix_lines
from corml.datasets._columns import Columns
from corml.datasets._packed import Content
from corml.datasets._sniff import bare, listed
from corml.errors import DataError, UsageError, ascii_line
from corml.ids import is_missing

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

__all__ = ["FrameTable", "column", "from_frame", "from_pieces", "plain_names"]


class FrameTable:
    """Named columns in memory."""

    named = True

    def __init__(self, names: Sequence[str], get: "Callable[[int], pl.Series]", where: str, rows: int = 0) -> None:
        self.where = where
        self.rows = rows
        self.names = plain_names(names, where)
        self._get = get

    def extra(self, columns: int) -> int:
        """Nothing: columns come as they are."""
        return 0

    def read(self, positions: Sequence[int]) -> Columns:
        """Hand out some columns."""
        return Columns([self._get(at) for at in positions], "row")


def plain_names(names: Sequence[str], where: str) -> list[str]:
    """Column names without what surrounds them; no two may be the same then."""
    plain = [bare(name) for name in names]
    if len(set(plain)) < len(plain):
        raise DataError(f"{where} has two columns of one name; its columns are {listed(plain)}: rename one.")
    return plain


def from_frame(frame: Any) -> FrameTable:
    """Read a data frame: pandas, polars, pyarrow or whatever else narwhals understands."""
    import narwhals as nw

    try:
        wrapped = nw.from_native(frame, eager_only=True)
        names = [str(name) for name in wrapped.columns]
    except TypeError as fault:
        kind = type(frame).__name__
        raise UsageError(
            f"Cannot load from a {kind}: give a file path, the name of a data set, or a data frame "
            "(pandas, polars, pyarrow; collect lazy ones first)."
        ) from fault
    except nw.exceptions.NarwhalsError as fault:
        said = " ".join(str(fault).split())
        raise DataError(f"The frame cannot be used: {said} Rename its columns.") from fault
    return FrameTable(names, lambda at: _series(wrapped[:, at], names[at]), "The frame", len(wrapped))


def column(values: Sequence[Any]) -> "pl.Series":
    """Make a column of Python values: of their type if they have one, else of text."""
    from corml.lazy_polars import polars as pl

    kinds = {type(value) for value in values} - {type(None)}
    if len(kinds) == 1 and kinds <= {int, float, str, bytes, datetime, date, Decimal}:
        with suppress(OverflowError, TypeError, pl.exceptions.PolarsError):  # whole numbers above 2⁶³ become text
            return pl.Series(values)
    return pl.Series([None if value is None or value != value else str(value) for value in values], dtype=pl.String)


def _series(column: "nw.Series[Any]", name: str) -> "pl.Series":
    """Make a polars column; where types are mixed, of text."""
    from corml.lazy_polars import polars as pl

    try:
        return column.to_polars()
    except Exception:  # each frame library has its own complaint about columns of mixed type
        values = column.to_list()
    if any(isinstance(value, list | dict | set | tuple) for value in values):
        raise DataError(
            f"Column {ascii_line(name)} of the frame holds lists or records: one plain value per row is needed."
        )
    return pl.Series([None if is_missing(value) else str(value) for value in values], dtype=pl.String)


# --- pieces ----------------------------------------------------------------------------------------------------------


def from_pieces(pieces: Sequence[Content], reader: str) -> FrameTable:
    """Join the pieces of a set into one table of pairs."""
    from corml.lazy_polars import polars as pl

    frame = pl.concat([_pairs(piece, reader) for piece in pieces]).unique().sort("user", "item")
    return FrameTable(frame.columns, frame.to_series, pieces[0].where, len(frame))


def _pairs(piece: Content, reader: str) -> "pl.DataFrame":
    from corml.lazy_polars import polars as pl

    text = unix_lines(as_text(piece.data, piece.where)).decode()
    words = pl.Series("words", text.splitlines()).str.strip_chars().str.split(" " if reader == "adjacency" else "\t")
    items = words.list.slice(1, None if reader == "adjacency" else 1)
    frame = pl.DataFrame({"user": words.list.first(), "item": items}).explode("item").drop_nulls()
    try:
        return frame.cast(pl.Int64)
    except pl.exceptions.PolarsError as fault:
        reason = str(fault).partition("\n")[0]
        raise DataError(f"{piece.where} is not the {reader} file it should be ({reason}): fetch it again.") from fault
