"""Lists for a million known users, in parts (run: python benchmarks/lists_in_parts.py [USERS ITEMS]).

Generated data (_powerlaw.py), as in lists.py: 1,000,000 users with 20 items each in the mean, out of 100,000. CoRML()
learns from a tenth of the users and is told of the others (`update`), so that everybody is known. Then a process writes
a list of 20 items for everybody into a folder, and is killed with SIGKILL when some parts are finished. Another one
goes on to the end; its users a second and its peak of memory are what is written down. A third writes parts from before
and after the kill once more, and they must be the same bytes. In the same run `implicit` makes lists for a tenth of the
users by its batch call: matrix factors with as many numbers as CoRML has directions, drawn at random, because what they
hold does not change the time; it writes no file. Writes results/speed/lists-in-parts.json; with numbers of
users and items a file of its own, results/speed/lists-in-parts-USERS-ITEMS.json.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import lists
import numpy as np
from _machine import alone, measured, watched_memory
from _powerlaw import Habits, as_interactions
from _record import begin, write
from scipy.sparse import csr_matrix

import corml

K = 20
KILLED_AFTER = 2  # finished parts
COMPARED = 4  # parts that are written once more
RIVAL, BATCH = 10, 10_000  # one user in as many gets a list of implicit, so many at a call


def fit(data: str, model: str) -> dict[str, Any]:
    everyone = as_interactions(data)
    learned = everyone.where(everyone.user % lists.LEARNED == 0)
    record: dict[str, Any] = {"interactions": len(learned)}
    with measured(record):
        fitted = corml.CoRML().fit(learned)
    record |= {"rank": fitted.V_.shape[1], "entries of H": int(fitted.H_.nnz)}
    others = everyone.where(everyone.user % lists.LEARNED != 0)
    fitted.update(others).save(model)
    return record


def serve(model: str, folder: str, users: int | None) -> dict[str, Any]:
    """Write the lists of the first users, or of all."""
    fitted = corml.read_model(model)
    fitted.recommend(fitted.users_[:100], k=K)  # compile before the clock starts
    record: dict[str, Any] = {}
    with watched_memory(record), measured(record):
        made = corml.recommend_to(fitted, folder, None if users is None else fitted.users_[:users], k=K)
    return record | {name: value for name, value in vars(made).items() if name != "folder"}


def rival(data: str, factors: int) -> dict[str, Any]:
    """Lists of some users by implicit."""
    from implicit.cpu.als import AlternatingLeastSquares

    everyone, rng = as_interactions(data), np.random.default_rng(0)
    users, items = everyone.matrix.shape
    model = AlternatingLeastSquares(factors=factors)
    model.user_factors = rng.standard_normal((users, factors), dtype=np.float32)
    model.item_factors = rng.standard_normal((items, factors), dtype=np.float32)
    X, asked = csr_matrix(everyone.matrix), users // RIVAL
    model.recommend(np.arange(100), X[:100], N=K)
    record: dict[str, Any] = {"factors": factors, "users": asked}
    with watched_memory(record), measured(record):
        for first in range(0, asked, BATCH):
            some = np.arange(first, min(first + BATCH, asked))
            model.recommend(some, X[some], N=K, filter_already_liked_items=True)
    return record | {"users a second": round(asked / record["seconds"])}


def manifest(folder: str) -> dict[str, Any]:
    path = Path(folder) / "manifest.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else {"parts": []}


def kill(model: str, folder: str) -> None:
    """Begin, and end without a word when some parts are finished."""
    code = f"import lists_in_parts as it; it.serve({model!r}, {folder!r}, None)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    with subprocess.Popen([sys.executable, "-c", code], env=environment) as process:
        while process.poll() is None and len(manifest(folder)["parts"]) < KILLED_AFTER:
            time.sleep(0.1)
        process.send_signal(signal.SIGKILL)


def same(folder: str, again: str) -> int:
    """How many parts of another folder have the same bytes; all must."""
    parts = {part["file"]: part["sha256"] for part in manifest(folder)["parts"]}
    compared = manifest(again)["parts"]
    assert compared
    assert all(parts[part["file"]] == part["sha256"] for part in compared)
    return len(compared)


def main(arguments: list[int]) -> None:
    users, items = arguments or (lists.USERS, lists.ITEMS)
    how = {"by": "benchmarks/lists.py, generate(users, items)", "mean history": lists.HISTORY, **asdict(Habits())}
    begun, started = begin(generated=how | {"seed": 0}, seed=0, packages=("implicit",)), time.perf_counter()
    record: dict[str, Any] = {"users": users, "items": items, "k": K}
    with tempfile.TemporaryDirectory() as place:
        data, model, folder = f"{place}/data.npz", f"{place}/model.corml", f"{place}/lists"
        alone(lists.generate, users, items, data)
        record["fit"] = alone(fit, data, model)
        kill(model, folder)
        record["lists"] = made = alone(serve, model, folder, None)
        about = manifest(folder)
        ranked = users - about["users_per_part"] * made["found"]  # those that were not there already
        made |= {"users ranked": ranked, "users a second": round(ranked / made["seconds"]) if ranked > 0 else None}
        made["bytes on disk"] = sum(part["bytes"] for part in about["parts"])
        some = min(COMPARED * about["users_per_part"], users)
        record["implicit"] = alone(rival, data, record["fit"]["rank"])
        record["written again"] = alone(serve, model, f"{place}/again", some)
        record["written again"]["parts of the same bytes"] = same(folder, f"{place}/again")
    name = f"speed/lists-in-parts-{users}-{items}" if arguments else "speed/lists-in-parts"
    print(write(name, begun, record), record, f"{time.perf_counter() - started:.0f} s in all")


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]])
