"""Train a gradient model as the paper did and evaluate it (run: python benchmarks/neural.py MODEL DATA [NAME=VALUE …]).

Learns from the train part, stops by the validation part, is evaluated on the test part. A checkpoint is saved in
CORML_CHECKPOINTS (default: a folder of the system's temporary files) after each epoch, so a run that was stopped goes
on when it is started again, with `minutes` or `epochs` raised if these ended it; that of one that stopped early is
deleted. Written at the end: results/neural/MODEL-DATA.json with settings, seed, curve, cost and what the paper reports.
`minutes=…` ends a run early; the file then says how far it got.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from _machine import load_split, notes
from _record import begin, write

import corml
from corml import models
from corml._runtime.settings import declared

PAPER = {  # NDCG@10 of the paper's Table 2
    "cml": {"pinterest": 0.0665, "gowalla": 0.0953, "yelp2018": 0.0521},
    "l-cml": {"pinterest": 0.0766, "gowalla": 0.1093, "yelp2018": 0.0617},
    "dpcml": {"pinterest": 0.0724, "gowalla": 0.1087, "yelp2018": 0.0592},
    "recvae": {"pinterest": 0.0668, "gowalla": 0.0978, "yelp2018": 0.0558},
    "ultragcn": {"pinterest": 0.0729, "gowalla": 0.1181, "yelp2018": 0.0621},
    "simgcl": {"pinterest": 0.0783, "gowalla": 0.1295, "yelp2018": 0.0676},
}
METRICS = [f"{name}@{k}" for name in ("ndcg", "mrr", "recall", "novelty") for k in (5, 10, 20)]


def show(stage: str, done: int, total: int) -> None:
    """Say where training is, at the beginning of each epoch."""
    epoch = stage.partition(",")[0]
    if epoch != show.__dict__.get("last"):
        show.__dict__["last"] = epoch
        print(stage, flush=True)


def checkpoint(name: str, data: str, settings: dict[str, str]) -> Path:
    folder = Path(os.environ.get("CORML_CHECKPOINTS", Path(tempfile.gettempdir()) / "corml-checkpoints"))
    folder.mkdir(parents=True, exist_ok=True)
    lasting = [f"{key}={value}" for key, value in sorted(settings.items()) if key not in ("minutes", "epochs")]
    return folder / "-".join([name, data, *lasting])


def run(name: str, data: str, settings: dict[str, str]) -> dict[str, Any]:
    split, model, path = load_split(data), models.make(name, settings), checkpoint(name, data, settings)
    went_on = path.exists()
    model.fit(split.train, valid=split.valid, checkpoint=path, progress=show)
    result = corml.evaluate(model, split, METRICS, intervals=False)
    return {
        "model": name,
        "data": data,
        "settings": {key: getattr(model, key) for key in declared(type(model))},
        "test": {key: round(value, 5) for key, value in result.means.items()},
        "paper ndcg@10": PAPER.get(name, {}).get(data),
        "training": notes(model)["training"],
        "went on from a checkpoint": went_on,
    }


def main(name: str, data: str, *given: str) -> None:
    settings = dict(one.split("=", 1) for one in given)
    begun = begin(data, packages=("torch",))
    record = run(name, data, settings)
    path = write(f"neural/{name}-{data}", begun, record)
    if record["training"]["stopped"].startswith("no better"):
        checkpoint(name, data, settings).unlink()
    print(path.name, record["test"]["ndcg@10"], "paper", record["paper ndcg@10"], record["training"]["stopped"])


if __name__ == "__main__":
    main(*sys.argv[1:])
