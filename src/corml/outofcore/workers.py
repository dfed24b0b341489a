"""What workers of a cluster do with a model: open it, once, and make lists of some users."""

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from corml.data.store import Store
from corml.errors import UsageError, ascii_line
from corml.models import read_model
from corml.models.recommender import Recommender
from corml.outofcore.lists.make import Maker
from corml.outofcore.lists.on_cluster import FILE, model_file
from corml.outofcore.lists.people import Whose, whose
from corml.outofcore.tasks import Artefact, Draft

__all__ = ["lists", "opened"]


def opened(artefact: Artefact) -> Recommender:
    """The model in an artefact; of one process it is opened once."""
    return _read(artefact.folder)


@lru_cache(maxsize=2)
def _read(folder: Path) -> Recommender:
    return read_model(model_file(folder))


@lru_cache(maxsize=1)  # ids of items, and the latest of all times, are read once
def _people(folder: Path, store: str | None, version: str | None, *, ages: bool) -> Whose:
    """Everybody in a store, or all users of the model; a store of another version is opened anew."""
    options = {"exclude_recent": "1s"} if ages else {}
    return whose(_read(folder), None, None if store is None else Store(store), options)


def lists(
    inputs: Mapping[str, Artefact],
    out: Draft,
    *,
    first: int,
    last: int,
    k: int,
    piece: int,
    options: Mapping[str, Any],
    asked: Mapping[str, Any],
    now: str | None,
    store: str | None,
) -> dict[str, Any]:
    """Write the lists of the people from the first to before the last, and tell what there is to know of the file."""
    model, whom = opened(inputs["model"]), asked["users"]
    people = _people(inputs["model"].folder, store, whom.get("store"), ages="exclude_recent" in options)
    if store is not None and people.facts() != whom:
        _people.cache_clear()  # it may be the right one when it is asked for again
        raise UsageError(f"{ascii_line(store, 200)} is another store on a worker: all need the same under this path.")
    data, counts = Maker(model, people, k, options, piece).part(first, last, lambda _: None)
    (out.folder / FILE).write_bytes(data)
    return {**counts, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
