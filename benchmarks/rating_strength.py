"""Do ratings as strength help? Chosen on the valid part of a temporal split, measured on its test part, same users.

    python benchmarks/rating_strength.py ratings.dat.gz --no-header

For each model: liked pairs alike, weighted by rating − threshold + 1, with low ratings as noes, and both. NDCG@10 on
valid and test, and the gain on test over all alike with a 95 % interval over users. Writes
results/corml/rating-strength-movietweetings.json.
"""

import argparse
from typing import Any

import numpy as np
from _record import begin, write

import corml
from corml import models

MODELS = ("corml", "ease", "item-knn")
WAYS: dict[str, dict[str, Any]] = {
    "alike": {},
    "rating strength": {"rating_strength": True},
    "low ratings negative": {"low_ratings": "negative"},
    "both": {"rating_strength": True, "low_ratings": "negative"},
}
METRIC = "ndcg@10"


def main() -> None:
    """Fit and measure every model in every way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("--at-least", type=float, default=7)
    parser.add_argument("--k-core", type=int, default=5)
    parser.add_argument("--no-header", action="store_true")
    given = parser.parse_args()
    columns = {"header": False, "user": 0, "item": 1, "rating": 2, "time": 3} if given.no_header else {}
    options = {"at_least": given.at_least, "k_core": given.k_core, **columns}
    splits = {way: corml.split(corml.load(given.source, **options, **how), "temporal") for way, how in WAYS.items()}
    begun = begin(("movietweetings, temporal", splits["alike"]))
    begun["command"] = begun["command"].replace(given.source, "ratings.dat.gz")  # no path of one machine
    negative = splits["both"].train.negative
    facts = {
        "at_least": given.at_least,
        "k_core": given.k_core,
        "counts": {name: len(part) for name, part in splits["alike"].parts().items()},
        "noes in train": 0 if negative is None else len(negative),
        "metric": METRIC,
    }
    write("corml/rating-strength-movietweetings", begun, facts | {name: of_model(name, splits) for name in MODELS})


def of_model(name: str, splits: dict[str, corml.Split]) -> dict[str, Any]:
    """Figures of a model, way by way; only the gain of the best on valid is a fair one."""
    results = {way: measured(name, split) for way, split in splits.items()}
    plain, rows = results["alike"][1].per_user[METRIC], {}
    for way, (valid, test) in results.items():
        gain = test.per_user[METRIC] - plain
        error = float(1.96 * gain.std(ddof=1) / np.sqrt(len(gain)))
        rows[way] = {
            "valid": valid[METRIC],
            "test": test[METRIC],
            "gain": float(gain.mean()),
            "error": error,
            "users": [len(valid.users), len(test.users)],
        }
        print(f"{name:10} {way:20} {rows[way]}", flush=True)
    return {"ways": rows, "best on valid": max(rows, key=lambda way: rows[way]["valid"])}


def measured(name: str, split: corml.Split) -> tuple[corml.Result, corml.Result]:
    """A model on valid and on test."""
    model = models.make(name).fit(split.train)
    valid, test = (corml.evaluate(model, split, METRIC, part=part, intervals=False) for part in ("valid", "test"))
    return valid, test


if __name__ == "__main__":
    main()
