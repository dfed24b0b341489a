"""Known files in layouts of their own: headerless pieces that together make one set of pairs.

«adjacency» lines hold a user and all their items; «pairs» lines a user, an item and more. Rows come out sorted by
user and item, as numbers, whatever the pieces' order: a split by seed must not depend on who cut the file how.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from corml.datasets._bytes import as_text, unix_lines
from corml.datasets._frames import FrameTable
from corml.datasets._packed import Content
from corml.errors import DataError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["from_pieces"]


def from_pieces(pieces: Sequence[Content], reader: str) -> FrameTable:
    """Join the pieces of a set into one table of pairs."""
    import polars as pl

    frame = pl.concat([_pairs(piece, reader) for piece in pieces]).unique().sort("user", "item")
    return FrameTable(frame.columns, frame.to_series, pieces[0].where)


def _pairs(piece: Content, reader: str) -> "pl.DataFrame":
    import polars as pl

    text = unix_lines(as_text(piece.data, piece.where)).decode()
    words = pl.Series("words", text.splitlines()).str.strip_chars().str.split(" " if reader == "adjacency" else "\t")
    items = words.list.slice(1, None if reader == "adjacency" else 1)
    frame = pl.DataFrame({"user": words.list.first(), "item": items}).explode("item").drop_nulls()
    try:
        return frame.cast(pl.Int64)
    except pl.exceptions.PolarsError as fault:
        reason = str(fault).partition("\n")[0]
        raise DataError(f"{piece.where} is not the {reader} file it should be ({reason}): fetch it again.") from fault
