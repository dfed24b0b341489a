"""How a measurement is written down: one JSON file below results/, with what it takes to measure it again.

`begin` is called before the work, because it tells what holds then: the code, the data, the machine and its load.
`write` is the only way into the folder, and demands all of that.
"""

import importlib.metadata
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from _machine import SEED, alone, load_split

import corml
from corml._runtime.parallel import threads

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results"
KEYS = ("command", "seed", "data fingerprint", "versions", "commit", "date", "machine")
ALWAYS = ("numpy", "scipy", "numba")


def begin(
    *data: str | tuple[str, corml.Split],
    packages: Sequence[str] = (),
    generated: dict[str, Any] | None = None,
    seed: int = SEED,
) -> dict[str, Any]:
    """Where figures come from, for `write`.

    `data` are names of data sets in the paper's split, or names with a split; `generated` the parameters of made ones.
    """
    prints = {
        name: alone(fingerprint, name) if split is None else fingerprint_of(split)
        for name, split in ((one, None) if isinstance(one, str) else one for one in data)
    }
    own = {"corml": corml.__version__, "python": platform.python_version()}
    return {
        "command": command(),
        "seed": seed,
        "data fingerprint": prints | ({"generated": generated} if generated else {}),
        "versions": own | versions(*ALWAYS, *packages),
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
    }


def write(name: str, begun: dict[str, Any], measured: dict[str, Any]) -> Path:
    """Write results/NAME.json: what `begin` told, then what was measured."""
    missing = [key for key in KEYS if begun.get(key) in (None, "", {})]
    assert not missing, f"{name}: {missing} is missing"
    path = RESULTS / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**begun, **measured}, indent=1) + "\n", encoding="utf-8")
    return path


def read(name: str) -> dict[str, Any] | None:
    """What was written as results/NAME.json, if it was."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def command() -> str:
    """How the running script was started."""
    return shlex.join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]])


def fingerprint(name: str) -> dict[str, str]:
    """Of the training part and of the whole split."""
    return fingerprint_of(load_split(name))


def fingerprint_of(split: corml.Split) -> dict[str, str]:
    """Of the training part and of the whole split."""
    return {"train": split.train.fingerprint, "split": split.fingerprint}


def versions(*packages: str) -> dict[str, str]:
    """Versions of those that are installed."""
    installed = {}
    for package in packages:
        try:
            installed[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return installed


def commit() -> str:
    """The commit of the code that runs; `+changes` if the code was changed since."""
    changes = git("status", "--porcelain", "--", "src", "benchmarks")
    return git("rev-parse", "--short", "HEAD") + ("+changes" if changes else "")


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def machine() -> dict[str, Any]:
    """What decides how fast this machine is, and whether it was busy."""
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    return {
        "processor": model or platform.processor(),
        "cores": os.cpu_count(),
        "threads": threads(),
        "load before": round(os.getloadavg()[0], 2),
    }
