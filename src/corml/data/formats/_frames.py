"""Tables in memory: data frames of any make, and known files in layouts of their own.

Of those, «adjacency» lines hold a user and all their items; «pairs» lines a user, an item and more. Their rows come out
sorted by user and item, as numbers, whatever the pieces' order: a split by seed must not depend on how files are cut.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from corml.data._options import Notes
from corml.data.cleaning._columns import LOOK, Columns, word
from corml.data.formats._bytes import as_text, unix_lines
from corml.data.formats._packed import Content
from corml.data.formats._sniff import bare, listed
from corml.data.ids import is_missing
from corml.errors import DataError, UsageError, ascii_line, quoted

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

__all__ = ["FrameTable", "column", "from_frame", "from_pieces", "plain_names"]


class FrameTable:
    """Named columns in memory."""

    named = True

    def __init__(
        self,
        names: Sequence[str],
        get: "Callable[[int], pl.Series]",
        where: str,
        rows: int = 0,
        peek: "Callable[[int], pl.Series] | None" = None,
    ) -> None:
        self.where = where
        self.rows = rows
        self.names = plain_names(names, where)
        self._get, self._peek = get, peek

    def extra(self, columns: int) -> int:
        """Nothing: columns come as they are."""
        return 0

    def read(self, positions: Sequence[int]) -> Columns:
        """Hand out some columns."""
        return Columns([self._get(at) for at in positions], "row")

    def head(self, positions: Sequence[int]) -> "dict[int, pl.Series]":
        """The first rows of some columns, where they are known without the others."""
        known: dict[int, pl.Series] = {}
        if self._peek is not None:
            for at in positions:
                with suppress(DataError):  # lists, which nobody asked for
                    known[at] = self._peek(at)
        return known


def plain_names(names: Sequence[str], where: str) -> list[str]:
    """Column names without what surrounds them; no two may be the same then."""
    plain = [bare(name) for name in names]
    if len(set(plain)) < len(plain):
        raise DataError(f"{where} has two columns of one name; its columns are {listed(plain)}: rename one.")
    return plain


def from_frame(frame: Any, notes: Notes) -> FrameTable:
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
    _remark_on_index(frame, names, notes)
    quiet = Notes(warner=lambda line: None)
    return FrameTable(
        names,
        lambda at: _series(wrapped[:, at], names[at], notes),
        "The frame",
        len(wrapped),
        lambda at: _series(wrapped[:LOOK, at], names[at], quiet),
    )


def _remark_on_index(frame: Any, names: Sequence[str], notes: Notes) -> None:
    """Warn of a pandas index with a name: it is a column that is not read."""
    levels = getattr(getattr(frame, "index", None), "names", None) or ()
    lost = [str(name) for name in levels if name is not None and str(name) not in names]
    if lost:
        notes.warn(f"index ignored: {quoted(lost)}: only columns are read; frame.reset_index() makes it one")


def column(values: Sequence[Any]) -> "pl.Series":
    """Make a column of Python values: of their type if they have one, else of text."""
    from corml._runtime.lazy_polars import polars as pl

    kinds = {type(value) for value in values} - {type(None)}
    if len(kinds) == 1 and kinds <= {int, float, str, bytes, datetime, date, Decimal}:
        with suppress(OverflowError, TypeError, pl.exceptions.PolarsError):  # whole numbers above 2⁶³ become text
            return pl.Series(values)
    return pl.Series([None if value is None or value != value else str(value) for value in values], dtype=pl.String)


def _series(column: "nw.Series[Any]", name: str, notes: Notes) -> "pl.Series":
    """Make a polars column; where types are mixed, of text."""
    from corml._runtime.lazy_polars import polars as pl

    try:
        return column.to_polars()
    except Exception:  # each frame library has its own complaint about columns of mixed type
        values = column.to_list()
    if any(isinstance(value, list | dict | set | tuple) for value in values):
        raise DataError(
            f"Column {ascii_line(name)} of the frame holds lists or records: one plain value per row is needed."
        )
    whole = [value for value in values if isinstance(value, float) and value.is_integer()]
    if whole:
        notes.warn(
            f"column {ascii_line(name)} holds text and decimal numbers, and whole ones are read without .0 "
            f"({whole[0]} as {word(whole[0])}; rows: {len(whole):,})"
        )
    return pl.Series([None if is_missing(value) else word(value) for value in values], dtype=pl.String)


# --- pieces ----------------------------------------------------------------------------------------------------------


def from_pieces(pieces: Sequence[Content], reader: str) -> FrameTable:
    """Join the pieces of a set into one table of pairs."""
    from corml._runtime.lazy_polars import polars as pl

    frame = pl.concat([_pairs(piece, reader) for piece in pieces]).unique().sort("user", "item")
    return FrameTable(frame.columns, frame.to_series, pieces[0].where, len(frame))


def _pairs(piece: Content, reader: str) -> "pl.DataFrame":
    from corml._runtime.lazy_polars import polars as pl

    text = unix_lines(as_text(piece.data, piece.where)).decode()
    words = pl.Series("words", text.splitlines()).str.strip_chars().str.split(" " if reader == "adjacency" else "\t")
    items = words.list.slice(1, None if reader == "adjacency" else 1)
    frame = pl.DataFrame({"user": words.list.first(), "item": items}).explode("item").drop_nulls()
    try:
        return frame.cast(pl.Int64)
    except pl.exceptions.PolarsError as fault:
        reason = str(fault).partition("\n")[0]
        raise DataError(f"{piece.where} is not the {reader} file it should be ({reason}): fetch it again.") from fault
