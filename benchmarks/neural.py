"""Train a gradient model as the paper did and judge it (run: python benchmarks/neural.py MODEL DATA [NAME=VALUE …]).

Learns from the train part, stops by the validation part, is judged on the test part. The place in training is kept in
CORML_CHECKPOINTS (default: a folder of the system's temporary files) after each epoch, so a run that was stopped goes
on when it is started again. Written at the end: results/neural/MODEL-DATA.json with settings, seed, curve, cost and
what the paper reports. `minutes=…` ends a run early; the file then says how far it got.
"""

import json
import os
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

from _machine import facts, load_split
from _versions import versions

import corml
from corml import models
from corml.settings import declared

RESULTS = Path(__file__).parent.parent / "results" / "neural"
PAPER = {  # NDCG@10 of the paper's Table 2
    "pinterest": dict(zip(("cml", "l-cml", "dpcml", "recvae", "ultragcn", "simgcl"),
                          (0.0665, 0.0766, 0.0724, 0.0668, 0.0729, 0.0783), strict=True)),
    "gowalla": dict(zip(("cml", "l-cml", "dpcml", "recvae", "ultragcn", "simgcl"),
                        (0.0953, 0.1093, 0.1087, 0.0978, 0.1181, 0.1295), strict=True)),
}  # fmt: skip
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
    split, model = load_split(data), models.make(name, settings)
    model.fit(split.train, valid=split.valid, checkpoint=checkpoint(name, data, settings), progress=show)
    found = corml.evaluate(model, split, METRICS, intervals=False)
    arguments = [name, data, *(f"{key}={value}" for key, value in settings.items())]
    return {
        "command": shlex.join(["python", "benchmarks/neural.py", *arguments]),
        "model": name,
        "data": {"name": data, "train": split.train.fingerprint, "split": split.fingerprint, "seed": 2026},
        "settings": {key: getattr(model, key) for key in declared(type(model))},
        "test": {key: round(value, 5) for key, value in found.means.items()},
        "paper ndcg@10": PAPER.get(data, {}).get(name),
        "training": model.notes_["training"],
        "machine": facts(),
        "versions": versions("numpy", "scipy", "numba", "torch"),
    }


def main(name: str, data: str, *given: str) -> None:
    record = run(name, data, dict(one.split("=", 1) for one in given))
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}-{data}.json"
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(path.name, record["test"]["ndcg@10"], "paper", record["paper ndcg@10"], record["training"]["stopped"])


if __name__ == "__main__":
    main(*sys.argv[1:])
