"""Fits in memory, before there were fits in files and now (run: python benchmarks/before_and_now.py [DATA ROUNDS]).

The code of the commit before is checked out aside. Both fit `CoRML()` on the train part in turns, each time in a
process of its own that has compiled its kernels, by one thread, and both import `corml`. Processor seconds, and the
ratio of the medians and of the least. Writes results/speed/before_and_now-DATA.json.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

BEFORE = "18d0fdd"
ROUNDS = 5
ROOT = Path(__file__).resolve().parents[1]
IMPORT = "import time; b = time.process_time(); import corml; print(time.process_time() - b)"


def fit(data: str) -> None:
    from _machine import load_split

    import corml

    corml.CoRML(rank=2).fit(load_split("movielens-small").train)
    corml.CoRML(rank=2, candidates=5).fit(load_split("movielens-small").train)
    train = load_split(data).train
    begun = time.process_time()
    model = corml.CoRML().fit(train)
    took = time.process_time() - begun
    print(json.dumps({"fit": took, "entries of H": int(model.H_.nnz), "rank": model.V_.shape[1]}))


def run(source: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(source), "CORML_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *words], env=environment, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()[-1]


def main(data: str, rounds: int) -> None:
    from _record import begin, git, write

    begun = begin(data)
    found: dict[str, Any] = {"before": {"commit": BEFORE}, "now": {"commit": begun["commit"]}}
    with tempfile.TemporaryDirectory() as folder:
        aside = f"{folder}/before"
        git("worktree", "add", "--detach", aside, BEFORE)
        sources = {"before": Path(aside) / "src", "now": ROOT / "src"}
        times: dict[str, dict[str, list[float]]] = {when: {"fit": [], "import": []} for when in sources}
        try:
            for at in range(rounds + 1):  # the first is not counted: it may compile
                for when, source in sources.items():
                    fitted = json.loads(run(source, __file__, "--one", data))
                    imported = float(run(source, "-c", IMPORT))
                    if at:
                        times[when]["fit"].append(round(fitted.pop("fit"), 3))
                        times[when]["import"].append(round(imported, 4))
                        found[when] |= fitted
                        print(when, fitted, times[when], flush=True)
        finally:
            git("worktree", "remove", "--force", aside)
    for when in sources:
        found[when] |= {"cpu seconds": times[when]}
    for what in ("fit", "import"):
        found[f"{what}, now over before"] = {
            name: round(of(times["now"][what]) / of(times["before"][what]), 3)
            for name, of in (("median", statistics.median), ("least", min))
        }
    print(write(f"speed/before_and_now-{data}", begun, found), found)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        fit(sys.argv[2])
    else:
        main((sys.argv[1:2] or ["gowalla"])[0], int((sys.argv[2:3] or [str(ROUNDS)])[0]))
