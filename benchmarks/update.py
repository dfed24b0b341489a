"""What an update saves: new interactions at once, a warm refit against a cold fit, and users compared among 100,000.

    python benchmarks/update.py gowalla --k-core 25

One interaction in fifty, drawn at random, comes later. Prints processor seconds of each step, and how far the warm
refit and the cold fit of the same data agree; with the filter as it is, and chosen by looking. Then copies of all users
are added, under other names, and the users most like some are looked for among all.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import corml
from corml.models.updating import to_learn

LATER, SEED = 0.02, 14
MANY, ASKED = 100_000, 100


def main() -> None:
    """Update, refit, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", nargs="?", default="gowalla")
    parser.add_argument("--k-core", type=int, default=0)
    given = parser.parse_args()
    data = corml.load(given.source, k_core=given.k_core)
    print(data)
    for adapt in (False, True):
        print(f"adapt={adapt}")
        model = refits(data, adapt)
    look_for_users(model, data)


def refits(data: corml.Interactions, adapt: bool) -> corml.CoRML:
    """A model of the first interactions; the others are added, and learned by two fits."""
    later = np.random.default_rng(SEED).random(len(data)) < LATER
    model = timed("fit", lambda: corml.CoRML(adapt=adapt).fit(data.where(~later).compact()))
    updated = timed("update", lambda: model.update(data.where(later).compact()))
    warm = timed("warm refit", updated.refitted)
    agree(warm, timed("cold fit", lambda: corml.CoRML(adapt=adapt).fit(to_learn(updated.fitted_))))
    return model


def look_for_users(model: corml.CoRML, data: corml.Interactions) -> None:
    """Similar users among many: copies of those there are."""
    copies = -(-MANY // len(data.users))
    users, items = data.users.labels[data.user].astype(str), data.items.labels[data.item]
    named = np.concatenate([np.char.add(users, f"-{copy}") for copy in range(copies)])
    more = corml.Interactions.from_pairs(named, np.tile(items, copies))
    many = timed("update with copies", lambda: model.update(more))
    print(many.users_)
    timed("similar users, the first time", lambda: many.similar_users(list(data.users)[:1]))
    timed(f"similar users of {ASKED}", lambda: many.similar_users(list(data.users)[:ASKED]))


def timed(step: str, work: Callable[[], Any]) -> Any:
    """Print the processor seconds of some work."""
    begun = time.process_time()
    made = work()
    print(f"{step:30} {time.process_time() - begun:8.2f} s", flush=True)
    return made


def agree(warm: corml.CoRML, cold: corml.CoRML) -> None:
    """Print certificates, the distance of the two H and the share of common items in lists of ten."""
    for name, model in (("warm", warm), ("cold", cold)):
        for one in model.fitted_.certificates:
            print(f"{name}: {one.steps} steps, residual {one.residual:.1e}, converged {one.converged}")
    difference = warm.H_ - cold.H_
    print(f"H differs by {np.linalg.norm(difference.data) / np.linalg.norm(cold.H_.data):.1e} of its norm")
    lists = [model.recommend(list(cold.users_)[:3000]).items for model in (warm, cold)]
    print(f"lists share {np.mean([len(set(a) & set(b)) / len(a) for a, b in zip(*lists, strict=True)]):.4f}")


if __name__ == "__main__":
    main()
