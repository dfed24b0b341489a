"""CoRML on public splits that papers use, once (run: python benchmarks/leaderboard.py gowalla yelp2018 amazon-book).

Fits on all of the train part, with the fixed defaults and with the filter chosen by looking (adapt=True), and evaluates
Recall@20 and NDCG@20 on the test part. Nothing is chosen by the test part. Reads lightgcn/NAME/{train,test}.txt.gz and
kgat-amazon-book/… below CORML_DATA; writes results/corml/leaderboard-NAME.json.
"""

import gzip
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from _machine import measured
from _record import begin, write

import corml

FOLDERS = {"gowalla": "lightgcn/gowalla", "yelp2018": "lightgcn/yelp2018", "amazon-book": "kgat-amazon-book"}
METRICS = ["recall@20", "ndcg@20"]
MODELS = {"fixed": {}, "adapt": {"adapt": True}}


def pairs(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Users and items of a file with a user and then items on each line."""
    with gzip.open(path, "rt") as lines:
        rows = [line.split() for line in lines]
    users = np.repeat([row[0] for row in rows if row], [len(row) - 1 for row in rows if row])
    return users, np.array([item for row in rows for item in row[1:]])


def load(name: str) -> corml.Split:
    folder = Path(os.environ["CORML_DATA"]) / FOLDERS[name]
    parts = [pairs(folder / f"{part}.txt.gz") for part in ("train", "test")]
    users, items = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    every, is_train = corml.Interactions.from_pairs(users, items), np.arange(len(users)) < len(parts[0][0])
    user, item = every.users.rows(users), every.items.rows(items)
    train, test = (
        corml.Interactions(every.users, every.items, user[part], item[part]) for part in (is_train, ~is_train)
    )
    return corml.Split(train=train, test=test)


def run(name: str) -> None:
    split = load(name)
    begun = begin((FOLDERS[name], split))
    record: dict[str, Any] = {"data": name, "part": "test"}
    for label, settings in MODELS.items():
        record[label] = figures = {}
        with measured(figures):
            model = corml.CoRML(**settings).fit(split.train)
        result = corml.evaluate(model, split, METRICS)
        figures |= {metric: float(result[metric]) for metric in METRICS} | {"plan": model.fitted_.plan.report()}
        write(f"corml/leaderboard-{name}", begun, record)
        print(name, label, {key: value for key, value in figures.items() if key != "plan"}, flush=True)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        run(name)
