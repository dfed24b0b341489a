"""One user with very many items, beside 199 with one: what models take with and without `longest_history`.

Run: python benchmarks/heavy_user.py [N …]. Each fit is a process of its own, stopped after LIMIT seconds of processor
time. Writes results/speed/heavy_user.json.
"""

import json
import resource
import subprocess
import sys
import time
from itertools import product
from typing import Any

import numpy as np
from _record import begin, write

from corml import models
from corml.data.interactions import Interactions
from corml.data.long_histories import LONGEST

SIZES = (1_000, 10_000, 100_000)
MODELS: dict[str, dict[str, Any]] = {"corml": {}, "ease": {"route": "local"}, "slim": {}, "item-knn": {}}
LIMIT = 40  # seconds of processor time
OTHERS = 199


def data_of(n: int) -> Interactions:
    """The interactions of the heavy user and of the others."""
    items = [*range(n), *np.random.default_rng(0).integers(0, n, OTHERS).tolist()]
    users = ["heavy"] * n + [f"u{number}" for number in range(OTHERS)]
    return Interactions.from_pairs(users, [f"i{item}" for item in items])


def one(name: str, n: int, longest: int | None) -> None:
    """Fit once, in this process, and print what it took."""
    settings = MODELS[name] | {"longest_history": longest}
    models.make(name, settings).fit(data_of(300))  # compiled before it is timed
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT + int(time.process_time()), resource.RLIM_INFINITY))
    data = data_of(n)
    wall, cpu = time.perf_counter(), time.process_time()
    model = models.make(name, settings).fit(data)
    took = {"cpu seconds": time.process_time() - cpu, "seconds": time.perf_counter() - wall}
    plan = model.fitted_.plan
    took |= {"predicted seconds": getattr(plan, "predicted_seconds", None), "left out": plan.left_out if plan else 0}
    took["peak bytes"] = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps(took))


def measured(name: str, n: int, longest: int | None) -> dict[str, Any]:
    """The same in a process of its own; what was not finished is said."""
    words = [sys.executable, __file__, "--one", name, str(n), str(longest or 0)]
    ended = subprocess.run(words, capture_output=True, text=True)
    if ended.returncode:
        last = (ended.stderr.strip().splitlines() or [f"more than {LIMIT} s of processor time"])[-1]
        return {"stopped": last}
    return json.loads(ended.stdout)


def main(sizes: tuple[int, ...]) -> None:
    begun = begin(generated={"by": "data_of", "seed": 0, "others": OTHERS, "sizes": list(sizes)}, seed=0)
    rows: list[dict[str, Any]] = []
    for n, longest, name in product(sizes, (LONGEST, None), MODELS):
        rows.append({"model": name, "n": n, "longest history": longest, **measured(name, n, longest)})
        print(rows[-1], flush=True)
        write("speed/heavy_user", begun, {"limit": LIMIT, "rows": rows})


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) or None)
    else:
        main(tuple(int(word) for word in sys.argv[1:]) or SIZES)
