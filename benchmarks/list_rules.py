"""What rules of lists cost in time, and shares in relevance (run: python benchmarks/list_rules.py [DATA]).

10,000 users get a list of 10 items, with and without rules: lists a processor second, by CoRML, which has a metric, and
by item-knn, whose lists are made diverse by the users of items. Then an item may be in only so many lists of the test
users: how much of the plain lists' scores is kept (mean over users) and NDCG@10, for deferred acceptance
(docs/lists.md) and for serving users in the order of the file, each the best items that are left. Writes
results/lists/rules-DATA.json.
"""

import sys
import time
from typing import Any

import numpy as np
from _machine import load_split
from _record import begin, write

import corml
from corml.evaluation.measure import lists_of, measured
from corml.evaluation.metrics import parse_all
from corml.evaluation.task import Task, Training
from corml.models.recommender import Recommender
from corml.recommend.allowed import Allowed
from corml.recommend.options import ListRules
from corml.recommend.rank import top_k
from corml.recommend.rerank import ListMaker

USERS, K, DEEP, BOOSTED = 10_000, 10, 400, 100
RULES: dict[str, dict[str, Any]] = {
    "none": {},
    "diversity 0.3": {"diversity": 0.3},
    "boost": {},
    "max_share 0.01": {"max_share": 0.01},
    "all": {"diversity": 0.3, "max_share": 0.01},
}
SHARES = {"movielens-small": (0.2, 0.05, 0.02)}
SHARES_OF_MANY = (0.02, 0.005, 0.001)


def speed(model: Recommender, users: list[str]) -> dict[str, dict[str, float]]:
    """Seconds and lists a processor second for each of the rules; kernels are compiled before."""
    figures = {}
    for name, given in RULES.items():
        boost = {item: 1.2 for item in list(model.items_)[:BOOSTED]} if name in ("boost", "all") else None
        rules = {**given, "boost": boost}
        model.recommend(users[: 2 * BOOSTED], k=K, seen="learned", **rules)
        wall, cpu = time.perf_counter(), time.process_time()
        model.recommend(users, k=K, seen="learned", **rules)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        per_second = round(len(users) / cpu)
        figures[name] = {"seconds": round(wall, 2), "cpu seconds": round(cpu, 2), "lists a cpu second": per_second}
        print(model.NAME, name, figures[name], flush=True)
    return figures


def shares(model: Recommender, split: corml.Split, tried: tuple[float, ...]) -> list[dict[str, Any]]:
    """Relevance that is kept, and NDCG@10, by the greedy rule and by the order of the file."""
    job, training = Task.of(split, "test", model.items_), Training.of(split.train, model.items_)
    known = model.users_.find(job.users)
    columns, scores = top_k(model, job.history, DEEP, users=known, seen=job.mask)
    total = scores[:, :K].sum(axis=1)
    figures: list[dict[str, Any]] = []
    for share in (1.0, *tried):
        rules = ListRules(max_share=share)
        maker = ListMaker(model, job.history, known, Allowed(job.mask), rules.options, K)
        ours = maker.lists(job.users.tolist())
        places = first_come(columns, int(share * len(columns)), len(model.items_))
        assert (places >= 0).all(), "more candidates are needed"
        theirs = np.take_along_axis(columns, places, axis=1)
        kept = {
            "greedy rule": (ours.columns, ours.scores),
            "order of the file": (theirs, np.take_along_axis(scores, places, axis=1)),
        }
        for name, (items, values) in kept.items():
            means, _ = measured(lists_of(job, training, items), parse_all("ndcg@10,coverage@10"))
            figures.append(
                {"share": share, "by": name, "kept": round(float(np.mean(values.sum(axis=1) / total)), 4)}
                | {metric: round(mean, 4) for metric, mean in means.items()}
                | {"most lists of an item": int(np.bincount(items[items >= 0]).max())}
            )
            print(figures[-1], flush=True)
    return figures


def first_come(columns: Any, quota: int, items: int) -> Any:
    """Places of the best items that are left, user by user."""
    left, places = np.full(items, quota), np.full((len(columns), K), -1)
    for row, candidates in enumerate(columns):
        free = np.flatnonzero(left[candidates] > 0)[:K]
        places[row, : len(free)] = free
        left[candidates[free]] -= 1
    return places


def main(name: str) -> None:
    begun, split = begin(name), load_split(name)
    users: list[str] = list(split.train.users)[:USERS]
    record: dict[str, Any] = {}
    for model in (corml.CoRML(), corml.models.make("item-knn")):
        model.fit(split.train)
        record[model.NAME] = {"speed": speed(model, users)}
        if model.NAME == "corml":
            record[model.NAME]["shares"] = shares(model, split, SHARES.get(name, SHARES_OF_MANY))
    print(write(f"lists/rules-{name}", begun, {"data": name, "lists": len(users), "k": K, "models": record}))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "gowalla")
