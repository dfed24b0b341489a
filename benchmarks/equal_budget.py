"""Models with equal budgets of tuning (run: python benchmarks/equal_budget.py FOLDER [DATA …]).

CoRML, EASE, SLIM, GF-CF and item-kNN on the paper's splits and the bundled sample: each with its defaults, and tuned on
the validation part in at most TRIALS trials and SECONDS processor seconds, the defaults being the first trial. Then
everyone is measured on the test part, once. FOLDER keeps every finished fit, so that a run that was stopped goes on.
Writes results/compare/DATA.json and the table in README.md.
"""

import sys

from _machine import load_split
from _record import begin, command, write
from pages import write_tables

import corml

MODELS = ("corml", "ease", "slim", "gf-cf", "item-knn")
DATA = ("movielens-small", "pinterest", "gowalla", "yelp2018")
METRICS = ("ndcg@10", "mrr@10", "recall@20", "coverage@10", "novelty@10")
TRIALS, SECONDS = 25, 300.0


def run(data: str, folder: str) -> None:
    begun = begin(data, packages=("optuna",))
    study = corml.compare(
        MODELS,
        load_split(data),
        metrics=METRICS,
        trials=TRIALS,
        seconds=SECONDS,
        folder=f"{folder}/{data}",
        command=command(),
        notify=lambda text: print(data, text, flush=True),
    )
    record = study.record()
    record.pop("provenance")
    print(study, write(f"compare/{data}", begun, {"data": data, **record}), flush=True)


if __name__ == "__main__":
    folder, *names = sys.argv[1:]
    for name in names or DATA:
        run(name, folder)
    write_tables()
