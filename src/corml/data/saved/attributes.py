"""The table of items in a file: names and kinds in the header, one or two arrays for each column."""

from itertools import pairwise
from typing import Any

import numpy as np

from corml.data.attributes import KINDS, Attributes, Categories, Column, Kind, Numbers, Texts
from corml.data.ids import Ids
from corml.data.saved.pairs import Encoded, decode_labels, encode_ids
from corml.errors import ModelFileError
from corml.persistence.container import Arrays, decode_sparse, encode_sparse

MISSING = np.finfo(np.float64).max  # a file has finite numbers only


def facts_of(table: Attributes | None) -> dict[str, Any]:
    """What the header says about a table; nothing if there is none."""
    if table is None:
        return {}
    return {"attributes": {"title": table.title, "columns": [[name, c.kind] for name, c in table.columns.items()]}}


def arrays_of(table: Attributes | None, prefix: str = "") -> Encoded:
    """The columns as arrays, numbered in their order; a prefix tells two tables in one file apart."""
    arrays: Encoded = {}
    for at, column in enumerate(() if table is None else table.columns.values()):
        name = f"{prefix}attribute.{at}"
        if isinstance(column, Categories):
            arrays |= encode_ids(f"{name}.labels", column.labels) | encode_sparse(name, column.matrix, values=False)
        elif isinstance(column, Texts):
            arrays |= encode_ids(name, column.texts)
        else:
            arrays[name] = np.where(np.isnan(column.values), MISSING, column.values)
    return arrays


def read_attributes(arrays: Arrays, facts: object, items: Ids, prefix: str = "") -> Attributes | None:
    """The table of a file, checked; None where it has none."""
    if facts is None:
        return None
    title, kinds = _header(facts)
    columns = {
        name: _column(arrays, f"{prefix}attribute.{at}", kind, len(items)) for at, (name, kind) in enumerate(kinds)
    }
    if title and not isinstance(columns.get(title), Texts):
        raise ModelFileError("its titles are not a column of text of its attributes")
    return Attributes(items, columns, title)


def _header(facts: object) -> tuple[str, list[tuple[str, Kind]]]:
    given = facts if isinstance(facts, dict) else {}
    title, listed = given.get("title"), given.get("columns")
    sound = isinstance(title, str) and isinstance(listed, list) and set(given) == {"title", "columns"}
    if not sound or not all(isinstance(one, list) and len(one) == 2 and _is_column(*one) for one in listed or ()):
        raise ModelFileError("its attributes are not columns with a name and a kind each")
    columns = [(name, kind) for name, kind in listed or ()]
    if len(dict(columns)) < len(columns):
        raise ModelFileError("two of its attributes have one name")
    return str(title), columns


def _is_column(name: object, kind: object) -> bool:
    return isinstance(name, str) and isinstance(kind, str) and kind in KINDS


def _column(arrays: Arrays, name: str, kind: Kind, items: int) -> Column:
    if kind == "category":
        labels = decode_labels(arrays, f"{name}.labels")
        if any(one >= other for one, other in pairwise(labels)):
            raise ModelFileError(f"the labels of its {name} are not in ascending order")
        return Categories(labels, decode_sparse(arrays, name, (items, len(labels)), values=False))
    if kind == "text":
        texts = decode_labels(arrays, name)
        if len(texts) != items:
            raise ModelFileError(f"its {name} has {len(texts):,} texts for {items:,} items")
        return Texts(texts)
    values = arrays.get(name)
    if values is None or values.dtype != np.float64 or values.shape != (items,):
        raise ModelFileError(f"its {name} is not one number for each item")
    return Numbers(np.where(values == MISSING, np.nan, values), kind)
