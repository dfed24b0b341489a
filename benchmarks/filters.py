"""Both readings of the filter: what each costs and gives (run: python benchmarks/filters.py [DATA …]).

Clipped entry by entry ("elementwise", the paper) the cross term has no factors and is made in bands; unclipped
("factored") each pair is one dot product. Everything else is left at its default. Accuracy is that on the validation
part, because the default filter was chosen by it. Writes results/corml/filters.json.
"""

import sys
from typing import Any

from _machine import load_split, measured
from _record import begin, write

import corml
from corml.method.sparse.fit_cache import explained_on, pairs_of

READINGS = ("elementwise", "factored")
DATA = ("movielens-small", "pinterest", "gowalla", "yelp2018")


def compare(name: str) -> dict[str, Any]:
    split = load_split(name)
    work = corml.Workspace(split.train)
    record: dict[str, Any] = {}
    for reading in READINGS:
        model = corml.CoRML(filter=reading, solver="sparse")
        cost: dict[str, Any] = {}
        plan = model.plan(split.train)
        V = work.vectors(plan["rank"], model.graph_norms)
        most = None if plan["strongest per item"] == "all" else plan["strongest per item"]
        pairs = pairs_of(split.train.matrix, model.weights, most)
        explained_on(pairs, split.train.matrix[:1], V, reading, model.weights)  # compile before timing
        with measured(cost):
            explained_on(pairs, split.train.matrix, V, reading, model.weights)
        found = corml.evaluate(model.fit(split.train, workspace=work), split, part="valid", intervals=False)
        record[reading] = {"cross term": cost, "pairs": len(pairs.support) // 2, "metrics": dict(found.means)}
        print(name, reading, cost["cpu seconds"], round(found["ndcg@10"], 4), flush=True)
    return record


def main(names: list[str]) -> None:
    begun, found = begin(*names), {}
    for name in names:
        found[name] = compare(name)
        write("corml/filters", begun, {"data": found})


if __name__ == "__main__":
    main(sys.argv[1:] or list(DATA))
