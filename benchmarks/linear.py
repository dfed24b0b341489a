"""Linear baselines at full size (run: python benchmarks/linear.py [MODEL …] [DATA …]).

Each model gets the settings below, tried in this order and compared by NDCG@10 on the valid part; `then` are a few more
beside the best of them. The best is fitted once more, measured in a process of its own, and evaluated on the test part.
admm-slim solves the problem of slim, so it takes the settings that were chosen there. Writes
results/linear/MODEL-DATA.json with all that was tried.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from _machine import alone, load_split, measured, notes
from _record import begin, read, write

import corml
from corml import models

DATA = ("pinterest", "gowalla", "yelp2018")
METRICS = tuple(f"{name}@{k}" for name in ("ndcg", "mrr", "recall", "novelty") for k in (5, 10, 20))
PAPER = {  # NDCG@10 in the table of the CoRML paper
    "ease": {"gowalla": 0.1268, "yelp2018": 0.0628, "pinterest": 0.0704},
    "slim": {"gowalla": 0.1156, "yelp2018": 0.0554, "pinterest": 0.0630},
    "gf-cf": {"gowalla": 0.1257, "yelp2018": 0.0617, "pinterest": 0.0785},
}

Settings = dict[str, Any]


@dataclass(frozen=True)
class Search:
    """What is tried of a model: some settings, then a few around the best of them."""

    first: list[Settings]
    then: Callable[[Settings], list[Settings]] = field(default=lambda best: [])


def along(setting: str, *values: Any, **fixed: Any) -> list[Settings]:
    return [{**fixed, setting: value} for value in values]


SEARCHES = {
    "gf-cf": Search(along("alpha", 0.1, 0.3, 0.6, 1.0), lambda best: along("rank", 64, 128, 512, alpha=best["alpha"])),
    "item-knn": Search(
        along("shrink", 0.0, 10.0, 30.0, 100.0, neighbours=100),
        lambda best: along("neighbours", 20, 400, 1000, shrink=best["shrink"]),
    ),
    "slim": Search(along("l2", 300.0, 100.0, 30.0, l1=1.0), lambda best: along("l1", 3.0, 0.3, l2=best["l2"])),
    "ease": Search(
        along("l2", 100.0, 300.0, route="local"),
        lambda best: along("l2", 30.0 if best["l2"] == 100.0 else 1000.0, route="local"),
    ),
    "admm-slim": Search([]),
    "popularity": Search([{}]),
}
SAME = {"admm-slim": "slim"}  # the model that has the same problem


def tuned(name: str, data: str) -> list[dict[str, Any]]:
    """Settings tried, with NDCG@10 on the valid part and seconds of the fit, the best first."""
    split, search = load_split(data), SEARCHES[name]
    tried: list[dict[str, Any]] = []
    before: Any = None

    def attempt(settings: Settings) -> None:
        nonlocal before
        model = models.make(name, settings)
        started = time.perf_counter()
        before = model.fit(split.train, warm_start=before) if name == "slim" else model.fit(split.train)
        seconds = round(time.perf_counter() - started, 2)
        result = corml.evaluate(model, split, "ndcg@10", part="valid", intervals=False)["ndcg@10"]
        tried.append({"settings": settings, "ndcg@10 on valid": round(float(result), 5), "seconds": seconds})
        print(data, name, tried[-1], flush=True)

    for settings in search.first:
        attempt(settings)
    for settings in search.then(max(tried, key=_quality)["settings"]):
        attempt(settings)
    return sorted(tried, key=_quality, reverse=True)


def _quality(one: dict[str, Any]) -> float:
    return float(one["ndcg@10 on valid"])


def evaluated(name: str, data: str, settings: Settings) -> dict[str, Any]:
    """Cost of a fit and its quality on the test part."""
    split, model = load_split(data), models.make(name, settings)
    _compile(type(model), settings)
    record: dict[str, Any] = {"settings": settings}
    with measured(record):
        model.fit(split.train)
    record["notes"] = notes(model)
    started = time.perf_counter()
    result = corml.evaluate(model, split, METRICS, intervals=False)
    record["seconds of evaluation"] = round(time.perf_counter() - started, 2)
    record["test"] = {metric: round(float(value), 5) for metric, value in result.means.items()}
    return record


def _compile(model: Any, settings: Settings) -> None:
    tiny = corml.split(corml.load("movielens-small", at_least=4, k_core=20), "ratio", seed=2026).train
    model(**{key: value for key, value in settings.items() if key == "route"}).fit(tiny)


def chosen(name: str, data: str) -> Settings:
    """What was chosen for the model with the same problem."""
    record = read(f"linear/{SAME[name]}-{data}")
    if record is None:
        sys.exit(f"Choose settings first: python benchmarks/linear.py {SAME[name]} {data}")
    return dict(record["settings"])


def run(name: str, data: str) -> None:
    begun = begin(data)
    if name in SAME:
        tried, settings = [], chosen(name, data)
    else:
        tried = alone(tuned, name, data)
        settings = tried[0]["settings"]
    record: dict[str, Any] = {
        "model": name,
        "data": data,
        "budget": f"{len(tried)} settings, chosen by NDCG@10 on the valid part" if tried else f"as {SAME[name]}",
    }
    record |= alone(evaluated, name, data, settings)
    record["tried"] = tried
    if paper := PAPER.get(name, {}).get(data):
        record["paper's ndcg@10"] = paper
        record["against the paper"] = round(record["test"]["ndcg@10"] / paper, 4)
    write(f"linear/{name}-{data}", begun, record)
    print(data, name, record["settings"], record["test"]["ndcg@10"], record.get("against the paper"), flush=True)


def main(words: list[str]) -> None:
    names = [word for word in words if word in SEARCHES] or ["gf-cf", "item-knn", "slim", "ease"]
    for name in names:
        for data in [word for word in words if word in DATA] or DATA:
            run(name, data)


if __name__ == "__main__":
    main(sys.argv[1:])
