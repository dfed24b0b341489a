"""Settings of CoRML chosen on the validation part (run: python benchmarks/tune_corml.py DATA …).

A search one setting after the other: it begins with CoRML() and with what that chose by looking, rank doubled; then the
values of the grid for one setting while the others stay at the best known, then the next setting. Compared by NDCG@10
of the validation part; the test part is never looked at. Writes results/corml/tuning-DATA.json with every trial, after
each; benchmarks/quality.py takes the best from there.
"""

import sys
import time
from typing import Any

from _machine import load_split
from _record import begin, write

import corml
from corml.models.corml.plan import SELECTED

METRIC = "ndcg@10"
GRID: dict[str, tuple[float, ...]] = {
    "filter_power": (0.0, 0.5, 1.0),
    "filter_weight": (0.7, 1.0, 1.4),
    "mix": (0.65, 0.85),
    "item_norm": (0.05, 0.15),
    "l2": (0.6,),
}
RIDGE = (1.5,)  # times what the plan takes
LARGEST_RANK = 512

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

    def attempt(self, settings: Settings) -> Settings:
        """Fit, evaluate on the validation part, write down; returns what was left to the data as it was chosen."""
        if any(trial["settings"] == settings for trial in self.trials):
            return settings
        begun = time.perf_counter()
        # No warm start: within the solver's tolerance figures would depend on what was tried before.
        model = corml.CoRML(**settings).fit(self.split.train, workspace=self.work)
        result = corml.evaluate(model, self.split, METRIC, part="valid", intervals=False)
        seconds = round(time.perf_counter() - begun, 2)
        self.trials.append({"settings": settings, METRIC: round(float(result[METRIC]), 6), "seconds": seconds})
        print(self.name, self.trials[-1], flush=True)
        record = {"data": self.name, "part": "valid", "metric": METRIC, "best": self.best(), "trials": self.trials}
        write(f"corml/tuning-{self.name}", self.begun, record)
        return {name: model.settings_[name] for name in SELECTED} | {"adapt": False}


def run(name: str) -> None:
    search = Search(name)
    chosen = search.attempt({})
    plan = corml.CoRML(adapt=False).plan(search.split.train)
    search.attempt({**chosen, "rank": LARGEST_RANK})
    search.attempt({**chosen, "rank": plan.rank})
    ridges = tuple(round(times * plan.ridge, 1) for times in RIDGE)
    for setting, values in (GRID | {"ridge": ridges}).items():
        known = search.best()["settings"] or chosen
        for value in values:
            search.attempt({**known, setting: value})


if __name__ == "__main__":
    for data in sys.argv[1:] or ("pinterest", "gowalla", "yelp2018"):
        run(data)
