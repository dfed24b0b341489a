"""Stores with damaged files or manifests, some with hashes that were corrected."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

import corml
from attack import mutate, program
from attack.splits import damage_folder
from support import random_interactions, with_weights

FULL, SHORT = 600, 30


def prepare(folder: Path) -> dict[str, Any]:
    """A store with weights and times."""
    data = with_weights(random_interactions(3, users=40, items=16))
    frame = data.to_frame()
    frame.write_parquet(folder / "pairs.parquet")
    weight = {"weight": "weight"} if "weight" in frame.columns else {}
    corml.build_store(folder / "pairs.parquet", folder / "valid.store", memory="8MB", **weight)
    return {"store": folder / "valid.store", "model": corml.Popularity().fit(data)}


def warm(valid: dict[str, Any], folder: Path) -> None:
    shutil.copytree(valid["store"], folder / "warm.store")
    (folder / "warm").mkdir()
    for kind in range(5):
        _use(folder / "warm.store", valid, kind, folder / "warm")


def case(valid: dict[str, Any], rng: np.random.Generator, folder: Path) -> int:
    """One damaged store, used."""
    path = folder / "s.store"
    shutil.copytree(valid["store"], path)
    if rng.random() < 0.5:
        _damage_array(rng, path)
    else:
        damage_folder(rng, path, "manifest.json")
    if rng.random() < 0.8:
        rehash(path)
    _use(path, valid, int(rng.integers(5)), folder)
    return 0


def rehash(path: Path) -> None:
    """Make sizes, hashes and the fingerprint of the manifest those of the files."""
    try:
        facts = json.loads((path / "manifest.json").read_text())
        for name, about in facts["files"].items():
            data = (path / name).read_bytes()
            about |= {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        listed = "".join(f"{name} {about['sha256']}\n" for name, about in sorted(facts["files"].items()))
        facts["fingerprint"] = hashlib.sha256(listed.encode()).hexdigest()
    except (KeyError, TypeError, AttributeError, OSError, ValueError):
        return
    (path / "manifest.json").write_text(json.dumps(facts))


def _damage_array(rng: np.random.Generator, path: Path) -> None:
    """Other numbers in one of the arrays, or in the ids."""
    chosen = mutate.choose(rng, sorted(path.rglob("*.npy")))
    np.save(chosen, mutate.array(rng, np.load(chosen)))


def _use(path: Path, valid: dict[str, Any], kind: int, folder: Path) -> None:
    store = corml.Store(path)
    if kind == 0:
        store.interactions().fingerprint  # noqa: B018
    elif kind == 1:
        model = corml.fit_store(corml.CoRML(rank=4, adapt=False), store)
        assert np.isfinite(model.recommend(history=[list(model.items_)[:2]]).scores).all()
    elif kind == 2:
        corml.recommend_to(valid["model"], folder / "lists", data=store, k=3)
    elif kind == 3:
        corml.split(store, "ratio", seed=1, out=folder / "parts")
    else:
        program.corml("data", "info", str(path))
