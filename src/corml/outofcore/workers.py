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
from corml.outofcore.lists.on_cluster import FILE, Maker, model_file
from corml.outofcore.lists.request import Users, users_of
from corml.outofcore.tasks import Artefact, Draft

__all__ = ["lists", "opened"]


def opened(artefact: Artefact) -> Recommender:
    """The model in an artefact; of one process it is opened once."""
    return _read(artefact.folder)


@lru_cache(maxsize=2)
def _read(folder: Path) -> Recommender:
    return read_model(model_file(folder))


@lru_cache(maxsize=1)  # ids of items, and the latest of all times, are read once
def _users(folder: Path, store: str | None, version: str | None, *, ages: bool) -> Users:
    """All users in a store, or of the model; a store of another version is opened again."""
    options = {"exclude_recent": "1s"} if ages else {}
    return users_of(_read(folder), None, None if store is None else Store(store), options)


def lists(
    inputs: Mapping[str, Artefact],
    out: Draft,
    *,
    first: int,
    last: int,
    k: int,
    piece: int,
    options: Mapping[str, Any],
    request: Mapping[str, Any],
    now: str | None,
    store: str | None,
) -> dict[str, Any]:
    """Write the lists of the users from the first to before the last, and tell what there is to know of the file."""
    model, whom = opened(inputs["model"]), request["users"]
    users = _users(inputs["model"].folder, store, whom.get("store"), ages="exclude_recent" in options)
    if store is not None and users.facts() != whom:
        _users.cache_clear()  # it may be the right one when it is asked for again
        raise UsageError(f"{ascii_line(store, 200)} is another store on a worker: all need the same under this path.")
    data, counts = Maker(model, users, k, options, piece).shard(first, last, lambda _: None)
    (out.folder / FILE).write_bytes(data)
    return {**counts, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
