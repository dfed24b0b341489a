"""Text files with a user and then all their items on each line, as LightGCN and many after it publish their parts."""

import re
from typing import TYPE_CHECKING

import numpy as np

from corml.data._options import Options
from corml.data.cleaning._columns import Columns
from corml.data.formats._bytes import as_text, unix_lines
from corml.data.formats._packed import Content
from corml.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ListTable", "looks_like_lists"]

SAMPLE = 1 << 20
KINDS = ("", "txt", "dat", "data")
_LINE = re.compile(r"\d+(?: +\d+)* *")


def looks_like_lists(content: Content, options: Options) -> bool:
    """Whether lines hold whole numbers with blanks between, and are of at least three different lengths."""
    asked = (options.separator, options.header, options.user, options.item)
    if content.kind not in KINDS or any(option is not None for option in asked):
        return False
    start = content.data[:SAMPLE]
    if not start.isascii():
        return False
    lines = start.decode().splitlines()[: None if len(content.data) <= SAMPLE else -1]
    lines = [line for line in lines if line.strip()]
    return all(map(_LINE.fullmatch, lines)) and len({len(line.split()) for line in lines}) > 2


class ListTable:
    """Two columns, user and item, out of lines `user item item …`."""

    named = True
    names = ("user", "item")

    def __init__(self, content: Content, encoding: str | None, *, part: bool = False) -> None:
        self.where, self._part = content.where, part
        self._data = as_text(content.data, self.where, encoding)

    def of_lines(self, data: bytes) -> "ListTable":
        """Other lines of the same file."""
        return ListTable(Content(data, "", self.where), None, part=True)

    @property
    def rows(self) -> int:
        """Blanks, as each stands before an item."""
        return self._data.count(b" ")

    def extra(self, columns: int) -> int:
        """Twice the text: lines and words."""
        return 2 * len(self._data)

    def read(self, positions: "Sequence[int]") -> Columns:
        """Read the pairs in the order of the file, each with the line it stands on."""
        from corml._runtime.lazy_polars import polars as pl

        text = pl.Series("words", unix_lines(self._data).decode().split("\n")).str.strip_chars()
        words = text.str.replace_all(r"\s+", " ").str.split(" ")
        frame = pl.DataFrame(
            {"line": np.arange(1, len(words) + 1), "user": words.list.first(), "item": words.list.slice(1)}
        )
        frame = frame.filter(pl.col("item").list.len() > 0).explode("item")
        if not len(frame) and not self._part:
            raise DataError(
                f"{self.where} has no interactions: each line must be a user and then the items, with blanks between."
            )
        series = [frame[self.names[at]] for at in positions]
        return Columns(series, "line", lines=frame["line"].to_numpy())
