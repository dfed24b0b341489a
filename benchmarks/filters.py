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
from corml.linalg.sparse import row_degrees
from corml.models.corml.problem import Weights
from corml.models.corml.sparse.pairs import co_occurring, cross_term

READINGS = ("elementwise", "factored")
DATA = ("movielens-small", "pinterest", "gowalla", "yelp2018")


def compare(name: str) -> dict[str, Any]:
    split = load_split(name)
    work, R = corml.Workspace(split.train), split.train.matrix
    record: dict[str, Any] = {}
    for reading in READINGS:
        model = corml.CoRML(filter=reading, solver="sparse")
        cost: dict[str, Any] = {}
        plan = model.plan(split.train)
        weights = Weights.of(plan.resolved(model.get_params()))
        V = work.vectors(plan.rank, (model.graph_user_norm, model.graph_item_norm))
        users = weights.of_users(row_degrees(R))
        pairs, s = co_occurring(R, users, max_per_item=plan.candidates), weights.filter_norm
        clip = reading == "elementwise"
        cross_term(R[:1], V, users.both[:1], s, pairs, clip=clip)  # compile before timing
        with measured(cost):
            cross_term(R, V, users.both, s, pairs, clip=clip)
        result = corml.evaluate(model.fit(split.train, workspace=work), split, part="valid", intervals=False)
        record[reading] = {"cross term": cost, "pairs": len(pairs.support) // 2, "metrics": dict(result.means)}
        print(name, reading, cost["cpu seconds"], round(result["ndcg@10"], 4), flush=True)
    return record


def main(names: list[str]) -> None:
    begun, costs = begin(*names), {}
    for name in names:
        costs[name] = compare(name)
        write("corml/filters", begun, {"data": costs})


if __name__ == "__main__":
    main(sys.argv[1:] or list(DATA))
