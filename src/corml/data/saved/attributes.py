"""The table of items in a file: names and kinds in the header, one or two arrays for each column."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.data.attributes import KINDS, Attributes, Categories, Column, Numbers, Texts
from corml.data.ids import Ids
from corml.data.saved.labels import decode_labels, encode_ids
from corml.errors import ModelFileError
from corml.persistence.container import decode_sparse, encode_sparse

__all__ = ["MISSING", "arrays_of", "facts_of", "read_attributes"]

MISSING = np.finfo(np.float64).max  # a file has finite numbers only

Arrays = Mapping[str, NDArray[Any]]


def facts_of(table: Attributes | None) -> dict[str, Any]:
    """What the header says of a table; nothing if there is none."""
    if table is None:
        return {}
    return {"attributes": {"title": table.title, "columns": [[name, c.kind] for name, c in table.columns.items()]}}


def arrays_of(table: Attributes | None, prefix: str = "") -> dict[str, NDArray[Any]]:
    """The columns as arrays, numbered in their order; a prefix tells two tables in one file apart."""
    arrays: dict[str, NDArray[Any]] = {}
    for at, column in enumerate(() if table is None else table.columns.values()):
        name = f"{prefix}attribute.{at}"
        if isinstance(column, Categories):
            arrays |= encode_ids(f"{name}.labels", column.labels) | encode_sparse(name, column.matrix, values=False)
        elif isinstance(column, Texts):
            arrays |= encode_ids(name, column.texts)
        else:
            arrays[name] = np.where(np.isnan(column.values), MISSING, column.values)
    return arrays


def read_attributes(arrays: Arrays, facts: object, items: Ids, prefix: str = "") -> tuple[Attributes | None, set[str]]:
    """The table of a file, checked, and the names of the arrays it was in."""
    if facts is None:
        return None, set()
    title, kinds = _header(facts)
    columns: dict[str, Column] = {}
    used: set[str] = set()
    for at, (name, kind) in enumerate(kinds):
        columns[name], parts = _column(arrays, f"{prefix}attribute.{at}", kind, len(items))
        used |= parts
    if title and not isinstance(columns.get(title), Texts):
        raise ModelFileError("its titles are not a column of text of its attributes")
    return Attributes(items, columns, title), used


def _header(facts: object) -> tuple[str, list[tuple[str, Any]]]:
    known = facts if isinstance(facts, dict) else {}
    title, listed = known.get("title"), known.get("columns")
    sound = isinstance(title, str) and isinstance(listed, list) and set(known) == {"title", "columns"}
    if not sound or not all(isinstance(one, list) and len(one) == 2 and _is_column(*one) for one in listed or ()):
        raise ModelFileError("its attributes are not columns with a name and a kind each")
    names = [name for name, _ in listed or ()]
    if len(set(names)) < len(names):
        raise ModelFileError("two of its attributes have one name")
    return str(title), [(name, kind) for name, kind in listed or ()]


def _is_column(name: object, kind: object) -> bool:
    return isinstance(name, str) and isinstance(kind, str) and kind in KINDS


def _column(arrays: Arrays, name: str, kind: Any, items: int) -> tuple[Column, set[str]]:
    if kind == "category":
        labels = decode_labels(arrays, f"{name}.labels")
        if any(one >= other for one, other in pairwise(labels)):
            raise ModelFileError(f"the labels of its {name} are not in ascending order")
        matrix = decode_sparse(arrays, name, (items, len(labels)), values=False)
        parts = ("labels.bytes", "labels.offsets", "indptr", "indices")
        return Categories(labels, matrix), {f"{name}.{part}" for part in parts}
    if kind == "text":
        texts = decode_labels(arrays, name)
        if len(texts) != items:
            raise ModelFileError(f"its {name} has {len(texts):,} texts for {items:,} items")
        return Texts(texts), {f"{name}.bytes", f"{name}.offsets"}
    values = arrays.get(name)
    if values is None or values.dtype != np.float64 or values.shape != (items,):
        raise ModelFileError(f"its {name} is not one number for each item")
    return Numbers(np.where(values == MISSING, np.nan, values), kind), {name}
