"""A whole fit against dense ADMM (run: python benchmarks/fit.py [--keep-dense] DATA [DATA …]).

The sparse fit is measured whole: filter, pairs, solver; once as it is by default, once with adapt=False, which is what
the dense solver is compared with. Of the dense solver, with the authors' partition, what is measured is written as
measured (the filter, setting up the largest block, two steps on it) and the cost of 50 steps on all blocks is
extrapolated from these by n³. Times are processor seconds of both cores together. `--keep-dense` measures the
sparse fits again and keeps what was measured of the dense solver before, with the commit of then. Writes
results/corml/fit-DATA.json.
"""

import sys
from typing import Any

import numpy as np
from _machine import alone, load_split, measured, notes
from _record import begin, read, write

import corml
from corml.linalg.sparse import column_degrees
from corml.models.corml.dense import dense_problem, partition, solve
from corml.models.corml.problem import Weights, singular_vectors

PARTITION = {"gowalla": 0.35, "yelp2018": 0.3}
STEPS = 50


def sparse(name: str, adapt: bool) -> dict[str, Any]:
    split = load_split(name)
    corml.CoRML().fit(load_split("movielens-small").train)  # compile before timing
    corml.CoRML(candidates=50, adapt=False).fit(load_split("movielens-small").train)
    record: dict[str, Any] = {}
    with measured(record):
        model = corml.CoRML(adapt=adapt).fit(split.train)
    result = corml.evaluate(model, split)
    return record | {"notes": notes(model), "metrics": dict(result.means)}


def dense(name: str) -> dict[str, Any]:
    split = load_split(name)
    R = split.train.matrix
    d, record, part = column_degrees(R), {}, {}
    blocks = partition(R, PARTITION.get(name, 1.0))
    record["blocks"] = [len(block) for block in blocks]
    with measured(part):
        V = singular_vectors(R, 256)
    record["filter, measured"] = dict(part)
    block = max(blocks, key=len)
    model = corml.CoRML(adapt=False)
    weights = Weights.of(model.plan(split.train).resolved(model.get_params()))
    with measured(part):
        problem = dense_problem(R[:, block], d[block], V[block], weights, dtype=np.float32)
    record["set-up of the largest block, measured"] = dict(part)
    cubes = sum(float(len(one)) ** 3 for one in blocks) / float(len(block)) ** 3
    times = []
    for steps in (1, 3):
        copy = type(problem)(problem.M.copy(), problem.B)
        with measured(part):
            solve(copy, rho=5000.0, max_steps=steps, tol=0)
        times.append(part["cpu seconds"])
        del copy
    a_step = (times[1] - times[0]) / 2
    start = record["filter, measured"]["cpu seconds"], record["set-up of the largest block, measured"]["cpu seconds"]
    record["cpu seconds a step of the largest block, measured"] = round(a_step, 2)
    record["peak bytes"] = part["peak bytes"]
    whole = start[0] + cubes * (start[1] + (times[0] - a_step) + STEPS * a_step)
    record[f"cpu seconds of {STEPS} steps, extrapolated"] = round(whole, 1)
    return record


def main(names: list[str], *, keep_dense: bool) -> None:
    for name in names:
        begun, record = begin(name), {"data": name, "sparse": alone(sparse, name, True)}
        record["fixed"] = alone(sparse, name, False)
        before = read(f"corml/fit-{name}") if keep_dense else None
        record["dense"] = alone(dense, name) if before is None else {"commit": before["commit"]} | before["dense"]
        whole = record["dense"][f"cpu seconds of {STEPS} steps, extrapolated"]
        record["times faster"] = round(whole / record["fixed"]["cpu seconds"], 1)
        print(write(f"corml/fit-{name}", begun, record), record["times faster"])


if __name__ == "__main__":
    given = [word for word in sys.argv[1:] if word != "--keep-dense"]
    main(given or ["pinterest"], keep_dense="--keep-dense" in sys.argv)
