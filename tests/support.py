"""Small data for tests."""

import numpy as np

from corml import Interactions


def random_interactions(seed, users=40, items=25, mean=6):
    """Skewed random interactions; every user has at least one."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, items + 1)
    chosen = [
        rng.choice(items, size=min(items, 1 + rng.poisson(mean - 1)), replace=False, p=weights / weights.sum())
        for _ in range(users)
    ]
    who = [f"u{user}" for user, row in enumerate(chosen) for _ in row]
    what = [f"i{item}" for row in chosen for item in row]
    return Interactions.from_pairs(who, what)
