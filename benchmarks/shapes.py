"""What looking gains or loses on data it was not made on (run: python benchmarks/shapes.py).

Two kinds of data. Generated ones have a known origin and other shapes: dense, long histories, few users, a heavy tail,
short histories. Parts of public data keep real tastes and change the shape: a sample of the users, or of the items.
Each is split at random (60/20/20, seed 7); CoRML() and CoRML(adapt=False) learn from train, and their lists are
compared by NDCG@20 and Recall@20 of the test part, with the standard error of the difference over users. Nothing is
chosen here. Of public data only the train part is read. Writes results/corml/shapes.json and docs/ablation.md.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from _machine import load_split, measured
from _public import train_part
from _record import begin, read, write
from pages import write_tables

import corml

SEED, METRICS = 7, ["ndcg@20", "recall@20"]
CORE = 5  # interactions of users and items of a part of public data, at least


def generated(
    users: int, items: int, length: float, *, tastes: int, tail: float, loyal: float, spread: float = 0.6
) -> corml.Interactions:
    """Histories of a known origin: some tastes a user, items of a taste by popularity, a few items of any taste.

    `length` is the mean of a history, `spread` how much histories differ in length, `tail` the exponent of popularity.
    """
    rng = np.random.default_rng(SEED)
    popularity = (np.arange(items) + 10.0) ** -tail
    taste = rng.integers(tastes, size=items)
    of_taste = [np.flatnonzero(taste == one) for one in range(tastes)]
    weights = [popularity[own] / popularity[own].sum() for own in of_taste]
    user, item = [], []
    for row, count in enumerate(np.maximum(CORE, length * rng.lognormal(-(spread**2) / 2, spread, users)).astype(int)):
        own = rng.choice(tastes, size=1 + min(tastes - 1, count // 15), replace=False)
        chosen: set[int] = set()
        for _ in range(3 * count):
            if rng.random() < loyal:
                which = rng.choice(own)
                chosen.add(int(rng.choice(of_taste[which], p=weights[which])))
            else:
                chosen.add(int(rng.integers(items)))
            if len(chosen) >= min(count, items // 2):
                break
        user += [row] * len(chosen)
        item += chosen
    return core(corml.Interactions.from_pairs(user, item))


def part_of(data: corml.Interactions, *, users: int | None = None, items: int | None = None) -> corml.Interactions:
    """A random sample of the users or of the items."""
    rng, keep = np.random.default_rng(SEED), np.ones(len(data), dtype=bool)
    for rows, labels, count in ((data.user, data.users, users), (data.item, data.items, items)):
        if count is not None:
            keep &= np.isin(rows, rng.choice(len(labels), min(count, len(labels)), replace=False))
    return core(data.where(keep).compact())


def core(data: corml.Interactions) -> corml.Interactions:
    """Without users and items of few interactions."""
    while min(data.user_degrees.min(), data.item_degrees.min()) < CORE:
        keep = (data.user_degrees[data.user] >= CORE) & (data.item_degrees[data.item] >= CORE)
        data = data.where(keep).compact()
    return data


# The look was developed on the six data sets of benchmarks/ablation.py, whole and in part (5,000 users or 8,000 items
# of Gowalla, 6,000 of Yelp2018, 8,000 users or 2,500 items of Pinterest, 20,000 users of Amazon-Book, 5,000 users of
# MovieTweetings), and on generated data of other numbers than these.
DATA: dict[str, Callable[[], corml.Interactions]] = {
    "generated, dense": lambda: generated(2000, 800, 90, tastes=15, tail=0.5, loyal=0.7),
    "generated, long histories": lambda: generated(1000, 5000, 350, tastes=50, tail=1.0, loyal=0.75),
    "generated, few users": lambda: generated(350, 2500, 80, tastes=25, tail=0.6, loyal=0.9),
    "generated, heavy tail": lambda: generated(8000, 9000, 20, tastes=90, tail=1.6, loyal=0.8),
    "generated, short histories": lambda: generated(12000, 4000, 7, tastes=80, tail=0.6, loyal=0.95),
    "generated, clear tastes": lambda: generated(10000, 12000, 35, tastes=300, tail=0.9, loyal=0.97),
    "Gowalla, 15,000 users": lambda: part_of(train_part("gowalla"), users=15000),
    "Gowalla, 20,000 items": lambda: part_of(train_part("gowalla"), items=20000),
    "Yelp2018, 16,000 users": lambda: part_of(train_part("yelp2018"), users=16000),
    "Yelp2018, 15,000 items": lambda: part_of(train_part("yelp2018"), items=15000),
    "Amazon-Book, 40,000 users": lambda: part_of(train_part("amazon-book"), users=40000),
    "Amazon-Book, 10,000 items": lambda: part_of(train_part("amazon-book"), items=10000),
    "Pinterest, 20,000 users": lambda: part_of(load_split("pinterest").train, users=20000),
    "Pinterest, 5,000 items": lambda: part_of(load_split("pinterest").train, items=5000),
    "MovieLens sample, 3 and more": lambda: corml.load("movielens-small", at_least=3, k_core=3),
}


def compared(results: list[corml.Result]) -> Iterator[tuple[str, dict[str, float]]]:
    """For each metric the means, and the relative gain of the second over the first with its standard error."""
    for metric in METRICS:
        fixed, looked = (result.per_user[metric] for result in results)
        gain, base = looked - fixed, fixed.mean()
        yield (
            metric,
            {
                "fixed": round(float(base), 5),
                "adapt": round(float(looked.mean()), 5),
                "gain %": round(100 * float(gain.mean() / base), 2),
                "standard error %": round(100 * float(gain.std(ddof=1) / np.sqrt(len(gain)) / base), 2),
            },
        )


def run(name: str) -> dict[str, Any]:
    data = DATA[name]()
    split = corml.split(data, "ratio", seed=SEED)
    record: dict[str, Any] = {"data": name, "users": len(data.users), "items": len(data.items), "pairs": len(data)}
    record["fingerprint"], results = split.fingerprint, []
    for label, adapt in (("fixed", False), ("adapt", True)):
        record[label] = {}
        with measured(record[label]):
            model = corml.CoRML(adapt=adapt).fit(split.train)
        results.append(corml.evaluate(model, split, METRICS, intervals=False))
    chosen = model.settings_
    record["chosen"] = {key: chosen[key] for key in ("rank", "filter_power", "filter_weight")}
    return record | dict(compared(results))


if __name__ == "__main__":
    begun = begin(generated={"by": "benchmarks/shapes.py, generated() and part_of()", "seed": SEED}, seed=SEED)
    before = {row["data"]: row for row in (read("corml/shapes") or {"rows": []})["rows"]}
    for name in sys.argv[1:] or DATA:
        before[name] = run(name)
        print(before[name], flush=True)
        write("corml/shapes", begun, {"rows": [before[name] for name in DATA if name in before]})
    write_tables()
