"""A fit of data with the shape of MovieLens 20M (run: python benchmarks/ml20m.py [SOLVER]).

136,674 users, 13,680 items and 9,977,451 pairs, as many as the paper's; popularity and activity are skewed as in
MovieLens. They are generated, so that the data need not be had: figures of cost, not of quality. Nearly all pairs of
items meet here. Measured with adapt=False and, beside it, with the look. Writes results/speed/ml20m.json; with a solver
other than `auto`, results/speed/ml20m-SOLVER.json.
"""

import sys
import tempfile
from dataclasses import asdict
from typing import Any

import numpy as np
from _machine import alone
from _one_fit import fit
from _powerlaw import Habits, degrees, draw
from _record import begin, write
from scipy.special import ndtri

USERS, ITEMS, PAIRS = 136_674, 13_680, 9_977_451
MIN_DEGREE = 5  # items of a user and users of an item
HABITS = Habits(size=500, stay=30, loyal=0.5)


def generate(path: str) -> dict[str, Any]:
    """Histories are log-normal, popularity falls off behind a plateau of blockbusters; says what came out."""
    rank = np.arange(ITEMS)
    popularity = degrees((rank + 75.0) ** -1.8, PAIRS, min_degree=MIN_DEGREE)
    spread = np.exp(1.15 * ndtri((np.arange(USERS) + 0.5) / USERS))
    activity = degrees(np.minimum(spread, 60), PAIRS, min_degree=MIN_DEGREE)
    pairs = draw(popularity, activity, HABITS, min_degree=MIN_DEGREE)
    by_user, by_item = np.bincount(pairs["user"], minlength=USERS), np.bincount(pairs["item"], minlength=ITEMS)
    assert len(pairs["user"]) == PAIRS
    assert min(by_user.min(), by_item.min()) >= MIN_DEGREE
    np.savez(path, **pairs)
    return {
        "users": USERS,
        "items": ITEMS,
        "interactions": PAIRS,
        "median history": int(np.median(by_user)),
        "longest history": int(by_user.max()),
        "median item degree": int(np.median(by_item)),
        "share of users of the top item": round(float(by_item.max() / USERS), 3),
    }


def main(solver: str) -> None:
    how = {"by": "benchmarks/ml20m.py, generate()", "users": USERS, "items": ITEMS, "interactions": PAIRS}
    begun = begin(generated={**how, "min degree": MIN_DEGREE, **asdict(HABITS), "seed": 0}, seed=0)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/data.npz"
        record = {"data": alone(generate, path)}
        record |= alone(fit, path, {"solver": solver, "adapt": False})
        record["with the look"] = alone(fit, path, {"solver": solver})
    name = "speed/ml20m" if solver == "auto" else f"speed/ml20m-{solver}"
    print(write(name, begun, record), record["seconds"], record["cpu seconds"])


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "auto")
