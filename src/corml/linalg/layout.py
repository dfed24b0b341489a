"""A map of items: points in the plane such that neighbours are near each other.

Every item is drawn to its nearest items and pushed away from a few others picked at random, with forces that fall off
as 1/(1 + d²), in rounds of smaller and smaller steps. An item that is near very many is drawn by each of them the less,
or the most popular items would all end in a few heaps. The rounds begin from the two smoothest coordinates on the
graph of neighbours, found by averaging over neighbours again and again: so the large shape does not depend on luck.
"""

import numpy as np
from numpy.typing import NDArray

from corml._runtime.compiled import njit
from corml.linalg.sparse import Values, Vector

ROUNDS = 200
SMOOTHINGS = 60
PUSHES = 5  # items pushed away for each neighbour drawn near
EXTENT = 10.0  # of the beginning, in units of the forces
STEEPEST = 4.0  # a force is never stronger
INNER = 0.9  # of the square is for all but a few stragglers


def layout(neighbours: NDArray[np.int64], *, seed: int = 0) -> Values:
    """Coordinates from −1 to 1 for the rows of `neighbours`, which are row numbers, nearest first, −1 for none.

    The same neighbours and seed give the same map.
    """
    n = len(neighbours)
    if n < 3:
        return np.zeros((n, 2), dtype=np.float32)
    near = np.ascontiguousarray(neighbours, dtype=np.int64)
    rng = np.random.default_rng(seed)
    points = _smooth_start(near, rng) * EXTENT
    named = np.bincount(near[near >= 0], minlength=n)
    yielding = np.minimum(1.0, near.shape[1] / np.maximum(named, 1))
    _pull_and_push(near, points, yielding, np.uint64(rng.integers(1, 2**62)), ROUNDS)
    return _fitted(points)


def _smooth_start(near: NDArray[np.int64], rng: np.random.Generator) -> Vector:
    """Two orthogonal coordinates that change little between neighbours, with a little noise to part equal ones."""
    there = near >= 0
    counts = np.maximum(there.sum(axis=1, keepdims=True), 1)
    points = rng.standard_normal((len(near), 2))
    for _ in range(SMOOTHINGS):
        drawn = np.where(there[:, :, None], points[near], 0.0).sum(axis=1) / counts
        points, _ = np.linalg.qr((points + drawn) / 2 - ((points + drawn) / 2).mean(axis=0))
    ranks = points.argsort(axis=0).argsort(axis=0) / len(points) - 0.5  # evenly spread, whatever the outliers
    return np.ascontiguousarray(ranks + 0.01 * rng.standard_normal(points.shape))


def _fitted(points: Vector) -> Values:
    """Fill the square from −1 to 1; stragglers are drawn in towards its edge, so that they do not shrink the rest."""
    centred = points - (np.quantile(points, 0.01, axis=0) + np.quantile(points, 0.99, axis=0)) / 2
    scaled = INNER * centred / np.maximum(np.quantile(np.abs(centred), 0.98, axis=0), 1e-9)
    beyond = np.maximum(np.abs(scaled) - INNER, 0)
    margin = 1 - INNER
    inside = np.minimum(np.abs(scaled), INNER) + margin * (1 - np.exp(-beyond / margin))
    filled: Values = (np.sign(scaled) * inside).astype(np.float32)
    return filled


@njit(cache=True, nogil=True)
def _pull_and_push(near, points, yielding, state, rounds):  # type: ignore[no-untyped-def]
    n, width = near.shape
    for turn in range(rounds):
        step = 1.0 - turn / rounds
        for i in range(n):
            for at in range(width):
                j = near[i, at]
                if j < 0 or j == i:
                    continue
                dx, dy = points[i, 0] - points[j, 0], points[i, 1] - points[j, 1]
                pull = -2.0 / (1.0 + dx * dx + dy * dy) / (1.0 + 0.1 * at)
                fx = max(-STEEPEST, min(STEEPEST, pull * dx)) * step
                fy = max(-STEEPEST, min(STEEPEST, pull * dy)) * step
                points[i, 0] += fx
                points[i, 1] += fy
                points[j, 0] -= fx * yielding[j]
                points[j, 1] -= fy * yielding[j]
                for _ in range(PUSHES):
                    state ^= state << np.uint64(13)  # xorshift: the same numbers on every machine
                    state ^= state >> np.uint64(7)
                    state ^= state << np.uint64(17)
                    other = np.int64(state % np.uint64(n))
                    if other == i:
                        continue
                    dx, dy = points[i, 0] - points[other, 0], points[i, 1] - points[other, 1]
                    square = dx * dx + dy * dy
                    push = 2.0 / ((0.05 + square) * (1.0 + square))
                    points[i, 0] += max(-STEEPEST, min(STEEPEST, push * dx)) * step
                    points[i, 1] += max(-STEEPEST, min(STEEPEST, push * dy)) * step
