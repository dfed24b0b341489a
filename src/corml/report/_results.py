"""What the report needs of an evaluation: values by name, per-user arrays, intervals."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from corml.report._measures import measure

__all__ = ["Measured", "by_accuracy", "main_names", "paired", "primary", "shared_names"]

MAIN_LENGTH = 10


class Measured(Protocol):
    """The part of `corml.evaluation.Result` that a report reads; anything of this shape will do."""

    @property
    def per_user(self) -> Mapping[str, NDArray[Any]]:
        """One value per evaluated user, by metric."""

    @property
    def intervals(self) -> Mapping[str, tuple[float, float]]:
        """Confidence intervals, by metric."""

    @property
    def users(self) -> NDArray[Any] | Sequence[Any]:
        """The users the arrays are about, in their order."""

    def __getitem__(self, metric: str) -> float: ...

    def __iter__(self) -> Iterator[str]: ...


def shared_names(results: Iterable[Measured]) -> list[str]:
    """Metrics that every result has, in the order of the first."""
    lists = [list(result) for result in results]
    return [name for name in (lists[0] if lists else []) if all(name in other for other in lists)]


def main_names(names: Sequence[str]) -> list[str]:
    """Choose the metrics at the list length people compare at, else at the first length there is."""
    for length in (f"@{MAIN_LENGTH}", *("@" + name.partition("@")[2] for name in names[:1])):
        chosen = [name for name in names if name.endswith(length)]
        if chosen:
            return chosen
    return list(names)


def primary(results: Mapping[str, Measured]) -> str | None:
    """The metric that decides who wins: the first about accuracy at the length people compare at."""
    accurate = [name for name in main_names(shared_names(results.values())) if measure(name).better > 0]
    usable = [name for name in accurate if all(np.isfinite(result[name]) for result in results.values())]
    return usable[0] if usable else None


def by_accuracy(results: Mapping[str, Measured], metric: str) -> list[str]:
    """Names of models, the most accurate first."""
    return sorted(results, key=lambda name: -results[name][metric])


def paired(one: Measured, other: Measured, metric: str) -> NDArray[np.float64] | None:
    """Differences over the same users; None if they cannot be paired."""
    if metric not in one.per_user or metric not in other.per_user or not np.array_equal(one.users, other.users):
        return None
    differences = np.asarray(one.per_user[metric], dtype=float) - np.asarray(other.per_user[metric], dtype=float)
    return differences if len(differences) > 1 else None
