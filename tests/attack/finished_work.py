"""The folder of a fit on a store that was stopped: damaged, and gone on with. What is damaged is made again."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

import corml
from attack import mutate
from attack.arena import Unsound
from corml.outofcore.fit import pair_work
from support import random_interactions

FULL, SHORT = 300, 5
MODEL = {"rank": 4, "candidates": 4}


class Stopped(Exception):
    """The fit was stopped."""


def prepare(folder: Path) -> dict[str, Any]:
    """A store, what a fit on it leaves when it is stopped in each of two stages, and what the fit learns."""
    random_interactions(3, users=60, items=24).to_frame().write_parquet(folder / "pairs.parquet")
    store = corml.build_store(folder / "pairs.parquet", folder / "valid.store")
    pair_work.SECONDS = 0.0  # every point of the solver is kept
    for stage in ("solve", "pricing"):
        _stop(store, folder / stage, stage)
    return {"folder": folder, "store": store, "learned": _learned(store, folder / "whole")}


def _stop(store: Any, work: Path, stage: str) -> None:
    def progress(at: str, done: int, total: int) -> None:
        if at == stage and done:
            raise Stopped

    try:
        corml.fit_store(corml.CoRML(**MODEL), store, work=work, progress=progress)
    except Stopped:
        return
    raise AssertionError(f"the fit was never in the stage {stage}")


def _learned(store: Any, work: Path) -> list[list[float]]:
    model = corml.fit_store(corml.CoRML(**MODEL), store, work=work)
    return np.asarray(model.scores([[label] for label in model.items_.labels[:5]])).tolist()


def case(valid: dict[str, Any], rng: np.random.Generator, folder: Path) -> int:
    """One damaged folder, and the same fit once more."""
    work = shutil.copytree(valid["folder"] / mutate.choose(rng, ["solve", "pricing"]), folder / "work")
    files = sorted(one for one in work.rglob("*") if one.is_file())
    abouts = [one for one in files if one.name == "about.json"]
    for _ in range(int(rng.integers(1, 4))):
        chosen = mutate.choose(rng, abouts if rng.random() < 0.5 else files)
        if not chosen.exists():
            continue
        if chosen.suffix == ".json" and rng.random() < 0.7:
            chosen.write_text(json.dumps(mutate.facts(rng, json.loads(chosen.read_text()))))
        elif rng.random() < 0.8:
            chosen.write_bytes(mutate.raw(rng, chosen.read_bytes(), most=2))
        else:
            chosen.unlink()
        if chosen.suffix == ".json":
            break
    if _learned(valid["store"], work) != valid["learned"]:
        raise Unsound("the fit learned something else from damaged work")
    return 0
