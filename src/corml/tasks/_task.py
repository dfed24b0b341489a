"""One task: a kernel, what it reads, and its parameters."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any

from corml.errors import UsageError, ascii_line

__all__ = ["Kernel", "Task", "key_of"]

VERSION = 1  # of what kernels write: artefacts of another version are not used

Kernel = Callable[..., Mapping[str, Any] | None]


def key_of(*about: Any) -> str:
    """A name for what depends on these values alone, which JSON must know."""
    text = json.dumps([VERSION, *about], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:40]


@dataclass(frozen=True)
class Task:
    """Call `kernel(inputs, out, **params)`, where `inputs` are opened artefacts by name.

    `kernel` is "module:function" of this package. `places` are parameters too, such as the path of a folder, that say
    where things are and change nothing about the answer: they are no part of the key. What is not `durable` is scratch:
    it is neither hashed nor flushed, and does not outlive the run. Where the kernel has `one_thread`, tasks may run
    beside each other in one process.
    """

    kernel: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    places: Mapping[str, Any] = field(default_factory=dict)
    durable: bool = True
    one_thread: bool = False

    @cached_property
    def key(self) -> str:
        """The name of its artefact."""
        return key_of(self.kernel, dict(self.inputs), dict(self.params))

    def function(self) -> Kernel:
        """The kernel itself; one that is not of this package is refused, for tasks come from other processes."""
        module, _, name = self.kernel.partition(":")
        if module.split(".")[0] != "corml" or not name.isidentifier() or name.startswith("_"):
            raise UsageError(f"{ascii_line(self.kernel, 200)} is no kernel of corml.")
        kernel: Kernel = getattr(import_module(module), name)
        return kernel
