"""Compile every kernel that a service needs, into NUMBA_CACHE_DIR: run when an image is built.

A small catalogue is scored whole, a large one by bounds: these are different kernels, so there is a model of each.
"""

import tempfile
from pathlib import Path

import numpy as np

import corml
from corml.service import served

CATALOGUES = {"small": (200, 4), "large": (5_000, 64)}  # items and rank


def main() -> None:
    """Load a made-up model of each kind as the service does: it tests and warms them before it answers."""
    with tempfile.TemporaryDirectory() as folder:
        for name, (items, rank) in CATALOGUES.items():
            path = Path(folder) / f"{name}.corml"
            corml.CoRML(rank=rank, adapt=False, max_steps=2, tol=0).fit(interactions(items)).save(path)
            served.load(name, str(path))


def interactions(items: int) -> corml.Interactions:
    """Ten items for each user, drawn at random."""
    chosen = np.random.default_rng(0).integers(items, size=(items // 2, 10))
    users = np.repeat(np.arange(len(chosen)), 10)
    return corml.Interactions.from_pairs(users, chosen.ravel())


if __name__ == "__main__":
    main()
