"""Files with a user and then all their items on each line, as LightGCN and many programs after it share their parts."""

import os
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from corml._runtime import memory
from corml.data.formats._bytes import as_text, unix_lines
from corml.data.formats._packed import content, shown
from corml.data.interactions import Interactions
from corml.errors import DataError

__all__ = ["load_item_lists"]

PER_WORD = 250  # bytes of a word, which is an object of Python, and of what is made of it
BLANKS = r"[\s\x1c-\x1f]+"  # what divides words

Pairs = tuple[list[str], list[str]]


def load_item_lists(*paths: str | os.PathLike[str]) -> tuple[Interactions, ...]:
    """Read the parts of a data set, each a file of lines `user item item …`, also inside .gz; all on common ids.

    An item that only one part has stays in the catalogue of all: a test pair of it is not dropped, it is missed. A
    user without items is passed over. Use `corml.Split(train=…, test=…)` to put the parts together.
    """
    parts = [_pairs(Path(path)) for path in paths]
    users, items = (list(chain.from_iterable(columns)) for columns in zip(*parts, strict=True))
    every = Interactions.from_pairs(users, items)
    return tuple(
        Interactions.from_pairs(*part, source={"from": os.fspath(path), "options": {}}).on(every.users, every.items)
        for path, part in zip(paths, parts, strict=True)
    )


def _pairs(path: Path) -> Pairs:
    read = content(path)
    text = unix_lines(as_text(read.data, read.where)).decode()
    _require(text, read.where)
    rows = [words for line in text.splitlines() if (words := line.split())]
    lengths = [len(words) - 1 for words in rows]
    if not sum(lengths):
        raise DataError(
            f"{shown(path)} has no items: each line must be a user and then the items, with blanks between."
        )
    _refuse_table(path, lengths)
    users = [words[0] for words in rows for _ in words[1:]]
    return users, [item for words in rows for item in words[1:]]


def _require(text: str, where: str) -> None:
    from corml._runtime.lazy_polars import polars as pl

    words = int(pl.Series([text]).str.count_matches(BLANKS).item())
    memory.require(len(text) + PER_WORD * words, what=f"Reading {where}", instead="leave out users, or add memory.")


def _refuse_table(path: Path, lengths: Sequence[int]) -> None:
    """A table of ratings has three or four words on every line, and would be read as short lists."""
    if len(lengths) > 100 and len(set(lengths)) == 1 and lengths[0] in (2, 3):
        raise DataError(
            f"Every line of {shown(path)} has {lengths[0] + 1} words: that is a table, not a list of items for each "
            "user. Read it with load."
        )
