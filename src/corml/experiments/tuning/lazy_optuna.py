"""Optuna, loaded when it is first used."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager

from corml.errors import UsageError


def require() -> None:
    """Report before any work that Optuna is missing."""
    if importlib.util.find_spec("optuna") is None:
        raise UsageError("Tuning needs Optuna, which is not installed: pip install 'corml[tune]'.")


@contextmanager
def quiet() -> Iterator[None]:
    """Let Optuna print warnings only: the search has its own progress."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
