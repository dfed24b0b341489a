"""Which other programs are there."""

import importlib
import sys

MODULES = {"scikit-learn": "sklearn"}
HOW = {"sansa": "pip install sansa; its dependency scikit-sparse needs the headers of SuiteSparse"}
EXTRA = 'pip install ".[benchmarks]"'


def missing(package: str) -> str | None:
    """Why a package cannot be used, in a sentence; None if it can."""
    try:
        importlib.import_module(MODULES.get(package, package))
    except ImportError as reason:
        return f"{package} cannot be used ({reason}): {HOW.get(package, EXTRA)}"
    return None


def need(package: str) -> None:
    """Stop with a sentence if a package cannot be used."""
    if reason := missing(package):
        sys.exit(reason)
