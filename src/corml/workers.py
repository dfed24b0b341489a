"""What workers of a cluster do with a model: open it, once, and make lists of some users."""

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from corml.models import read_model
from corml.parts.make import Maker
from corml.parts.on_cluster import FILE, model_file
from corml.parts.people import whose
from corml.recommender import Recommender
from corml.store import Store
from corml.tasks import Artefact, Draft

__all__ = ["lists", "opened"]


def opened(artefact: Artefact) -> Recommender:
    """The model in an artefact; of one process it is opened once."""
    return _read(artefact.folder)


@lru_cache(maxsize=2)
def _read(folder: Path) -> Recommender:
    return read_model(model_file(folder))


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
    store: str | None,
) -> dict[str, Any]:
    """Write the lists of the people from the first to before the last, and tell what there is to know of the file."""
    model = opened(inputs["model"])
    people = whose(model, None, None if store is None else Store(store), options)
    data, counts = Maker(model, people, k, options, piece).part(first, last, lambda _: None)
    (out.folder / FILE).write_bytes(data)
    return {**counts, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
