"""Optuna, loaded when it is first used."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager

from corml.errors import UsageError

__all__ = ["quiet", "require"]


def require() -> None:
    """Say what is missing before any work is done."""
    if importlib.util.find_spec("optuna") is None:
        raise UsageError("Tuning needs Optuna, which is not installed: pip install 'corml[tune]'.")


@contextmanager
def quiet() -> Iterator[None]:
    """Optuna says only what is wrong meanwhile: our progress is another."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
