"""Commands that kills and signals interrupt: what must hold afterwards is said once, for both."""

import contextlib
import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import corml
from attack import mutate
from attack.arena import Unsound
from support import random_interactions

SOURCE = Path(corml.__file__).parents[1]
OWN = 1 << 30  # bytes that the reading of what was written may take here
TRIES = 20  # interruptions of one command until one comes before its end
REPLACED = {".corml": "m.corml", ".split": "s.split"}  # what may be there before
TIMED = ("study", "h.html")  # they tell how long something took, as a remark in settings that were searched does


def prepare(folder: Path) -> dict[str, Any]:
    """Data, a model, a store and a split to work with; `alone` has what each command does when nobody interrupts it."""
    data = random_interactions(3, users=400, items=120)
    data.to_frame().write_csv(folder / "pairs.csv")
    corml.CoRML(rank=8).fit(data).save(folder / "m.corml")
    corml.build_store(folder / "pairs.csv", folder / "s.store")
    corml.split(data, "ratio", seed=1).save(folder / "s.split")
    return {"folder": folder, "alone": {}}


def commands(base: Path, out: Path) -> dict[str, tuple[list[str], Path]]:
    """Each command with what it writes."""
    pairs, model, store, split = (str(base / name) for name in ("pairs.csv", "m.corml", "s.store", "s.split"))
    gradient = ["--model", "bpr-mf", "--set", "epochs=5", "--checkpoint", str(out / "c.ckpt")]
    tuned = ["--model", "ease", "--trials", "4", "--journal", str(out / "j.journal")]
    return {
        "fit": (["fit", pairs, "--out", str(out / "a.corml")], out / "a.corml"),
        "fit on a store": (["fit", store, "--work", str(out / "w"), "--out", str(out / "b.corml")], out / "b.corml"),
        "fit with a checkpoint": (["fit", pairs, *gradient, "--out", str(out / "i.corml")], out / "i.corml"),
        "store": (["data", "store", pairs, str(out / "c.store")], out / "c.store"),
        "split": (["data", "split", pairs, str(out / "d.split")], out / "d.split"),
        "split of a store": (["data", "split", store, f"{out}/parts/"], out / "parts"),
        "convert": (["data", "convert", pairs, str(out / "e.parquet")], out / "e.parquet"),
        "lists": (["recommend", model, "--all", "--out", f"{out}/lists/"], out / "lists"),
        "lists of a store": (["recommend", model, "--store", store, "--all", "--out", f"{out}/all/"], out / "all"),
        "compare": (["compare", pairs, "--models", "popularity,item-knn", "--out", str(out / "study")], out / "study"),
        "tune": (["tune", pairs, *tuned, "--out", str(out / "k.toml")], out / "k.toml"),
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


@dataclass
class Stop:
    """An interruption that came while a command ran."""

    name: str
    words: list[str]
    out: Path
    old: str  # digest of what was there before, if there was something
    after: float  # share of its time after which it came
    code: int
    said: str
    took: float  # seconds until the command had ended


def interrupted(rng: np.random.Generator, valid: dict[str, Any], folder: Path, number: int) -> Stop:
    """Send a signal to one of the commands at any moment of its work; half of them write over what there is."""
    name = mutate.choose(rng, commands(valid["folder"], folder))
    seconds = _alone(valid, name)
    for at in range(TRIES):
        place = folder / f"try-{at}"
        place.mkdir()
        words, out = commands(valid["folder"], place)[name]
        old = ""
        if rng.random() < 0.5 and out.suffix in REPLACED:
            shutil.copy(valid["folder"] / REPLACED[out.suffix], out)
            old = digest(out)
        moment = float(rng.uniform(0.02, 1.0)) * seconds * 0.95**at
        with start(words) as process:
            try:
                process.communicate(timeout=moment)
                continue  # it was faster: once more, with less time
            except subprocess.TimeoutExpired:
                process.send_signal(number)
                begun = time.monotonic()
            try:
                said = "".join(process.communicate(timeout=30))
            except subprocess.TimeoutExpired:
                process.kill()
                raise Unsound(f"corml {' '.join(words)} goes on for 30 s after signal {number}") from None
            took = time.monotonic() - begun
            return Stop(name, words, out, old, moment / seconds, process.returncode, said, took)
    raise Unsound(f"{name} could not be interrupted")


def whole_or_nothing(valid: dict[str, Any], stop: Stop) -> None:
    """What there was is there or the new is; the same command then makes what it makes when nobody interrupts it."""
    told = f"corml {' '.join(stop.words)} after an interruption"
    if stop.out.is_file():
        if digest(stop.out) != stop.old:
            read(stop.out)
    elif stop.old:
        raise Unsound(f"{told}: what was there is lost")
    with start(stop.words) as again:
        said, errors = again.communicate(timeout=120)
    if again.returncode != 0:
        raise Unsound(f"{told}: {again.returncode} {said[-300:]} {errors[-600:]}")
    left = [str(one) for one in stop.out.parent.rglob("*") if ".tmp" in one.name or one.name.startswith(".corml-")]
    if left:
        raise Unsound(f"{told} left {left}")
    read(stop.out)
    if digest(stop.out) != valid["alone"][stop.name][1]:
        raise Unsound(f"{told} made something else than without one")


def _alone(valid: dict[str, Any], name: str) -> float:
    """Seconds that a command takes when nobody interrupts it; it is run once, and what it wrote is remembered."""
    if name not in valid["alone"]:
        place = valid["folder"] / f"alone {name}"
        place.mkdir()
        words, out = commands(valid["folder"], place)[name]
        begun = time.monotonic()
        with start(words) as process:
            said = "".join(process.communicate(timeout=120))
        if process.returncode != 0:
            raise Unsound(f"corml {' '.join(words)}: {said[-600:]}")
        valid["alone"][name] = time.monotonic() - begun, digest(out)
    return float(valid["alone"][name][0])


def digest(out: Path) -> str:
    """A hash of what a command wrote, where that is the same each time."""
    if not out.exists() or out.name in TIMED:
        return ""
    files = sorted(one for one in out.rglob("*") if one.is_file()) if out.is_dir() else [out]
    found = hashlib.sha256()
    for one in files:
        content = repr(tomllib.loads(one.read_text())).encode() if one.suffix == ".toml" else one.read_bytes()
        found.update(str(one.relative_to(out.parent)).encode() + content)
    return found.hexdigest()


def read(out: Path) -> None:
    """Read what a command wrote."""
    if out.suffix == ".corml":
        corml.read_model(out)
    elif out.suffix == ".store":
        corml.Store(out, verify=True)
    elif out.suffix == ".split" or out.name == "parts":
        corml.read_split(out)
    elif out.name == "study":
        assert corml.read_study(out)
    elif out.suffix == ".parquet":
        corml.load(out)
    elif out.suffix == ".sqlite":
        with contextlib.closing(sqlite3.connect(out)) as base:
            assert base.execute("pragma integrity_check").fetchone() == ("ok",)
    elif out.suffix == ".toml":
        assert tomllib.loads(out.read_text())["model"]
    elif out.suffix == ".html":
        assert out.read_text().rstrip().endswith("</html>")
