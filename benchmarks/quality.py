"""Lists against the paper's table (run: python benchmarks/quality.py [DATA …]).

Three fits of each data set, judged on the test part: everything at its default; with settings chosen on the validation
part (TUNED below); and that one pruned to the paper's storage, the size of a factor model of 64.
"""

import sys
from typing import Any

from _machine import facts, keep, load_split, measured

import corml

CUTS = (5, 10, 20)
PAPER = {  # CoRML's column of the paper's Table 2
    "pinterest": {"ndcg": (0.0655, 0.0824, 0.1076), "mrr": (0.1306, 0.1458, 0.1556)},
    "gowalla": {"ndcg": (0.1317, 0.1383, 0.1554), "mrr": (0.2334, 0.2479, 0.2558)},
    "yelp2018": {"ndcg": (0.0690, 0.0716, 0.0832), "mrr": (0.1435, 0.1586, 0.1679)},
}
TUNED: dict[str, dict[str, Any]] = {
    "pinterest": {"mix": 0.7, "scale": 0.5, "l2": 0.4, "user_balance": 0.3, "graph_user_norm": 0.1},
    "gowalla": {"mix": 0.75, "rank": 512},
    "yelp2018": {"mix": 0.7, "item_norm": 0.15, "l2": 0.5, "filter_norm": 0.3},
}
BUDGET = 64


def judged(split: corml.Split, settings: dict[str, Any], workspace: corml.Workspace) -> dict[str, Any]:
    record: dict[str, Any] = {"settings": settings}
    with measured(record):
        model = corml.CoRML(**settings).fit(split.train, workspace=workspace)
    record["entries of H"] = int(model.H_.nnz)
    for part in ("valid", "test"):
        record[part] = dict(corml.evaluate(model, split, part=part, intervals=False).means)
    return record


def compare(name: str) -> dict[str, Any]:
    split = load_split(name)
    work = corml.Workspace(split.train)
    fits = {"default": {}, "tuned": TUNED[name], "tuned and pruned": {**TUNED[name], "budget": BUDGET}}
    record: dict[str, Any] = {what: judged(split, settings, work) for what, settings in fits.items()}
    record["paper"] = {f"{metric}@{cut}": value for metric in PAPER[name]
                       for cut, value in zip(CUTS, PAPER[name][metric], strict=True)}  # fmt: skip
    for what in fits:
        worse = [key for key, value in record["paper"].items() if record[what]["test"][key] < value]
        print(name, what, round(record[what]["test"]["ndcg@10"], 4), "below the paper:", worse or "nothing", flush=True)
    return record


def main(names: list[str]) -> None:
    for name in names:
        keep(f"quality-{name}", {"data": name, "machine": facts(), **compare(name)})


if __name__ == "__main__":
    main(sys.argv[1:] or list(PAPER))
