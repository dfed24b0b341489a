"""What the report needs of an evaluation: values by name, per-user arrays, intervals."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from corml.evaluation.significance import is_significant

__all__ = ["Measured", "main_names", "shared_names", "significantly_different"]

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


def significantly_different(one: Measured, other: Measured, metric: str) -> bool | None:
    """Whether two results differ significantly over the same users; None if their users cannot be paired."""
    if metric not in one.per_user or metric not in other.per_user or not np.array_equal(one.users, other.users):
        return None
    differences = np.asarray(one.per_user[metric]) - np.asarray(other.per_user[metric])
    return is_significant(differences) if len(differences) > 1 else None
