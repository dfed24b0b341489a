"""Files of plain lists: ids, and the item lists that share a catalogue."""

import os
from itertools import chain
from pathlib import Path

import numpy as np

from corml._runtime import memory
from corml.data.formats._bytes import whole_text
from corml.data.formats._files import File, shown
from corml.data.formats.item_lists import ItemLists
from corml.data.interactions import Interactions
from corml.errors import DataError

PER_ID = 100  # bytes of a text of Python and of the place where it is named, besides its own
PER_PAIR = 500  # the same of a user and an item

Pairs = tuple[list[str], list[str]]


def ids_in(path: str) -> list[str]:
    """The ids in a file, one on each line, for ids that are too many for a command line or hold commas."""
    file = File(path)
    text = whole_text(file).replace("\r\n", "\n").replace("\r", "\n")
    needed = 2 * len(text) + PER_ID * (text.count("\n") + 1)
    memory.require(needed, what=f"Reading the ids in {file.where}", instead="give fewer at a time, or add memory.")
    return [line for line in text.split("\n") if line.strip()]


def load_item_lists(*paths: str | os.PathLike[str]) -> tuple[Interactions, ...]:
    """Read the sets of a split, each a file of lines `user item item …`, also inside .gz; all on common ids.

    An item that only one set has stays in the catalogue of all: a test pair of it is not dropped, it is missed. A
    user without items is passed over. Use `corml.Split(train=…, test=…)` to put the sets together.
    """
    sets = [_pairs(Path(path)) for path in paths]
    users, items = (list(chain.from_iterable(columns)) for columns in zip(*sets, strict=True))
    every = Interactions.from_pairs(users, items)
    return tuple(
        Interactions.from_pairs(*pairs, source={"from": os.fspath(path), "options": {}}).on(every.users, every.items)
        for path, pairs in zip(paths, sets, strict=True)
    )


def _pairs(path: Path) -> Pairs:
    table = ItemLists(File(path), None)
    memory.require(PER_PAIR * table.rows, what=f"Reading {table.where}", instead="leave out users, or add memory.")
    columns = table.read([0, 1])
    lines = np.concatenate([place.lines for place in columns.places if place.lines is not None])
    lengths = np.bincount(lines)
    lengths = lengths[lengths > 0]
    if len(lengths) > 100 and len(set(lengths.tolist())) == 1 and lengths[0] in (2, 3):
        raise DataError(
            f"Every line of {shown(path)} has {lengths[0] + 1} words: that is a table, not a list of items for each "
            "user. Read it with load."
        )
    users, items = (series.to_list() for series in columns.series)
    return users, items
