"""Which other programs are there, and in which version."""

import importlib
import importlib.metadata
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


def versions(*packages: str) -> dict[str, str]:
    """Versions of those that are installed."""
    found = {}
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
