"""PyTorch, loaded when it is first used: models are listed, read and served without it."""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from corml.errors import SettingError, UsageError

if TYPE_CHECKING:
    import torch
else:

    class _Late:
        def __getattr__(self, name: str) -> Any:
            return getattr(importlib.import_module("torch"), name)

    torch = _Late()

__all__ = ["device", "require", "torch"]

DEVICES = ("auto", "cpu", "cuda")


def require(model: str) -> None:
    """Say what is missing before any work is done."""
    if importlib.util.find_spec("torch") is None:
        raise UsageError(
            f"{model} learns with PyTorch, which is not installed: pip install 'corml[neural]'. "
            "Fitted models can be read and used without it."
        )


def device(wanted: str) -> "torch.device":
    """The device to learn on: for "auto" a GPU if there is one."""
    there = torch.cuda.is_available()
    if wanted == "cuda" and not there:
        raise SettingError("device is 'cuda', but PyTorch finds no GPU here: leave it out, or choose 'cpu'.")
    return torch.device("cuda" if there and wanted != "cpu" else "cpu")
