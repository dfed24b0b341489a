"""Small data for tests."""

import copy
from dataclasses import replace

import numpy as np

from corml import Interactions, models
from corml._runtime.settings import values_of
from corml.persistence import container


def random_interactions(seed, users=40, items=25, mean=6):
    """Skewed random interactions; every user has at least one."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, items + 1)
    chosen = [
        rng.choice(items, size=min(items, 1 + rng.poisson(mean - 1)), replace=False, p=weights / weights.sum())
        for _ in range(users)
    ]
    user_labels = [f"u{user}" for user, row in enumerate(chosen) for _ in row]
    item_labels = [f"i{item}" for row in chosen for item in row]
    return Interactions.from_pairs(user_labels, item_labels)


def with_weights(data, seed=2):
    """The same pairs, with strengths."""
    weights = np.random.default_rng(seed).choice([0.5, 1.0, 4.0], len(data))
    return replace(data, weights=weights.astype(np.float32))


def new_learner(model, X):
    """What the loop would train of a gradient model on these data, on one processor."""
    import torch

    return model._learner(X, model._plan(X).resolved(values_of(model)), torch.device("cpu"))


def with_arrays(model, **arrays):
    """The same fitted model with other arrays: what no fit would leave behind, or what another program learned."""
    changed = copy.copy(model)
    changed.fitted_ = replace(model.fitted_, arrays={**model.fitted_.arrays, **arrays})
    return changed


def learner_of(name, data, **settings):
    """A gradient model that has learned nothing yet, and what its loop would train.

    Its vectors are long enough for every part of a loss to count.
    """
    common = {"size": 5, "epochs": 0, "batch": 4096, "init_std": 0.4}
    model = models.make(name, common | settings).fit(data)
    return model, new_learner(model, data.matrix)


def one_batch(learner, seed=0):
    """All pairs of the data in one mini-batch."""
    (batch,) = learner.sampler(np.random.default_rng(seed))
    return batch


def propagate(table, X, layers):
    """A table of vectors and what the graph makes of it, layer by layer, by dense products."""
    R = X.toarray().astype(np.float64)
    N = R / np.sqrt(np.maximum(R.sum(1), 1))[:, None] / np.sqrt(np.maximum(R.sum(0), 1))
    tables = [np.asarray(table, dtype=np.float64)]
    for _ in range(layers):
        users, items = tables[-1][: len(R)], tables[-1][len(R) :]
        tables.append(np.vstack([N @ items, N.T @ users]))
    return tables


ODD_TEXTS = [
    "a", "NA", "é", "e\u0301", "☕🧑‍🚀", "line\nbreak", "tab\t", "\u202eabc", '"', '"quoted"', "\\", "007", "7", "7.0",
    " 7", "None", "\udc80", "../x", "x" * 300,
]  # fmt: skip


def forge(path, arrays=None, without=(), **facts):
    """Change a model file: other arrays (a function makes one of the old one), none of some names, other facts."""
    contents = container.read(path)
    made = {name: array for name, array in contents.arrays.items() if name not in without}
    for name, array in (arrays or {}).items():
        made[name] = array(made[name]) if callable(array) else array
    path.write_bytes(container.pack(made, {**contents.meta, **facts}))


def flip_last_bit(path):
    """Damage a file."""
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
