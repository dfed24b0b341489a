"""Polars, loaded when it is first used, and refused where it would hang: in a process forked from one that used it.

The threads of Polars do not come along into a fork, and its work waits for them without end. So a fork of a process
in which they run is marked, and `from corml._runtime.lazy_polars import polars` there is an error that says what to do.
"""

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars

__all__ = ["polars", "refuse_after_fork"]

TASKS = "/proc/self/task"  # a folder per thread, on Linux
_THREADS = ("polars-", "async-executor", "tokio-rt-worker")  # how the names of those begin that work for Polars

_forking = False  # whether a process forks in which the threads of Polars run
_forked = False  # whether this one was forked from such


def __getattr__(name: str) -> Any:
    if name != "polars":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    refuse_after_fork()
    from corml._runtime import environment  # here, so that `import corml` stays light

    environment.check("POLARS")
    import polars as package

    return package


def refuse_after_fork() -> None:
    """Raise where work of Polars would wait without end."""
    if _forked:
        from corml.errors import ForkedError  # here, so that `import corml` stays light

        raise ForkedError(
            "This process was forked from one that used Polars, whose threads do not survive that: data can be neither "
            "read nor written here. Start processes with multiprocessing.get_context('spawn') or 'forkserver'."
        )


def _before_fork() -> None:
    global _forking
    _forking = "polars" in sys.modules and _threads_run()


def _after_fork_in_child() -> None:
    global _forked
    _forked = _forked or _forking


def _threads_run() -> bool:
    """Whether Polars has begun to work; where threads cannot be listed, it may have."""
    try:
        return any(_name(task).startswith(_THREADS) for task in os.listdir(TASKS))
    except OSError:
        return True


def _name(task: str) -> str:
    try:
        with open(f"{TASKS}/{task}/comm") as file:
            return file.read().strip()
    except OSError:  # it has just ended
        return ""


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork_in_child)
