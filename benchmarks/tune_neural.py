"""Settings of gradient models tried on validation pairs (run: python benchmarks/tune_neural.py MODEL DATA).

Each trial of GRIDS learns EPOCHS epochs of the train part and is compared by NDCG@10 of the validation part; the test
part is never looked at. Writes results/neural/tuning-MODEL-DATA.json with every trial and its curve, after each.
"""

import sys
from typing import Any

from _machine import load_split
from _record import begin, write

from corml import models

EPOCHS = 12
Settings = dict[str, Any]
GRIDS: dict[str, list[Settings]] = {  # base is the official 1e-6 throughout
    "ultragcn": [
        {"negative_weight": 300.0, "item_weight": 5e-4, "l2": 1e-3},
        {"negative_weight": 10.0, "item_weight": 0.03, "l2": 1e-3},
        {"negative_weight": 300.0, "item_weight": 0.03, "l2": 1e-3},
        {"negative_weight": 30.0, "item_weight": 5e-4, "l2": 1e-4},
        {"negative_weight": 30.0, "item_weight": 0.03, "l2": 3e-5},
        {"negative_weight": 100.0, "item_weight": 0.03, "l2": 3e-5},
        {"negative_weight": 10.0, "item_weight": 0.1, "l2": 1e-5},
    ],
}


def main(name: str, data: str) -> None:
    begun, split = begin(data), load_split(data)
    trials: list[dict[str, Any]] = []
    for settings in GRIDS[name]:
        model = models.make(name, {**settings, "epochs": EPOCHS}).fit(split.train, valid=split.valid)
        curve = [epoch.valid for epoch in model.fitted_.training.curve]
        trials.append({"settings": settings, "ndcg@10": max(curve), "curve": curve})
        print(name, data, settings, max(curve), flush=True)
        best = max(trials, key=lambda trial: trial["ndcg@10"])
        record = {"model": name, "data": data, "part": "valid", "epochs": EPOCHS, "best": best, "trials": trials}
        write(f"neural/tuning-{name}-{data}", begun, record)


if __name__ == "__main__":
    main(*sys.argv[1:])
