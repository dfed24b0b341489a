"""Models: `corml.models.make("ease")` by name, `corml.models.EASE` as a class; model files."""

from typing import Any

from corml.models.registry import class_named, from_contents, get, make, names, read_model

__all__ = ["from_contents", "get", "make", "names", "read_model"]


def __getattr__(name: str) -> Any:
    model = None if name.startswith("_") else class_named(name)
    if model is None:
        raise AttributeError(f"module 'corml.models' has no attribute {name!r}")
    return model
