"""Split files and folders of stores that were split, damaged with corrected digests where there are any."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

import corml
from attack import mutate
from attack.model_files import packed
from corml.persistence import container
from support import random_interactions

FULL, SHORT = 700, 40


def prepare(folder: Path) -> dict[str, Any]:
    """A few kinds of splits as files, and one as a folder."""
    data = random_interactions(3, users=30, items=16)
    files = []
    for how in ("ratio", "new-users", "k-fold"):
        made = corml.split(data, how, seed=1)
        (made[0] if isinstance(made, list | tuple) else made).save(folder / "valid.split")
        files.append((folder / "valid.split").read_bytes())
    data.to_frame().write_parquet(folder / "pairs.parquet")
    store = corml.build_store(folder / "pairs.parquet", folder / "valid.store")
    corml.split(store, "ratio", seed=1, out=folder / "valid-parts")
    return {"files": files, "model": corml.Popularity().fit(data), "parts": folder / "valid-parts"}


def case(valid: dict[str, Any], rng: np.random.Generator, folder: Path) -> int:
    """One damaged split, read and evaluated on."""
    if rng.random() < 0.3:
        path = folder / "parts"
        shutil.copytree(valid["parts"], path)
        damage_folder(rng, path, "split.json")
    else:
        path = folder / "s.split"
        good = container.unpack(mutate.choose(rng, valid["files"]), kind=container.SPLIT)
        arrays, meta = dict(good.arrays), {key: value for key, value in good.meta.items() if key != "format"}
        for _ in range(int(rng.integers(1, 3))):
            if rng.random() < 0.5:
                meta = mutate.facts(rng, meta)
            else:
                at = mutate.choose(rng, arrays)
                arrays[at] = mutate.array(rng, arrays[at])
        path.write_bytes(packed(arrays, meta))
    split = corml.read_split(path)
    print(split, split.counts() if hasattr(split, "counts") and callable(split.counts) else "")
    means = corml.evaluate(valid["model"], split, ["ndcg@5"]).means
    if not all(np.isfinite(value) for value in means.values()):
        raise AssertionError(f"not finite: {means}")
    return 0


def damage_folder(rng: np.random.Generator, folder: Path, manifest: str) -> None:
    """Damage the facts of a folder, or one of its files."""
    path = folder / manifest
    if rng.random() < 0.5:
        path.write_text(json.dumps(mutate.facts(rng, json.loads(path.read_text()))))
        return
    files = sorted(one for one in folder.rglob("*") if one.is_file())
    chosen = mutate.choose(rng, files)
    data = mutate.raw(rng, chosen.read_bytes(), most=2)
    chosen.unlink()  # it may be a link to a file of the store
    if rng.random() < 0.8:
        chosen.write_bytes(data)
