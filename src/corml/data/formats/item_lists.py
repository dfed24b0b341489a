"""Text with a user and then all their items on each line, as LightGCN and many after it publish their sets."""

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from corml.data._options import Notes, Options
from corml.data.formats._bytes import text_pieces, unix_lines
from corml.data.formats._files import File
from corml.data.formats._table import Columns, Cut, Place, Table
from corml.errors import DataError

__all__ = ["ItemLists"]

PLAIN = ("", "txt", "dat", "data")
_HAS_ITEMS = re.compile(rb"\S[ \t]+\S")
_LINE = re.compile(r"\d+(?: +\d+)* *")


class ItemLists(Table):
    """Two columns, user and item, out of lines `user item item …`."""

    SUFFIXES: ClassVar[tuple[str, ...]] = (*PLAIN, "csv", "tsv", "inter")

    def __init__(self, file: File, encoding: str | None) -> None:
        self.where, self.budget, self.names = file.where, file.budget, ["user", "item"]
        self._file, self._encoding = file, encoding
        start = next(text_pieces(file, encoding, 1 << 20), b"")
        if not _HAS_ITEMS.search(start):
            raise DataError(
                f"{self.where} has no items: each line must be a user and then the items, with blanks between."
            )
        self.rows = start.count(b" ") * max(file.size, 1) // max(len(start), 1)  # each stands before an item

    @classmethod
    def recognises(cls, file: File, options: Options) -> bool:
        """Whether `item_lists` is set, or lines hold whole numbers and have three different lengths or more."""
        if options.item_lists:
            return file.kind in cls.SUFFIXES
        given = (options.separator, options.header, options.user, options.item)
        if file.kind not in PLAIN or any(option is not None for option in given):
            return False
        if not file.start.isascii():
            return False
        lines = file.start.decode().splitlines()[: None if len(file.start) < 1 << 20 else -1]
        lines = [line for line in lines if line.strip()]
        return all(map(_LINE.fullmatch, lines)) and len({len(line.split()) for line in lines}) > 2

    @classmethod
    def open(cls, file: File, options: Options, notes: Notes, *, about_items: bool = False) -> Table:
        """The table in a file."""
        notes.add("lists: each line is a user and then all their items")
        return cls(file, options.encoding)

    def extra(self, columns: int) -> int:
        """Twice a piece of the text: lines and words."""
        return 2 * min(self._file.size, 1 << 26)

    def _slices(self, positions: Sequence[int], cut: Cut, skip: int) -> Iterator[Columns]:
        from corml._runtime.lazy_polars import polars as pl

        line = 0
        for piece in text_pieces(self._file, self._encoding, cut.bytes // 8 if cut.limited else cut.bytes):
            lines = unix_lines(piece).decode().split("\n")
            if skip:
                skip -= 1
            else:
                text = pl.Series("words", lines).str.strip_chars().str.replace_all(r"\s+", " ")
                words = text.str.split(" ")
                numbers = np.arange(line + 1, line + 1 + len(words))
                frame = pl.DataFrame({"line": numbers, "user": words.list.first(), "item": words.list.slice(1)})
                frame = frame.filter(pl.col("item").list.len() > 0).explode("item")
                series = [frame[self.names[at]] for at in positions]
                yield Columns(series, "line", [Place(self.where, len(frame), lines=frame["line"].to_numpy())])
            line += len(lines) - 1
