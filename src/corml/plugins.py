"""The file is the registration: a model, metric, split or data source is a file in its room.

A plug-in file has a public name equal to what people type (`ndcg.py` → `ndcg`) and lists in `__all__` the one
object it contributes. Files that start with an underscore are the room's own furniture.
"""

import importlib
import pkgutil
from functools import cache
from typing import Any

from corml.errors import UsageError, ascii_line
from corml.settings import nearest

__all__ = ["get", "names"]


@cache
def names(room: str) -> tuple[str, ...]:
    """Sorted names of everything that lives in a room, such as `corml.metrics`."""
    package = importlib.import_module(room)
    return tuple(sorted(m.name for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_")))


def get(room: str, name: str) -> Any:
    """Load the object a plug-in file contributes."""
    key = name.replace("-", "_")
    if key not in names(room):
        noun = room.rpartition(".")[2].removesuffix("s")
        raise UsageError(
            f"There is no {noun} {ascii_line(name)}{nearest(name, (known.replace('_', '-') for known in names(room)))}"
        )
    module = importlib.import_module(f"{room}.{key}")
    (public,) = module.__all__
    return getattr(module, public)
