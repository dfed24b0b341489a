"""What a command writes belongs to it until it ends: another command that wants to write there is refused."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar

from corml.persistence.locks import held

__all__ = ["hold", "holding"]

_held: ContextVar[ExitStack] = ContextVar("held")


@contextmanager
def holding() -> Iterator[None]:
    """Give back at the end what was held inside."""
    with ExitStack() as stack:
        token = _held.set(stack)
        try:
            yield
        finally:
            _held.reset(token)


def hold(path: str | os.PathLike[str], *, folder: bool = False) -> None:
    """Hold a file, or a folder, to the end of the command."""
    _held.get().enter_context(held(path, folder=folder))
