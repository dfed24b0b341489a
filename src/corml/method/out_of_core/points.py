"""Points of the solver as artefacts: kept every few minutes, found again after a kill."""

import time
from collections.abc import Callable

import numpy as np

from corml.method.out_of_core.files import Files
from corml.method.sparse.problem import PairProblem, Values
from corml.method.sparse.solver import Point

__all__ = ["Points"]

SECONDS = 120.0  # between two points that are kept


class Points:
    """The last point of one problem, begun from one start."""

    def __init__(self, files: Files, problem: PairProblem, start: Values | None) -> None:
        given = {"linear": problem.linear} if start is None else {"linear": problem.linear, "start": start}
        scale, ridge = np.array([problem.scale]), problem.ridge
        self.files = files
        self.problem = files.artefacts.content_key(
            indptr=problem.support.indptr, indices=problem.support.indices, scale=scale, ridge=ridge, **given
        )
        self.next = 0
        self.due = time.monotonic() + SECONDS

    def load(self) -> Point | None:
        """The last point that was kept."""
        kept = {slot: self.files.artefacts.find(self._slot(slot)) for slot in (0, 1)}
        steps = {slot: len(found["numbers"]) for slot, found in kept.items() if found is not None}
        if not steps:
            return None
        latest = max(steps, key=lambda slot: steps[slot])
        found, self.next = kept[latest], 1 - latest
        assert found is not None
        length, share, renewals, *residuals = found["numbers"].tolist()
        x, gradient, direction = (np.array(found[name]) for name in ("x", "gradient", "direction"))
        return Point(x, gradient, direction, (length, share), tuple(residuals), int(renewals))

    def save(self, make: Callable[[], Point]) -> None:
        """Keep the point, if the last that was kept is some minutes old."""
        if time.monotonic() < self.due:
            return
        point, key = make(), self._slot(self.next)
        arrays = {"x": point.x, "gradient": point.gradient, "direction": point.direction}
        numbers = np.array([*point.numbers, point.renewals, *point.residuals])
        self.files.artefacts.discard(key)
        self.files.artefacts.write(key, durable=True, numbers=numbers, **arrays)
        self.next, self.due = 1 - self.next, time.monotonic() + SECONDS

    def _slot(self, number: int) -> str:
        """Points are kept in turn in two places, so that one of them is always whole."""
        return self.files.key("point", self.problem, number)
