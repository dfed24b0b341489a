"""Folders of studies and journals of searches with damaged records, read, and gone on with."""

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


def case(valid: dict[str, Any], rng: np.random.Generator, folder: Path) -> int:
    """One damaged folder or journal, used."""
    if rng.random() < 0.3:
        path = folder / "s.journal"
        path.write_bytes(_journal(rng, (valid["folder"] / "valid.journal").read_bytes()))
        print(corml.tune("item-knn", valid["split"], journal=path, **{**SEARCH, "trials": 4}))
        return 0
    path = shutil.copytree(valid["folder"] / "valid", folder / "study")
    files = sorted(one for one in path.rglob("*") if one.suffix in (".json", ".journal"))
    for _ in range(int(rng.integers(1, 3))):
        chosen = mutate.choose(rng, files)
        if chosen.suffix == ".journal":
            chosen.write_bytes(_journal(rng, chosen.read_bytes()))
            break
        elif rng.random() < 0.7:
            chosen.write_text(json.dumps(mutate.facts(rng, json.loads(chosen.read_text()))))
        else:
            chosen.write_bytes(mutate.raw(rng, chosen.read_bytes(), most=2))
            break
    if rng.random() < 0.3:
        mutate.choose(rng, sorted((path / "cells").iterdir())).unlink()  # work that is left to do
    _use(path, int(rng.integers(KINDS)), valid["split"])
    return 0


def _journal(rng: np.random.Generator, data: bytes) -> bytes:
    """A journal with one of its records changed, repeated or gone; or with other bytes."""
    if rng.random() < 0.2:
        return mutate.raw(rng, data, most=2)
    lines = data.splitlines()
    at = int(rng.integers(len(lines)))
    kind = int(rng.integers(6))
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(int(rng.integers(len(lines))), lines[at])
    else:
        lines[at] = json.dumps(mutate.facts(rng, json.loads(lines[at]))).encode()
    return b"\n".join(lines) + b"\n"


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
    """A study, made or gone on with."""
    return corml.compare(["popularity", "item-knn"], split, folder=path, trials=2, **HOW)
