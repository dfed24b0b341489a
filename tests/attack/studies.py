"""Folders of studies and journals of searches with damaged records, read and resumed."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

import corml
from attack import mutate, program
from support import random_interactions

FULL, SHORT = 500, 40


HOW: dict[str, Any] = {"metrics": ["ndcg@5"], "primary": "ndcg@5"}
SEARCH: dict[str, Any] = {"trials": 3, "metric": "ndcg@5", "space": ["neighbours"], "seed": 1}


def prepare(folder: Path) -> dict[str, Any]:
    """A small study with a model that was tuned, and a search with its journal."""
    split = corml.split(random_interactions(3, users=30, items=16), "ratio", seed=1)
    valid = {"folder": folder, "split": split}
    _compared(folder / "valid", split)
    corml.tune("item-knn", split, journal=folder / "valid.journal", **SEARCH)
    return valid


def warm(valid: dict[str, Any], folder: Path) -> None:
    for kind in range(KINDS):
        _use(shutil.copytree(folder / "valid", folder / f"warm-{kind}"), kind, valid["split"])
    corml.tune("item-knn", valid["split"], journal=folder / "valid.journal", **SEARCH)


def _damage(rng: np.random.Generator, path: Path) -> None:
    """A file with other facts, or with other bytes."""
    try:
        facts = json.loads(path.read_text())
    except ValueError:  # damaged already
        return
    if rng.random() < 0.7:
        path.write_text(json.dumps(mutate.facts(rng, facts)))
    else:
        path.write_bytes(mutate.raw(rng, path.read_bytes(), most=2))


def case(valid: dict[str, Any], rng: np.random.Generator, folder: Path) -> int:
    """One damaged study or journal, used."""
    if rng.random() < 0.3:
        path = shutil.copytree(valid["folder"] / "valid.journal", folder / "s.journal")
        _damage(rng, mutate.choose(rng, sorted(path.rglob("*.json"))))
        print(corml.tune("item-knn", valid["split"], journal=path, **{**SEARCH, "trials": 4}))
        return 0
    path = shutil.copytree(valid["folder"] / "valid", folder / "study")
    for _ in range(int(rng.integers(1, 3))):
        _damage(rng, mutate.choose(rng, sorted(path.rglob("*.json"))))
    if rng.random() < 0.3:
        mutate.choose(rng, sorted((path / "runs").iterdir())).unlink()  # work that is left to do
    _use(path, int(rng.integers(KINDS)), valid["split"])
    return 0


def _use(path: Path, kind: int, split: Any) -> Any:
    if kind == 1:
        return program.corml("report", str(path), "--out", str(path / "page.html"))
    if kind == 2:
        return print(_compared(path, split))
    study = corml.read_study(path)
    print(study)
    return study


def _compared(path: Path, split: Any) -> Any:
    """A study, made or gone on with."""
    return corml.compare(["popularity", "item-knn"], split, folder=path, trials=2, **HOW)


KINDS = 5


def _use(path: Path, kind: int, split: Any) -> Any:
    if kind == 1:
        return program.corml("report", str(path), "--out", str(path / "page.html"))
    if kind == 2:
        return print(_compared(path, split))
    study = corml.read_study(path)
    print(study)
    return study


def _compared(path: Path, split: Any) -> Any:
    """A study, made or resumed."""
    return corml.compare(["popularity", "item-knn"], split, folder=path, trials=2, **HOW)
