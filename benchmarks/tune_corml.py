"""Settings of CoRML chosen on the validation part (run: python benchmarks/tune_corml.py DATA …).

A search one setting after the other, from the defaults: the values of the grid for one setting while the others stay at
the best known, then the next setting. Compared by NDCG@10 of the validation part; the test part is never looked at.
Writes results/corml/tuning-DATA.json with every trial, after each; benchmarks/quality.py takes the best from there.
"""

import sys
import time
from typing import Any

from _machine import load_split
from _record import begin, write

import corml

METRIC = "ndcg@10"
GRID: dict[str, tuple[float, ...]] = {
    "mix": (0.7, 0.8),
    "item_norm": (0.05, 0.15),
    "graph_user_norm": (0.2, 0.3),
    "user_balance": (0.15, 0.35),
}
RANK, RIDGE = (2.0,), (0.7, 1.4)  # times what the plan takes

Settings = dict[str, Any]


class Search:
    """Trials on one data set; a setting that was tried is not fitted again."""

    def __init__(self, name: str) -> None:
        self.name, self.begun, self.split = name, begin(name), load_split(name)
        self.work = corml.Workspace(self.split.train)
        self.trials: list[dict[str, Any]] = []

    def best(self) -> dict[str, Any]:
        """The first of the best trials."""
        return max(self.trials, key=lambda trial: trial[METRIC])

    def attempt(self, settings: Settings) -> None:
        """Fit, evaluate on the validation part, write down."""
        if any(trial["settings"] == settings for trial in self.trials):
            return
        begun = time.perf_counter()
        # No warm start: within the solver's tolerance figures would depend on what was tried before.
        model = corml.CoRML(**settings).fit(self.split.train, workspace=self.work)
        result = corml.evaluate(model, self.split, METRIC, part="valid", intervals=False)
        seconds = round(time.perf_counter() - begun, 2)
        self.trials.append({"settings": settings, METRIC: round(float(result[METRIC]), 6), "seconds": seconds})
        print(self.name, self.trials[-1], flush=True)
        record = {"data": self.name, "part": "valid", "metric": METRIC, "best": self.best(), "trials": self.trials}
        write(f"corml/tuning-{self.name}", self.begun, record)


def run(name: str) -> None:
    search = Search(name)
    search.attempt({})
    plan = corml.CoRML().plan(search.split.train)
    ranks = tuple(int(times * plan.rank) for times in RANK)
    ridges = tuple(round(times * plan.ridge, 1) for times in RIDGE)
    for setting, values in (GRID | {"rank": ranks, "ridge": ridges}).items():
        known = search.best()["settings"]
        for value in values:
            search.attempt({**known, setting: value})


if __name__ == "__main__":
    for data in sys.argv[1:] or ("pinterest", "gowalla", "yelp2018"):
        run(data)
