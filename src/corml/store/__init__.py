"""A store: interactions as files of a folder, mapped into memory piece by piece. `corml.scale` makes one."""

from corml.store._layout import ITEMS, MANIFEST, PLAN, WORK, array_name, is_store, labels_name
from corml.store._manifest import FORMAT, Manifest, digest
from corml.store._store import Chunk, Store

__all__ = [
    "FORMAT",
    "ITEMS",
    "MANIFEST",
    "PLAN",
    "WORK",
    "Chunk",
    "Manifest",
    "Store",
    "array_name",
    "digest",
    "is_store",
    "labels_name",
]
