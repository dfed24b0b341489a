"""Lists for a million histories (run: python benchmarks/lists.py [USERS ITEMS]).

Generated data (_powerlaw.py): 1,000,000 users with 20 items each in the mean, out of 100,000. CoRML() with everything
at its default learns from a tenth of the users; then everyone gets a list of 10 items from the ids of a history, none
of them in it, PART users at a call, as a nightly job would do it. Data, fit and lists have a process each. Writes
results/speed/lists.json and the table in docs/speed.md; with numbers of users and items only a file of its own,
results/speed/lists-USERS-ITEMS.json.
"""

import sys
import tempfile
import time
from dataclasses import asdict
from typing import Any

import numpy as np
from _machine import alone, measured
from _powerlaw import Habits, as_interactions, degrees, draw, power_law
from _record import begin, write
from pages import write_tables

import corml
from corml._runtime import memory
from corml.data.ids import Ids

USERS, ITEMS = 1_000_000, 100_000
HISTORY = 20  # items of a mean user
LEARNED = 10  # one user in as many is learned from
PART = 50_000  # users at a call
K = 10


def generate(users: int, items: int, path: str) -> None:
    total = users * HISTORY
    popularity = degrees(power_law(items, 0.45), total, min_degree=1)
    activity = degrees(power_law(users, 0.25), total, min_degree=5)
    np.savez(path, **draw(popularity, activity, Habits(), min_degree=1))


def fit(data: str, model: str) -> dict[str, Any]:
    train = as_interactions(data)
    train = train.where(train.user % LEARNED == 0)
    record: dict[str, Any] = {"interactions": len(train)}
    with measured(record):
        fitted = corml.CoRML().fit(train)
    fitted.save(model, history=False)
    return record | {"rank": fitted.V_.shape[1], "entries of H": int(fitted.H_.nnz)}


def serve(data: str, model: str) -> dict[str, Any]:
    everyone, fitted = as_interactions(data), corml.read_model(model)
    users = len(everyone.users)
    parts = [histories(everyone, a, min(a + PART, users)) for a in range(0, users, PART)]
    fitted.recommend(history=histories(everyone, 0, 100), k=K)  # compile before the clock starts
    record: dict[str, Any] = {"bytes before": memory.resident()}
    listed = 0
    with measured(record):
        for part in parts:
            listed += int((fitted.recommend(history=part, k=K).scores > -np.inf).sum())
    return record | {"lists a second": round(users / record["seconds"]), "items listed": listed}


def histories(everyone: corml.Interactions, start: int, stop: int) -> corml.Interactions:
    """Those of users start to stop; pairs are sorted by user."""
    a, b = np.searchsorted(everyone.user, [start, stop])
    users = Ids(everyone.users.labels[start:stop], kind="user")
    return corml.Interactions(users, everyone.items, everyone.user[a:b] - start, everyone.item[a:b])


def main(arguments: list[int]) -> None:
    users, items = arguments or (USERS, ITEMS)
    how = {"by": "benchmarks/lists.py, generate(users, items)", "mean history": HISTORY, **asdict(Habits()), "seed": 0}
    begun, started = begin(generated=how, seed=0), time.perf_counter()
    record: dict[str, Any] = {"users": users, "items": items, "k": K}
    with tempfile.TemporaryDirectory() as folder:
        data, model = f"{folder}/data.npz", f"{folder}/model.corml"
        alone(generate, users, items, data)
        record["fit"] = alone(fit, data, model)
        record["lists"] = alone(serve, data, model)
    name = f"speed/lists-{users}-{items}" if arguments else "speed/lists"
    print(write(name, begun, record), record, f"{time.perf_counter() - started:.0f} s in all")
    if not arguments:
        write_tables()


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]])
