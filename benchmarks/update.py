"""What an update saves: new interactions at once, a warm refit against a cold fit, and users compared among 120,000.

    python benchmarks/update.py gowalla

One interaction in fifty, drawn at random, comes later. Prints processor seconds of each step, and how far the warm
refit and the cold fit of the same data agree. Then three copies of every user are added, under other names, and the
users most like some are looked for among all.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import corml
from corml.updating import to_learn

LATER, SEED = 0.02, 14
COPIES = ("-a", "-b", "-c")
ASKED = 100


def main() -> None:
    """Update, refit, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", nargs="?", default="gowalla")
    data = corml.load(parser.parse_args().source)
    later = np.random.default_rng(SEED).random(len(data)) < LATER
    model = timed("fit", lambda: corml.CoRML().fit(data.where(~later).compact()))
    updated = timed("update", lambda: model.update(data.where(later).compact()))
    warm = timed("warm refit", updated.refitted)
    cold = timed("cold fit", lambda: corml.CoRML().fit(to_learn(updated.fitted_)))
    agree(warm, cold)
    labels = data.users.labels[data.user].astype(str), data.items.labels[data.item]
    users = np.concatenate([np.char.add(labels[0], copy) for copy in COPIES])
    copies = corml.Interactions.from_pairs(users, np.tile(labels[1], len(COPIES)))
    many = timed("update with copies", lambda: model.update(copies))
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
