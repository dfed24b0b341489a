"""What ids cost, in memory and in a model file, before and now (run: python benchmarks/ids.py [LABELS]).

Ids are `Ids` of generated labels of 8 to 12 bytes, as many as asked for and as few as a small catalogue has. Model
files are those of the popularity baseline, which learns nothing but counts: so many users with five pairs each.
Everything is measured in a process of its own, once with the code that runs this file and once with that of the commit
before ids were bytes, which is checked out aside; looking for ids is measured in processor seconds. Memory is anonymous
memory, what a process has for itself; pages of a mapped file are not. Writes results/speed/ids.json; with a number of
labels results/speed/ids-LABELS.json.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

BEFORE = "18d0fdd"
LABELS = 1_000_000
SMALL = 5_000
ITEMS = 20_000
PAIRS = 5  # of a user
ASKED = 100_000  # labels that are looked for
TIMES = 2_000  # that one label is looked for alone
STEP = 7919  # a prime, so that no label comes twice
ROOT = Path(__file__).resolve().parents[1]


def labels(count: int) -> Iterator[str]:
    """Distinct texts of 8 to 12 bytes, in no order."""
    return (f"u{row * STEP % count:0{7 + row % 5}d}" for row in range(count))


def anonymous() -> int:
    (line,) = [line for line in open("/proc/self/status") if line.startswith("RssAnon")]
    return int(line.split()[1]) * 1024


@contextmanager
def watched(into: dict[str, Any], name: str) -> Iterator[None]:
    """Add the seconds, and the most anonymous memory beyond what there was, to a record."""
    start, most, done = anonymous(), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.002):
            most[0] = max(most[0], anonymous())

    watcher = threading.Thread(target=watch)
    watcher.start()
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    into[f"{name} seconds"] = round(time.perf_counter() - wall, 3)
    into[f"{name} cpu seconds"] = round(time.process_time() - cpu, 3)
    done.set()
    watcher.join()
    into[f"{name} peak bytes"] = max(most[0], anonymous()) - start
    into[f"{name} kept bytes"] = anonymous() - start


# --- in a process of its own, with the code of either time -----------------------------------------------------------


def warm() -> None:
    """Everything is imported and compiled before it is measured."""
    from corml.data.ids import Ids

    ids = Ids([f"w{row}" for row in range(70_000)], kind="user")
    ids.find(["w1", "x"])
    _ = "w2" in ids


def ids(count: int) -> dict[str, Any]:
    from corml._runtime import memory
    from corml.data.ids import Ids

    warm()
    memory.release()
    record: dict[str, Any] = {"labels": count, "bytes of a label": sum(map(len, labels(count))) / count}
    with watched(record, "make"):
        made = Ids(labels(count), kind="user")
        made.find(["u0000001"])  # whatever is made at the first look
        memory.release()
    record["bytes a label"] = round(record["make kept bytes"] / count, 1)
    some = list(labels(count))
    asked = [some[row] for row in np.random.default_rng(1).integers(0, count, ASKED).tolist()]
    for name, wanted in (("known", asked), ("unknown", [f"x{label}" for label in asked])):
        begun = time.process_time()
        rows = made.find(wanted)
        record[f"nanoseconds to find one of many, {name}"] = round(1e9 * (time.process_time() - begun) / ASKED)
        assert (rows >= 0).all() == (name == "known")
    record["microseconds to find one alone"] = alone_in(made, asked)
    begun = time.process_time()
    record["fingerprint"] = made.fingerprint
    record["fingerprint cpu seconds"] = round(time.process_time() - begun, 3)
    return record


def alone_in(made: Any, asked: list[str]) -> float:
    best = []
    for _ in range(5):
        begun = time.process_time()
        for label in asked[:TIMES]:
            made.numbers([label])
        best.append((time.process_time() - begun) / TIMES)
    return round(1e6 * min(best), 3)


def save(count: int, path: str) -> dict[str, Any]:
    import corml
    from corml._runtime import memory
    from corml.data.ids import Ids

    warm()
    rng = np.random.default_rng(2)
    cells = np.unique(rng.integers(0, count * ITEMS, PAIRS * count))
    user, item = (part.astype(np.int32) for part in np.divmod(cells, ITEMS))
    people, things = Ids(labels(count), kind="user"), Ids(range(ITEMS))
    data = corml.Interactions(people, things, user, item)
    record: dict[str, Any] = {}
    with watched(record, "fingerprint of the data"):
        record["data fingerprint"] = data.fingerprint
    model = corml.models.make("popularity").fit(data)
    memory.release()
    with watched(record, "save"):
        model.save(path)
    return record | {"file bytes": os.path.getsize(path)}


def load(count: int, path: str) -> dict[str, Any]:
    import corml
    from corml._runtime import memory

    corml.models.make("popularity")
    warm()
    memory.release()
    record: dict[str, Any] = {}
    with watched(record, "load"):
        model = corml.read_model(path)
        model.users_.find(["u0000001"])
        memory.release()
    assert len(model.users_) == count
    return record


# --- both ------------------------------------------------------------------------------------------------------------


def run(source: Path, *words: object) -> dict[str, Any]:
    told = subprocess.run(
        [sys.executable, __file__, "--one", *map(str, words)],
        env={**os.environ, "PYTHONPATH": str(source)},
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, Any] = json.loads(told.stdout.splitlines()[-1])
    return found


def one(what: str, count: str, *more: str) -> None:
    print(json.dumps({"ids": ids, "save": save, "load": load}[what](int(count), *more)))


def main(arguments: list[str]) -> None:
    from _record import begin, git, write

    count = int(arguments[0]) if arguments else LABELS
    begun = begin(generated={"by": "benchmarks/ids.py", "labels": count, "pairs a user": PAIRS, "seed": 0}, seed=0)
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        aside = f"{folder}/before"
        git("worktree", "add", "--detach", aside, BEFORE)
        try:
            for when, source in (("before", Path(aside) / "src"), ("now", ROOT / "src")):
                path = f"{folder}/{when}.corml"
                run(source, "ids", SMALL)  # whatever is compiled once
                found[when] = {
                    "commit": BEFORE if when == "before" else begun["commit"],
                    "small": run(source, "ids", SMALL),
                    "ids": run(source, "ids", count),
                    "model": run(source, "save", count, path) | run(source, "load", count, path),
                }
            same = Path(f"{folder}/before.corml").read_bytes() == Path(f"{folder}/now.corml").read_bytes()
        finally:
            git("worktree", "remove", "--force", aside)
    found["both wrote the same bytes"] = same
    print(write(f"speed/ids-{count}" if arguments else "speed/ids", begun, found))
    for when in ("before", "now"):
        print(when, json.dumps(found[when], indent=1))


if __name__ == "__main__":
    one(*sys.argv[2:]) if sys.argv[1:2] == ["--one"] else main(sys.argv[1:])
