"""EXPORT: a model as tables for other programs, so that recommending is a JOIN, as finished lists, or as a page.

export_model(model, "sqlite", "shop.sqlite")                 weights between items, and a query that sums them
export_model(model, "parquet", "shop", lists=True, k=20)     the lists of all users
export_model(model, "html", "shop.html")                     the model itself, in a page that runs it

A target is a file of this room, found by its name.
"""

import importlib.util
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corml import plugins
from corml._runtime.progress import Progress, silent
from corml._runtime.values import nearest
from corml._runtime.version import VERSION
from corml.errors import UsageError, as_utf8, ascii_line
from corml.models.recommender import Recommender
from corml.outofcore.lists.request import plain
from corml.persistence import atomic
from corml.persistence.names import followed
from corml.recommend.options import list_length
from corml.service.export import _contents
from corml.service.export._tables import Job, Table, Target
from corml.service.export._weights import check_adds_up

__all__ = ["Exported", "check_place", "export_model", "target", "targets"]

PACKAGE = "corml.service.export"
FORMAT = 1
KEEP = 500  # pairs of an item


@dataclass(frozen=True)
class Exported:
    """What was written: where, facts about it, and the query to ask it with; a target may have none."""

    path: Path
    facts: dict[str, Any]
    query: str


def targets() -> tuple[str, ...]:
    """Names of all targets."""
    return plugins.names(PACKAGE)


def target(name: str) -> Target:
    """A target by name; what it needs must be installed."""
    if name not in targets():
        raise UsageError(f"Cannot export to {ascii_line(name)}{nearest(name, targets())}")
    found: Target = plugins.get(PACKAGE, name)
    if found.package and importlib.util.find_spec(found.package) is None:
        extra = found.extra or found.package
        raise UsageError(f"An export to {name} needs the package {found.package}: pip install 'corml[{extra}]'.")
    return found


def check_place(to: str, path: str | os.PathLike[str], *, force: bool) -> Path:
    """Check, before any long work, that an export can be written there, and that nothing else is lost by it."""
    place = followed(Path(os.path.abspath(path)))
    if not os.path.isdir(place):  # where a name is too long, that of Path fails
        atomic.writable(place)
    if not os.path.lexists(place):
        return place
    name = ascii_line(path, 200)
    if not target(to).is_ours(place):
        raise UsageError(f"{name} exists and is not an export to {to}: choose another name.")
    if not force:
        raise UsageError(f"{name} exists: choose another name, or replace it with force=True (--force).")
    return place


def export_model(
    model: Recommender,
    to: str,
    path: str | os.PathLike[str],
    *,
    lists: bool = False,
    pairs: int | None = KEEP,
    k: int = 10,
    hide_events: Any = None,
    exclude_recent: Any = None,
    digest: str | None = None,
    name: str = "",
    force: bool = False,
    progress: Progress = silent,
) -> Exported:
    """Write a model's weights between items, or the lists of all its users, and the query to ask them with.

    `pairs` are kept for each item, the largest in size; None keeps all. `k` is the length of lists, also of those by
    which the loss is measured. `hide_events` and `exclude_recent` say which known items stay out of lists, as for
    `recommend`. `digest` is that of the model's file. An export that is there is replaced with `force`.
    A page (`to="html"`) has the whole model, under a `name`; that of the page if none is given.
    """
    chosen = target(to)
    model._check_fitted()
    list_length(k, model.items_)
    if pairs is not None and (isinstance(pairs, bool) or not isinstance(pairs, int) or pairs < 1):
        raise UsageError(f"pairs (--pairs) must be a whole number from 1, or all; got {ascii_line(pairs)}.")
    place = check_place(to, path, force=force)
    what = _contents_of(chosen, to, model, lists=lists, pairs=pairs)
    known = {"hide_events": hide_events, "exclude_recent": exclude_recent}
    known = {option: value for option, value in known.items() if value is not None}
    if known and not lists:
        raise UsageError(f"{next(iter(known))} is about the lists of users: give lists=True (--lists) too.")
    if lists:
        model.recommend(model.users_.labels[:0].tolist(), k=k, **known)  # whatever is wrong is said first
    query = chosen.queries.get(what, "")
    facts = _facts(model, what, query, digest)
    if not chosen.whole:
        facts |= {"k": k, **plain(known)} if lists else {"pairs_per_item": "all" if pairs is None else pairs}

    def tables() -> Iterator[Table]:
        yield _contents.items(model)
        if lists:
            yield _contents.lists(model, k, known, facts, progress)
        else:
            yield _contents.pairs(model, pairs, k, facts, progress)
        yield _contents.metadata(facts)

    with as_utf8(), atomic.building(place) as built:
        chosen.write(Job(model, tables(), name or place.stem, facts), built)
    return Exported(Path(path), facts, query)


def _contents_of(chosen: Target, to: str, model: Recommender, *, lists: bool, pairs: int | None) -> str:
    """What an export has: «pairs», «lists» or the «model»; what cannot be had is refused."""
    if chosen.whole:
        if lists or pairs not in (KEEP, None):
            raise UsageError(f"An export to {to} has the whole model: leave lists (--lists) and pairs (--pairs) out.")
        return "model"
    if lists:
        if not len(model.users_):
            raise UsageError(
                "This model file was saved without its users, so there are no lists to export: export pairs."
            )
        return "lists"
    check_adds_up(model)
    return "pairs"


def _facts(model: Recommender, what: str, query: str, digest: str | None) -> dict[str, Any]:
    """What is known before the work; nothing of the hour or the machine, so that equal exports are equal."""
    return {
        "format": FORMAT,
        "corml": VERSION,
        "contents": what,
        "model": model.NAME,
        "model_digest": digest,
        "data_fingerprint": model.fitted_.fingerprint,
        "settings": dict(model.settings_),
        "items": len(model.items_),
        "users": int(model.train_.shape[0]),
        "query": query,
    }
