"""The files that fuzzing begins from: one valid input of each kind (run: python -m attack.seeds)."""

import json
import tempfile
from pathlib import Path
from urllib.parse import urlencode

import corml
from attack import data_files, http_requests, targets
from attack.variants import fitted_models
from support import random_interactions


def write() -> None:
    """Put them into the corpus of each target, in place of the seeds there."""
    for target, seeds in {"data_reader": _tables(), "model_loader": _models(), "request_decoder": _requests()}.items():
        others = {name: data for name, data in targets.corpus(target).items() if not name.startswith("seed-")}
        targets.keep(target, others | {f"seed-{name}": data for name, data in seeds.items()})


def _tables() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        files = data_files.prepare(Path(folder))
    seeds = {}
    for at, kind in enumerate(targets.KINDS):
        data = files.get(kind.removesuffix(".gz") or "csv", b"user,item\na,b\n")
        data = data_files.PACKED[".gz"](data, mtime=0) if kind.endswith(".gz") else data
        short = data if kind in ("npz", "xlsx", "parquet", "zip", "csv.gz") else data[:400].rpartition(b"\n")[0]
        seeds[f"{kind or 'none'}"] = bytes([at, 0]) + (short or data)
    for at in range(1, len(targets.OPTIONS)):
        seeds[f"csv-{at}"] = bytes([0, at]) + files["csv"][:200].rpartition(b"\n")[0]
    return seeds


def _models() -> dict[str, bytes]:
    seeds = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.corml"
        for name, model in fitted_models(random_interactions(3, users=7, items=5, mean=3)).items():
            model.save(path)
            seeds[name] = path.read_bytes()
            if name == "corml":
                model.save(path, history=False)
                seeds["no-history"] = path.read_bytes()
    return seeds


def _requests() -> dict[str, bytes]:
    seeds = {}
    for at, operation in enumerate(targets.OPERATIONS):
        if operation.method == "POST":
            body = http_requests.BODIES.get(operation.path, {})
            seeds[operation.name] = bytes([at]) + json.dumps(body).encode()
            answered = at + len(targets.OPERATIONS) * -(-targets.ANSWERED // len(targets.OPERATIONS))
            seeds[f"{operation.name}-answered"] = bytes([answered]) + json.dumps(body).encode()
        else:
            seeds[operation.name] = bytes([at]) + urlencode({"q": "i1", "limit": 3}).encode()
    return seeds


if __name__ == "__main__":
    assert corml.__version__
    write()
