"""The file is the registration: a model, metric, split or data set is a file in its room.

A plug-in file has a public name equal to what people type (`ndcg.py` → `ndcg`) and lists in `__all__` the one
object it contributes. Files that start with an underscore are the room's own furniture.

Another package adds to a room by an entry point: a name, and the object behind it. It is imported when it is used, not
when names are listed, so that a broken package only breaks itself.
"""

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from corml.errors import UsageError, ascii_line
from corml.settings import nearest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["get", "names", "own", "refresh", "refuse_clash"]

# Rooms that are open to other packages, and the group of entry points that adds to each.
GROUPS = {
    "corml.baselines": "corml.models",
    "corml.metrics": "corml.metrics",
    "corml.splits": "corml.splits",
    "corml.datasets": "corml.datasets",
}


@cache
def names(room: str) -> tuple[str, ...]:
    """Sorted names of everything that lives in a room, such as `corml.metrics`, or that a package adds to it."""
    return tuple(sorted({*own(room), *_outside(room)}))


def get(room: str, name: str, fits: Callable[[Any], bool] = callable, what: str = "a function") -> Any:
    """Load the object a plug-in contributes; one of another package must be `what` the room takes, which `fits` tells.

    Dashes and underscores are the same.
    """
    key = name.replace("-", "_")
    if key not in names(room):
        raise UsageError(
            f"There is no {_noun(room)} {ascii_line(name)}"
            f"{nearest(name, (known.replace('_', '-') for known in names(room)))}"
        )
    if key not in own(room):
        return _load(room, key, fits, what)
    refuse_clash(room, key)
    module = importlib.import_module(f"{room}.{key}")
    (public,) = module.__all__
    return getattr(module, public)


def refuse_clash(room: str, name: str) -> None:
    """Refuse a name of corml's own that another package has taken as well: which is meant cannot be known."""
    others = _outside(room).get(name.replace("-", "_"))
    if others:
        raise UsageError(
            f"The {_noun(room)} {_shown(name)} is corml's own, and {_packages(others)} adds another of that name: "
            "uninstall that package, or have it renamed there."
        )


def refresh() -> None:
    """Look for plug-ins again: packages may have been installed since names were listed."""
    importlib.invalidate_caches()
    names.cache_clear()
    _outside.cache_clear()


def own(room: str) -> tuple[str, ...]:
    """Sorted names of the public files of a room."""
    package = importlib.import_module(room)
    return tuple(sorted(module.name for module in pkgutil.iter_modules(package.__path__) if module.name[0] != "_"))


@cache
def _outside(room: str) -> dict[str, "list[EntryPoint]"]:
    """What other packages add to a room, by name; more than one of a name is a clash."""
    if room not in GROUPS:
        return {}
    from importlib.metadata import entry_points

    entries: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=GROUPS[room]):
        entries.setdefault(entry.name.replace("-", "_").lower(), []).append(entry)
    return entries


def _load(room: str, key: str, fits: Callable[[Any], bool], what: str) -> Any:
    entries = _outside(room)[key]
    title = f"The {_noun(room)} {_shown(key)} of {_packages(entries[:1])}"
    if len(entries) > 1:
        raise UsageError(
            f"The {_noun(room)} {_shown(key)} is added by {_packages(entries)}: uninstall all but one, or have one "
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


def _noun(room: str) -> str:
    return GROUPS.get(room, room).rpartition(".")[2].removesuffix("s").replace("dataset", "data set")


def _shown(key: str) -> str:
    return ascii_line(key.replace("_", "-"))
