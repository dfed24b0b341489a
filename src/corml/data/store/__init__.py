"""A store: interactions as files of a folder, mapped into memory piece by piece. `corml.outofcore.ingest` makes one."""

from corml.data.store._chunk import Chunk
from corml.data.store._layout import (
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
from corml.data.store._manifest import FORMAT, Manifest, digest
from corml.data.store._store import Store
from corml.data.store._users import UserHistories

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
    "Store",
    "UserHistories",
    "array_name",
    "digest",
    "is_split",
    "is_store",
    "labels_name",
]
