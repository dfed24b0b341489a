"""CoRML on public splits that papers use, once (run: python benchmarks/leaderboard.py gowalla yelp2018 amazon-book).

Fits on all of the train part, as it is by default and with adapt=False, and evaluates Recall@20 and NDCG@20 on the test
part. Nothing is chosen by the test part. Reads lightgcn/NAME/{train,test}.txt.gz and kgat-amazon-book/… below
CORML_DATA; writes results/corml/leaderboard-NAME.json.
"""

import sys
from typing import Any

from _machine import measured
from _public import FOLDERS, public_split
from _record import begin, write

import corml

METRICS = ["recall@20", "ndcg@20"]
MODELS = {"fixed": {"adapt": False}, "adapt": {}}


def run(name: str) -> None:
    split = public_split(name)
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
