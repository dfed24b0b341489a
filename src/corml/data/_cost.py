"""The memory that reading a table takes, checked before it is used. The figures are measured peaks.

Two id columns as text, their numbers, keys of pairs and masks take PER_ROW; a rating or a time PER_VALUE more: KEPT
times as much where the allocator of Polars keeps what was freed, because it was imported before corml, or where
addresses are limited, which it never gives back. Every distinct id is bytes, and an entry of the table in which it is
found.
"""

import os
from typing import TYPE_CHECKING

from corml._runtime import memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from corml.data.formats._table import Table

PER_ROW = 92
PER_VALUE = 12
PER_LABEL = 60
PER_ITEM = 270
PER_ATTRIBUTE = 80
PER_CATEGORY = 300
PER_ENTRY = 24  # of a table of items × categories
KEPT = 2.2
INSTEAD = "load it in parts, convert it to Parquet with whole numbers as ids, or add memory."


def require_for_reading(table: "Table", columns: int) -> int:
    """Refuse a table that would not fit, before its columns are read; give the bytes that are in memory already."""
    memory.require(_rows(table.rows, columns, table), what=f"Reading {table.where}", instead=INSTEAD)
    return memory.resident()


def require_for_ids(table: "Table", series: "Sequence[pl.Series]", before: int) -> None:
    """Refuse ids that would not fit, now that they can be counted; what reading took is not counted again."""
    taken = max(memory.resident() - before, sum(int(column.estimated_size()) for column in series))
    labels = sum(_distinct(column) for column in series[:2])
    needed = _rows(len(series[0]), len(series), table) + PER_LABEL * labels - taken
    memory.require(needed, what=f"Numbering the {labels:,} ids of {table.where}", instead=INSTEAD)


def require_for_items(table: "Table", columns: int) -> None:
    """Refuse a table of items that would not fit: each has an id, which is bytes and an entry, and attributes."""
    needed = table.rows * (PER_ITEM + PER_ATTRIBUTE * (columns - 1)) + table.extra(columns)
    memory.require(
        needed, what=f"Reading the items of {table.where}", instead="leave out rows or columns, or add memory."
    )


def require_for_categories(labels: "pl.Series", entries: int, where: str) -> None:
    """Refuse categories that would not fit, now that they can be counted: names of items are as many as the items."""
    needed = PER_CATEGORY * _distinct(labels) + PER_ENTRY * entries
    memory.require(
        needed, what=f"Telling the categories of {where} apart", instead="leave out the column, or add memory."
    )


def _rows(count: int, columns: int, table: "Table") -> int:
    freed = "dirty_decay_ms:0" in os.environ.get("_RJEM_MALLOC_CONF", "") and memory.address_limit() is None
    return int((1.0 if freed else KEPT) * count * (PER_ROW + PER_VALUE * (columns - 2))) + table.extra(columns)


def _distinct(column: "pl.Series") -> int:
    from corml._runtime.lazy_polars import polars as pl

    try:
        return column.to_frame().select(pl.all().approx_n_unique()).item()  # type: ignore[no-any-return]
    except pl.exceptions.PolarsError:  # of a type without such an estimate
        return len(column)
