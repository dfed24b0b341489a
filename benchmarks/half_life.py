"""Does a half-life help? Chosen on the valid part of a temporal split, measured on its test part, over the same users.

    python benchmarks/half_life.py ratings.dat.gz --no-header

Prints a row for each model and half-life: NDCG@10 on valid and test, and the gain on test over no half-life with a 95 %
interval over users. The half-life that is best on valid has a star; only its gain is a fair one.
"""

import argparse

import numpy as np

import corml
from corml import models

MODELS = ("corml", "ease", "item-knn")
HALF_LIVES = (None, "30d", "90d", "180d", "1y", "2y")
METRIC = "ndcg@10"


def main() -> None:
    """Fit and measure every model with every half-life."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("--at-least", type=float, default=7)
    parser.add_argument("--k-core", type=int, default=5)
    parser.add_argument("--no-header", action="store_true")
    given = parser.parse_args()
    columns = {"header": False, "user": 0, "item": 1, "rating": 2, "time": 3} if given.no_header else {}
    options = {"at_least": given.at_least, "k_core": given.k_core, **columns}
    for name in MODELS:
        show(name, [measured(name, given.source, options, half_life) for half_life in HALF_LIVES])


def measured(name: str, source: str, options: dict, half_life: str | None) -> tuple[corml.Result, corml.Result]:
    """A model on valid and on test."""
    split = corml.split(corml.load(source, **options, half_life=half_life), "temporal")
    model = models.make(name).fit(split.train)
    valid, test = (corml.evaluate(model, split, METRIC, part=part, intervals=False) for part in ("valid", "test"))
    return valid, test


def show(name: str, results: list[tuple[corml.Result, corml.Result]]) -> None:
    """A row for each half-life."""
    best = max(range(len(results)), key=lambda at: results[at][0][METRIC])
    plain = results[0][1].per_user[METRIC]
    for at, (half_life, (valid, test)) in enumerate(zip(HALF_LIVES, results, strict=True)):
        gain = test.per_user[METRIC] - plain
        error = 1.96 * gain.std(ddof=1) / np.sqrt(len(gain))
        figures = f"valid {valid[METRIC]:.4f}  test {test[METRIC]:.4f}  gain {gain.mean():+.4f} ± {error:.4f}"
        print(f"{name:10} {half_life or 'none':6} {figures}{' *' if at == best else ''}", flush=True)


if __name__ == "__main__":
    main()
