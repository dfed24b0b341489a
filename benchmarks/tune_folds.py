"""CoRML tuned by the paper's five-fold cross-validation (run: python benchmarks/tune_folds.py JOURNAL [DATA]).

`corml.tune` with 40 trials on the train part of the paper's split, each scored by five folds of it: the validation and
the test part are never opened. JOURNAL keeps every trial, so that a run that was stopped goes on, and several processes
may share it. Writes results/corml/folds-DATA.json when all trials are done.
"""

import sys

from _machine import load_split
from _record import begin, write

import corml

FOLDS, TRIALS = 5, 40


def run(data: str, journal: str) -> None:
    begun = begin(data, packages=("optuna",), seed=0)
    tuned = corml.tune("corml", load_split(data).train, folds=FOLDS, trials=TRIALS, seed=0, journal=journal)
    distinct = len({str(sorted(trial.settings.items())) for trial in tuned.trials})
    print(tuned, write(f"corml/folds-{data}", begun, {"data": data, "distinct settings": distinct, **tuned.record()}))


if __name__ == "__main__":
    journal, *names = sys.argv[1:]
    for name in names or ("gowalla",):
        run(name, journal)
