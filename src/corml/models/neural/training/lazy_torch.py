"""PyTorch, loaded when it is first used: models are listed, read and served without it."""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from corml.errors import SettingError, UsageError

if TYPE_CHECKING:
    import torch
else:

    class _LazyModule:
        def __getattr__(self, name: str) -> Any:
            return getattr(importlib.import_module("torch"), name)

    torch = _LazyModule()

__all__ = ["DEVICES", "device", "require", "torch"]

DEVICES = ("auto", "cpu", "cuda")


def require(model: str) -> None:
    """Say what is missing before any work is done."""
    if importlib.util.find_spec("torch") is None:
        raise UsageError(
            f"{model} learns with PyTorch, which is not installed: pip install 'corml[neural]'. "
            "Fitted models can be read and used without it."
        )


def device(name: str) -> "torch.device":
    """The device to learn on: for "auto" a GPU if there is one."""
    has_gpu = torch.cuda.is_available()
    if name == "cuda" and not has_gpu:
        raise SettingError("device is 'cuda', but PyTorch finds no GPU here: leave it out, or choose 'cpu'.")
    return torch.device("cuda" if has_gpu and name != "cpu" else "cpu")
