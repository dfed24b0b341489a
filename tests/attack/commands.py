"""Commands that kills and signals interrupt: what must hold afterwards is said once, for both."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import corml
from attack import mutate
from attack.arena import Unsound
from support import random_interactions

SOURCE = Path(corml.__file__).parents[1]
OWN = 1 << 30  # bytes that the reading of what was written may take here
LONGEST = 6.0  # seconds after which an interruption comes at the latest


def prepare(folder: Path) -> dict[str, Any]:
    """Data, a model, a store and a split to work with, and the time that each command takes."""
    data = random_interactions(3, users=400, items=120)
    data.to_frame().write_csv(folder / "pairs.csv")
    corml.CoRML(rank=8).fit(data).save(folder / "m.corml")
    corml.build_store(folder / "pairs.csv", folder / "s.store")
    corml.split(data, "ratio", seed=1).save(folder / "s.split")
    return {"folder": folder}


def commands(base: Path, out: Path) -> dict[str, tuple[list[str], Path]]:
    """Each command with what it writes."""
    pairs, model, store, split = (str(base / name) for name in ("pairs.csv", "m.corml", "s.store", "s.split"))
    return {
        "fit": (["fit", pairs, "--out", str(out / "a.corml")], out / "a.corml"),
        "fit on a store": (["fit", store, "--work", str(out / "w"), "--out", str(out / "b.corml")], out / "b.corml"),
        "store": (["data", "store", pairs, str(out / "c.store")], out / "c.store"),
        "split": (["data", "split", pairs, str(out / "d.split")], out / "d.split"),
        "convert": (["data", "convert", pairs, str(out / "e.parquet")], out / "e.parquet"),
        "lists": (["recommend", model, "--all", "--out", f"{out}/lists/"], out / "lists"),
        "compare": (["compare", pairs, "--models", "popularity,item-knn", "--out", str(out / "study")], out / "study"),
        "evaluate": (["evaluate", model, "--split", split], out / "nothing"),
        "update": (["update", model, pairs, "--out", str(out / "f.corml")], out / "f.corml"),
        "export": (["export", model, "--to", "sqlite", "--force", "--out", str(out / "g.sqlite")], out / "g.sqlite"),
        "report": (["report", model, "--split", split, "--out", str(out / "h.html")], out / "h.html"),
    }


def start(words: list[str]) -> subprocess.Popen[str]:
    """Start a command."""
    path = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-m", "corml", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip


def interrupted(rng: np.random.Generator, words: list[str], number: int) -> tuple[int, str, float]:
    """Send a signal to a command at any moment: exit code, last words, and seconds until it ended."""
    with start(words) as process:
        try:
            out, err = process.communicate(timeout=float(rng.uniform(0.05, LONGEST)) ** 1.0)
            return process.returncode, out + err, 0.0
        except subprocess.TimeoutExpired:
            process.send_signal(number)
            begun = time.monotonic()
        try:
            out, err = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            raise Unsound(f"corml {' '.join(words)} goes on for 30 s after signal {number}") from None
        return process.returncode, out + err, time.monotonic() - begun


def whole_or_nothing(words: list[str], out: Path) -> None:
    """What an interrupted command left is whole, or goes on to a whole one by the same command."""
    with start(words) as again:
        said, errors = again.communicate(timeout=120)
    if again.returncode != 0:
        raise Unsound(
            f"corml {' '.join(words)} after an interruption: {again.returncode} {said[-300:]} {errors[-600:]}"
        )
    left = [str(one) for one in out.parent.rglob("*") if ".tmp" in one.name or one.name.startswith(".corml-")]
    if left:
        raise Unsound(f"corml {' '.join(words)} left {left}")
    read(out)


def read(out: Path) -> None:
    """Read what a command wrote."""
    if out.suffix == ".corml":
        corml.read_model(out)
    elif out.suffix == ".store":
        corml.Store(out, verify=True)
    elif out.suffix == ".split":
        corml.read_split(out)
    elif out.name == "study":
        assert corml.read_study(out)
    elif out.suffix == ".parquet":
        corml.load(out)


def chosen(rng: np.random.Generator, valid: dict[str, Any], folder: Path) -> tuple[str, list[str], Path]:
    """One of the commands."""
    all_of_them = commands(valid["folder"], folder)
    name = mutate.choose(rng, all_of_them)
    return name, *all_of_them[name]
