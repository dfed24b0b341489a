"""Holm's correction of p values: in a whole family of tests a false alarm stays as rare as in a single test."""

from collections.abc import Hashable, Mapping
from typing import TypeVar

__all__ = ["holm"]

Key = TypeVar("Key", bound=Hashable)


def holm(p: Mapping[Key, float]) -> dict[Key, float]:
    """Corrected p of each test of a family: the smallest times all tests, the next times one less, and so on.

    None falls below the one before it, and none is above 1.
    """
    corrected, floor = {}, 0.0
    for left, key in zip(range(len(p), 0, -1), sorted(p, key=lambda key: p[key]), strict=True):
        floor = max(floor, min(1.0, left * p[key]))
        corrected[key] = floor
    return {key: corrected[key] for key in p}
