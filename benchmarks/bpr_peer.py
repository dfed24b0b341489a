"""BPR-MF against implicit's, how good after how long (run: python benchmarks/bpr_peer.py [DATA]).

Both learn vectors of 64 numbers from the train part with one thread, for more and more passes over the data, each time
from the beginning and in a process of its own; NDCG@10 is that of the test part, by the same ranking. implicit is run
with each learning rate and ridge below; ours with one rate, five times its default, for which a look at the validation
part was enough. Recorded as best is the run with the highest NDCG@10 on the validation part, and how long corml needs
to reach at least that. Writes results/neural/bpr-peer-DATA.json.
"""

import os
import sys
from typing import Any

from _machine import alone, load_split, measured
from _record import begin, write
from _rivals import Factors, ndcg
from scipy.sparse import csr_matrix

import corml
from corml import models

OURS = [{"learning_rate": 0.005, "epochs": epochs} for epochs in (1, 2, 4, 8, 16)]
THEIRS = [
    {"learning_rate": rate, "regularization": ridge, "iterations": iterations}
    for rate, ridge in ((0.01, 0.01), (0.05, 0.01), (0.05, 0.001), (0.2, 0.003))
    for iterations in (25, 100)
]


def ours(train: corml.Interactions, settings: dict[str, Any]) -> Any:
    return models.make("bpr-mf", {"size": 64, **settings}).fit(train)


def theirs(train: corml.Interactions, settings: dict[str, Any]) -> Any:
    from implicit.cpu.bpr import BayesianPersonalizedRanking

    model = BayesianPersonalizedRanking(factors=64, num_threads=1, random_state=0, **settings)
    model.fit(csr_matrix(train.matrix), show_progress=False)
    return Factors(model)


def measure(who: str, data: str, settings: dict[str, Any]) -> dict[str, Any]:
    fit, split = {"corml": ours, "implicit": theirs}[who], load_split(data)
    short = {"epochs" if who == "corml" else "iterations": 1}
    fit(corml.load("movielens-small", at_least=4, k_core=20), settings | short)  # compiling is not timed
    record: dict[str, Any] = {"load before": round(os.getloadavg()[0], 2)}
    with measured(record):
        model = fit(split.train, settings)
    return settings | record | {part: round(ndcg(model, split, part), 5) for part in ("valid", "test")}


def main(data: str) -> None:
    os.environ |= {"CORML_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    begun, record = begin(data, packages=("torch", "implicit")), {"data": data, "metric": "ndcg@10"}
    for who, tried in (("corml", OURS), ("implicit", THEIRS)):
        record[who] = []
        for settings in tried:
            record[who].append(alone(measure, who, data, settings))
            print(who, record[who][-1], flush=True)
    best = max(record["implicit"], key=lambda run: run["valid"])
    enough = [run for run in record["corml"] if run["valid"] >= best["valid"] and run["test"] >= best["test"]]
    record["best of implicit"] = best
    record["corml, at least as good"] = min(enough, key=lambda run: run["cpu seconds"], default=None)
    write(f"neural/bpr-peer-{data}", begun, record)


if __name__ == "__main__":
    main(*sys.argv[1:] or ["pinterest"])
