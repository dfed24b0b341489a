"""Folders of studies and searches with damaged records."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

import corml
from attack import mutate, program
from support import random_interactions

FULL, SHORT = 500, 40


def prepare(folder: Path) -> Path:
    """A small study with two models."""
    split = corml.split(random_interactions(3, users=30, items=16), "ratio", seed=1)
    corml.compare(["popularity", "item-knn"], split, metrics=["ndcg@5"], primary="ndcg@5", folder=folder / "valid")
    return folder / "valid"


def warm(valid: Path, folder: Path) -> None:
    _use(valid, 0)
    _use(valid, 1)


def case(valid: Path, rng: np.random.Generator, folder: Path) -> int:
    """One damaged folder, read and shown."""
    path = folder / "study"
    shutil.copytree(valid, path)
    files = sorted(one for one in path.rglob("*.json"))
    for _ in range(int(rng.integers(1, 3))):
        chosen = mutate.choose(rng, files)
        if rng.random() < 0.7:
            chosen.write_text(json.dumps(mutate.facts(rng, json.loads(chosen.read_text()))))
        else:
            chosen.write_bytes(mutate.raw(rng, chosen.read_bytes(), most=2))
            break
    _use(path, int(rng.integers(3)))
    return 0


def _use(path: Path, kind: int) -> Any:
    if kind == 1:
        return program.corml("report", str(path), "--out", str(path / "page.html"))
    study = corml.read_study(path)
    print(study)
    return study
