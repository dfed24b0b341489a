"""What to call items: a second table, or a mapping, from item ids to titles."""

from collections.abc import Mapping
from typing import Any

import corml.data.cleaning._columns as _columns
from corml.data._cost import require_for_items
from corml.data._options import Notes
from corml.data.cleaning._columns import Table
from corml.data.formats._sniff import find, listed
from corml.data.ids import canonical
from corml.errors import DataError

__all__ = ["from_mapping", "from_table"]


def from_mapping(titles: Mapping[Any, Any]) -> dict[str, str]:
    """Titles by id, both as text."""
    return {canonical(item): str(title) for item, title in titles.items()}


def from_table(table: Table, item: str, *, trim: bool, notes: Notes) -> dict[str, str]:
    """Titles from two columns: the item column is named as in the interactions, or usually."""
    at, title = _positions(table, item)
    require_for_items(table, 2)
    columns = table.read([at, title])
    coded = _columns.ids(columns.series[0], "item", table.where, trim=trim)
    if coded.remark:
        notes.warn(f"{table.where}: {coded.remark}")
    names = _columns.texts(columns.series[1], "title", table.where).to_list()
    notes.add(f"titles: {table.where}")
    if columns.faulty:
        notes.warn(f"titles: {columns.faulty:,} rows of {table.where} without all columns left out")
    titles: dict[str, str] = {}
    for code, bad, name in zip(coded.codes.tolist(), coded.check.bad.tolist(), names, strict=True):
        if not bad and name:
            titles.setdefault(coded.labels[code], name)
    return titles


def _positions(table: Table, item: str) -> tuple[int, int]:
    if not table.named:
        return 0, 1
    names = list(table.names)
    at = names.index(item) if item in names else find("item", names)
    title = find("title", names)
    if title is None:  # any name will do, as there must be one
        title = next((one for one, name in enumerate(names) if name.lower().endswith(("name", "title"))), None)
    if at is None and "id" in [name.lower() for name in names]:
        at = [name.lower() for name in names].index("id")
    if at is None or title is None or at == title:
        missing = "title" if title is None or at == title else "item"
        raise DataError(f"{table.where} has no {missing} column; its columns are {listed(names)}: rename one.")
    return at, title
