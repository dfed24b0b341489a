"""The file is the registration: a model, metric, split, data set or file format is a file in its package.

A plug-in file has a public name equal to what users type (`ease.py` → `ease`) and lists in `__all__` the one object
it contributes; a file of metrics may list several functions, each under its own name. Files that start with an
underscore are not plug-ins.

Another package adds to a group by an entry point: a name, and the object behind it. It is imported when it is used, not
when names are listed, so that a broken package only breaks itself.
"""

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from corml._runtime.values import nearest
from corml.errors import UsageError, ascii_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["get", "names", "own", "refresh", "refuse_clash"]

# Groups of entry points that other packages may add to, and the packages that hold corml's own files of each.
GROUPS = {
    "corml.models": ("corml.models.linear", "corml.models.neural"),
    "corml.metrics": ("corml.evaluation.metrics",),
    "corml.splits": ("corml.splits",),
    "corml.datasets": ("corml.data.catalog",),
    "corml.formats": ("corml.data.formats",),
}
BY_FUNCTION = {"corml.metrics"}  # groups whose files list several functions: they are imported for their names


@cache
def names(group: str) -> tuple[str, ...]:
    """Sorted names of all files of a group, such as `corml.metrics`, and of what other packages add to it."""
    return tuple(sorted({*own(group), *_outside(group)}))


def get(group: str, name: str, fits: Callable[[Any], bool] = callable, what: str = "a function") -> Any:
    """Load the object a plug-in contributes; one of another package must be `what` the group takes, which `fits` tells.

    Dashes and underscores are the same.
    """
    key = name.replace("-", "_")
    if key not in names(group):
        raise UsageError(
            f"There is no {_noun(group)} {ascii_line(name)}"
            f"{nearest(name, (known.replace('_', '-') for known in names(group)))}"
        )
    if key not in own(group):
        return _load(group, key, fits, what)
    refuse_clash(group, key)
    module = importlib.import_module(own(group)[key])
    (public,) = [key] if group in BY_FUNCTION else module.__all__
    return getattr(module, public)


def refuse_clash(group: str, name: str) -> None:
    """Refuse a name of corml's own that another package has taken as well: which is meant cannot be known."""
    others = _outside(group).get(name.replace("-", "_"))
    if others:
        raise UsageError(
            f"The {_noun(group)} {_shown(name)} is corml's own, and {_packages(others)} adds another of that name: "
            "uninstall that package, or have it renamed there."
        )


def refresh() -> None:
    """Look for plug-ins again: packages may have been installed since names were listed."""
    importlib.invalidate_caches()
    names.cache_clear()
    _outside.cache_clear()


def own(group: str) -> dict[str, str]:
    """Corml's own names of a group, sorted, and the module of each."""
    found: dict[str, str] = {}
    for package in GROUPS.get(group, (group,)):
        for file in pkgutil.iter_modules(importlib.import_module(package).__path__):
            if not (file.ispkg or file.name.startswith("_")):
                module = f"{package}.{file.name}"
                names = importlib.import_module(module).__all__ if group in BY_FUNCTION else [file.name]
                found |= dict.fromkeys(names, module)
    return dict(sorted(found.items()))


@cache
def _outside(group: str) -> dict[str, "list[EntryPoint]"]:
    """What other packages add to a group, by name; more than one of a name is a clash."""
    if group not in GROUPS:
        return {}
    from importlib.metadata import entry_points

    entries: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=group):
        entries.setdefault(entry.name.replace("-", "_").lower(), []).append(entry)
    return entries


def _load(group: str, key: str, fits: Callable[[Any], bool], what: str) -> Any:
    entries = _outside(group)[key]
    title = f"The {_noun(group)} {_shown(key)} of {_packages(entries[:1])}"
    if len(entries) > 1:
        raise UsageError(
            f"The {_noun(group)} {_shown(key)} is added by {_packages(entries)}: uninstall all but one, or have one "
            "renamed there."
        )
    try:
        loaded = entries[0].load()
    except Exception as fault:  # whatever another package does wrong
        reason = f"{type(fault).__name__}: {ascii_line(fault, 200)}"
        raise UsageError(f"{title} cannot be loaded ({reason}): repair, update or uninstall that package.") from fault
    if not fits(loaded):
        raise UsageError(f"{title} is not {what}: update or uninstall that package.")
    return loaded


def _packages(entries: "list[EntryPoint]") -> str:
    titles = [ascii_line(entry.dist.name if entry.dist else entry.module) for entry in entries]
    return "the package " + titles[0] if len(titles) == 1 else "the packages " + " and ".join(titles)


def _noun(group: str) -> str:
    return group.rpartition(".")[2].removesuffix("s").replace("dataset", "data set")


def _shown(key: str) -> str:
    return ascii_line(key.replace("_", "-"))
