"""Checkpoints of gradient models that are not what training wrote, with correct digests."""

from pathlib import Path
from typing import Any

import numpy as np

from attack import mutate
from attack.model_files import packed
from corml import models
from corml._runtime.settings import declared
from corml.persistence import container
from support import random_interactions

EACH = 500
NAMES = [name for name in models.names() if "epochs" in declared(models.get(name))]
FULL, SHORT = EACH * len(NAMES), 4 * len(NAMES)


class Stopped(Exception):
    """Training was stopped."""


def prepare(folder: Path) -> dict[str, Any]:
    """A checkpoint of every gradient model after one of two epochs."""
    data, files = random_interactions(3, users=20, items=12), {}
    for name in NAMES:
        path = folder / f"{name}.ckpt"

        def stop(*_: Any) -> None:
            raise Stopped

        try:
            _model(name).fit(data, checkpoint=path, after_epoch=stop)
        except Stopped:
            pass
        files[name] = path.read_bytes()
    return {"data": data, "files": files}


def _model(name: str) -> Any:
    settings = {key: value for key, value in {"epochs": 2, "size": 4}.items() if key in declared(models.get(name))}
    return models.make(name, settings)


def case(valid: dict[str, Any], rng: np.random.Generator, folder: Path) -> int:
    """One damaged checkpoint, gone on from."""
    name = NAMES[int(folder.name.partition("-")[2]) % len(NAMES)]  # as many of each
    good, other = (container.unpack(valid["files"][one]) for one in (name, mutate.choose(rng, NAMES)))
    arrays, meta = dict(good.arrays), {key: value for key, value in good.meta.items() if key != "format"}
    for _ in range(int(rng.integers(1, 3))):
        kind = int(rng.integers(4))
        if kind == 0:
            meta = mutate.facts(rng, meta)
        elif kind == 1 and isinstance(meta, dict) and isinstance(meta.get("notes"), dict):
            meta = {**meta, "notes": mutate.facts(rng, meta["notes"])}
        elif kind == 2:
            at = mutate.choose(rng, arrays)
            arrays[at] = mutate.array(rng, arrays[at])
        else:
            at = mutate.choose(rng, other.arrays)
            arrays[at] = other.arrays[at]
    path = folder / "c.ckpt"
    path.write_bytes(packed(arrays, meta))
    model = _model(name)
    model.fit(valid["data"], checkpoint=path)
    lists = model.recommend(list(valid["data"].users)[:3], k=3)
    if not np.isfinite(np.asarray(lists.scores, dtype=float)).all():
        raise AssertionError(f"not finite: {lists.scores}")
    return 0
