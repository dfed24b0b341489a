"""What was typed, for pages that say how they were made."""

import shlex
from contextvars import ContextVar

__all__ = ["command_line", "typed"]

typed: ContextVar[tuple[str, ...]] = ContextVar("typed", default=())


def command_line() -> str:
    """The command as a shell takes it."""
    return shlex.join(["corml", *typed.get()])
