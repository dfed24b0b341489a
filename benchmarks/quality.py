"""Lists against the paper's table (run: python benchmarks/quality.py [DATA …]).

Three fits of each data set, evaluated on the test part: everything at its default; with the settings that
benchmarks/tune_corml.py chose on the validation part; and that one pruned to the paper's storage, the size of a factor
model of 64. Writes results/corml/quality-DATA.json.
"""

import sys
from typing import Any

from _machine import load_split, measured
from _record import begin, read, write

import corml

CUTS = (5, 10, 20)
PAPER = {  # CoRML's column of the paper's Table 2
    "pinterest": {"ndcg": (0.0655, 0.0824, 0.1076), "mrr": (0.1306, 0.1458, 0.1556)},
    "gowalla": {"ndcg": (0.1317, 0.1383, 0.1554), "mrr": (0.2334, 0.2479, 0.2558)},
    "yelp2018": {"ndcg": (0.0690, 0.0716, 0.0832), "mrr": (0.1435, 0.1586, 0.1679)},
}
BUDGET = 64


def tuned(name: str) -> dict[str, Any]:
    """Settings chosen on the validation part."""
    tuning = read(f"corml/tuning-{name}")
    if tuning is None:
        sys.exit(f"Choose settings first: python benchmarks/tune_corml.py {name}")
    settings: dict[str, Any] = tuning["best"]["settings"]
    return settings


def evaluated(split: corml.Split, settings: dict[str, Any], workspace: corml.Workspace) -> dict[str, Any]:
    record: dict[str, Any] = {"settings": settings}
    with measured(record):
        model = corml.CoRML(**settings).fit(split.train, workspace=workspace)
    record["entries of H"] = int(model.H_.nnz)
    for part in ("valid", "test"):
        record[part] = dict(corml.evaluate(model, split, part=part, intervals=False).means)
    return record


def compare(name: str, chosen: dict[str, Any]) -> dict[str, Any]:
    split = load_split(name)
    work = corml.Workspace(split.train)
    fits = {"default": {}, "tuned": chosen, "tuned and pruned": {**chosen, "budget": BUDGET}}
    record: dict[str, Any] = {what: evaluated(split, settings, work) for what, settings in fits.items()}
    record["paper"] = {f"{metric}@{cut}": value for metric in PAPER[name]
                       for cut, value in zip(CUTS, PAPER[name][metric], strict=True)}  # fmt: skip
    for what in fits:
        worse = [key for key, value in record["paper"].items() if record[what]["test"][key] < value]
        print(name, what, round(record[what]["test"]["ndcg@10"], 4), "below the paper:", worse or "nothing", flush=True)
    return record


def main(names: list[str]) -> None:
    for name in names:
        chosen, begun = tuned(name), begin(name)
        write(f"corml/quality-{name}", begun, {"data": name, **compare(name, chosen)})


if __name__ == "__main__":
    main(sys.argv[1:] or list(PAPER))
