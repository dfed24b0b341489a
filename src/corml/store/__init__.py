"""A store: interactions as files of a folder, mapped into memory piece by piece. `corml.scale` makes one."""

from corml.store._chunk import Chunk
from corml.store._layout import (
    ITEMS,
    MANIFEST,
    PLAN,
    SPLIT,
    SPLIT_PLAN,
    WORK,
    array_name,
    is_split,
    is_store,
    labels_name,
)
from corml.store._manifest import FORMAT, Manifest, digest
from corml.store._people import People
from corml.store._store import Store

__all__ = [
    "FORMAT",
    "ITEMS",
    "MANIFEST",
    "PLAN",
    "SPLIT",
    "SPLIT_PLAN",
    "WORK",
    "Chunk",
    "Manifest",
    "People",
    "Store",
    "array_name",
    "digest",
    "is_split",
    "is_store",
    "labels_name",
]
