"""Models to compare with, one file each; the file is the registration.

`from corml.baselines import EASE` finds a class by its file, `ease.py`, and imports no other.
"""

import ast
import importlib
import importlib.resources
from typing import Any

from corml import plugins

ROOM = "corml.baselines"


def __getattr__(name: str) -> Any:
    for file in _files():
        if file.replace("_", "") == name.lower() and name != file:
            module = importlib.import_module(f"{ROOM}.{file}")
            if name in module.__all__:
                return getattr(module, name)
    raise AttributeError(f"module {ROOM!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_files(), *map(_class_in, _files())])


def _files() -> tuple[str, ...]:
    return plugins.own(ROOM)


def _class_in(file: str) -> str:
    """The one name a file lists in `__all__`, read without importing it."""
    text = importlib.resources.files(ROOM).joinpath(f"{file}.py").read_text("utf-8")
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            (name,) = ast.literal_eval(node.value)
            return str(name)
    return file
