"""The costly steps of column generation as tasks; the results of blocks of items are combined here."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.compiled import njit
from corml._runtime.parallel import over_rows
from corml.linalg.pairs import Support
from corml.linalg.sparse import Values, power
from corml.models.corml.problem import UserWeights, Weights
from corml.models.corml.sparse.pairs import COLUMNS, POPULARITY_EXPONENT, Candidates, Factors, both_ways
from corml.models.corml.sparse.pricing import Constants, Limits, Numbers, Priced, PricedFactors, Violations, selected
from corml.models.corml.sparse.solver import PairProblem, Point
from corml.outofcore.fit import files as cuts
from corml.outofcore.fit.files import Files
from corml.outofcore.fit.spectral import NormalProduct
from corml.outofcore.tasks import Task

A_VISIT, A_ROW_GATHER, A_USER_GATHER = 1.5, 1.0, 1.1  # ns: an item of a user, and numbers gathered either way
SECONDS = 120.0  # between two checkpoints of the solver

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class OnDisk:
    """Interactions in files, the singular vectors of the filter, and the weights of problem H."""

    files: Files
    V: NDArray[Any]
    weights: Weights

    @property
    def d(self) -> Vector:
        """Users of each item, one at least."""
        return self.files.d

    @cached_property
    def users(self) -> UserWeights:
        """Ω and Φ."""
        return self.weights.of_users(self.files.user_degrees)

    def co_occurring(self, max_per_item: int | None) -> Candidates:
        """The candidates to begin with."""
        n, loss = len(self.d), self.users.loss.astype(np.float32)
        numbers = self.files.artefacts.keep(loss=loss, strength=power(self.d, -POPULARITY_EXPONENT).astype(np.float32))
        blocks = cuts.ranges(self.files.visits, cuts.VISITS)
        most = n if max_per_item is None else max_per_item
        tasks = self.files.run("strongest", {"numbers": numbers}, blocks, stage="pairs", most=most)
        parts = [self.files.artefacts.open(task.key) for task in tasks]
        indptr = np.concatenate([[0], np.cumsum(np.concatenate([part["sizes"] for part in parts]))])
        index = np.int32 if indptr[-1] < 2**31 else np.int64
        indices = np.concatenate([part["indices"] for part in parts]).astype(index, copy=False)
        values = np.concatenate([part["values"] for part in parts])
        gram = csr_array((values, indices, indptr.astype(index)), shape=(n, n))
        gram.has_sorted_indices = True
        complete = all(part.facts["whole"] for part in parts)
        gram = gram if complete else both_ways(gram)
        support = Support.of(gram)
        weighted = gram.data if self.users.ranks_alike else self._gram_on(support, self.users.both)
        return Candidates(support, gram.data, weighted, complete)

    def on_support(self, support: Support) -> Candidates:
        """The pairs of a support as candidates."""
        gram = self._gram_on(support, self.users.loss)
        weighted = gram if self.users.ranks_alike else self._gram_on(support, self.users.both)
        return Candidates(support, gram, weighted, complete=False)

    def cross_term(self, pairs: Candidates) -> Values:
        """What the filter already explains of each pair."""
        if self.V.shape[1] == 0:
            return np.zeros(len(pairs.support), dtype=np.float32)
        factors = self._factors()
        kept = self.files.artefacts.keep(left=factors.left, right=factors.right)
        cross = self._by_blocks("dots", {"factors": kept}, pairs.support)
        cross -= pairs.weighted * factors.own[pairs.support.indices]
        both: Values = cross[pairs.support.twin]
        both += cross
        return both

    def problem(self, pairs: Candidates, cross: Values | None, *, keep_gram: bool = False) -> PairProblem:
        """Problem H on some candidates."""
        assert not keep_gram
        p = power(self.d, -self.weights.item_norm).astype(np.float32)
        numbers = self.files.artefacts.keep(p=p, both=self.users.both.astype(np.float32))
        normal = TaskProduct(self.files, pairs.support, numbers)
        return PairProblem.through(normal, self.d, pairs, cross=cross, weights=self.weights)

    def checkpoint(self, problem: PairProblem, start: Values | None) -> "Points":
        """Checkpoints of the solver, written every few minutes."""
        return Points(self.files, problem, start)

    def price(self, H: csr_array, curvature: Vector, limits: Limits) -> Violations:
        """How far the excluded pairs violate the KKT conditions, and which to add."""
        numbers = Numbers.of(power(self.d, -self.weights.item_norm), self.users, curvature)
        given = {
            "numbers": self.files.artefacts.keep(**numbers._asdict()),
            "factors": self.files.artefacts.keep(**PricedFactors.of(self._factors())._asdict()),
            "H": self.files.artefacts.keep(indptr=H.indptr, indices=H.indices, data=H.data),
        }
        how: dict[str, Any] = {"per_item": limits.per_item, "alike": self.users.ranks_alike}
        constants, blocks = list(Constants.of(self.weights, limits)), cuts.ranges(self.files.visits, cuts.VISITS)
        parts = []
        tasks = self.files.run("prices", given, blocks, stage="pricing", constants=constants, **how)
        for (start, _), task in zip(blocks, tasks, strict=True):
            part = self.files.artefacts.open(task.key)
            parts.append(Priced(start, *(part[name] for name in ("sums", "first", "second", "violation"))))
        return selected(parts, len(self.d), limits.total)

    def _gram_on(self, support: Support, by_user: Vector) -> Values:
        return self._by_blocks(
            "gram", {"numbers": self.files.artefacts.keep(weights=by_user.astype(np.float32))}, support
        )

    def _by_blocks(self, kernel: str, given: dict[str, str], support: Support) -> Values:
        """One value for each pair, from tasks on blocks of items."""
        blocks = cuts.ranges(self.files.visits + np.diff(support.indptr), cuts.VISITS)
        tasks = self.files.run(kernel, {"support": _kept(self.files, support), **given}, blocks)
        return _joined(self.files, tasks, len(support))

    def _factors(self) -> Factors:
        """The factors of the cross term, a band of the columns of V at a time."""
        V, weights, filter_norm = np.asarray(self.V, dtype=np.float32), self.users.both, self.weights.filter_norm

        def make() -> dict[str, NDArray[Any]]:
            through = NormalProduct(self.files, weights, power(self.d, -filter_norm), twice=False)
            left = np.empty_like(V)
            for start in range(0, V.shape[1], COLUMNS):
                left[:, start : start + COLUMNS] = through(V[:, start : start + COLUMNS])
            return {"left": left}

        key = self.files.key(
            "left", self.files.artefacts.keep(weights=weights), filter_norm, self.files.artefacts.keep(V=V)
        )
        return Factors.from_left(self.files.made_once(key, make)["left"], V, self.d, filter_norm)


class TaskProduct:
    """X ↦ Pᵀ Φ P X on a support by tasks: by rows of A, or through ranges of users where items have few."""

    def __init__(self, files: Files, support: Support, numbers: str) -> None:
        self.files, self.size = files, len(support)
        self.given = {"support": _kept(files, support), "numbers": numbers}
        self.numbers = files.artefacts.open(numbers)
        partners = np.diff(support.indptr).astype(np.float64)
        rows = A_VISIT * files.visits + A_ROW_GATHER * _sums_over(*support.arrays, partners)
        self.by_rows = bool(rows.sum() < A_USER_GATHER * 2 * np.dot(partners, files.sides.items.degrees))
        ptr, items, _ = files.sides.users
        self.ranges = cuts.ranges(rows if self.by_rows else _sums_over(ptr, items, partners), cuts.GATHERS)

    def one_way(self, x: Values) -> Values:
        """A X on the support."""
        given, kernel = self.files.scratch(x=x), "product_by_rows" if self.by_rows else "product_by_users"
        tasks = list(self.files.run(kernel, {**self.given, "x": given}, self.ranges, durable=False))
        total = (_joined if self.by_rows else _summed)(self.files, tasks, self.size)
        self.files.artefacts.discard(given, *(task.key for task in tasks))
        return total

    def diagonal(self) -> Vector:
        """diag(A)."""
        ptr, users, values = self.files.sides.items
        sums, both = np.zeros(len(ptr) - 1), self.numbers["both"]
        over_rows(lambda a, b: _weights_of_rows(ptr, users, values, both, sums, a, b), len(sums))
        return np.asarray(sums * self.numbers["p"].astype(np.float64) ** 2)


class Points:
    """Checkpoints of the solver for one problem from one start, written every few minutes, to resume after a kill."""

    def __init__(self, files: Files, problem: PairProblem, start: Values | None) -> None:
        given: dict[str, NDArray[Any]] = {} if start is None else {"start": start}
        given |= {"linear": problem.linear, "scale": np.array([problem.scale]), "ridge": problem.ridge}
        self.files = files
        self.problem = files.artefacts.content_key(
            indptr=problem.support.indptr, indices=problem.support.indices, **given
        )
        self.next = 0
        self.due = time.monotonic() + SECONDS

    def load(self) -> Point | None:
        """The last checkpoint."""
        kept = {slot: self.files.artefacts.find(self._slot(slot)) for slot in (0, 1)}
        steps = {slot: len(point["numbers"]) for slot, point in kept.items() if point is not None}
        if not steps:
            return None
        slot = max(steps, key=lambda slot: steps[slot])
        latest, self.next = kept[slot], 1 - slot
        assert latest is not None
        length, share, renewals, *residuals = latest["numbers"].tolist()
        x, gradient, direction = (np.array(latest[name]) for name in ("x", "gradient", "direction"))
        return Point(x, gradient, direction, (length, share), tuple(residuals), int(renewals))

    def save(self, make: Callable[[], Point]) -> None:
        """Write a checkpoint, if the last one is some minutes old."""
        if time.monotonic() < self.due:
            return
        point, key = make(), self._slot(self.next)
        arrays = {"x": point.x, "gradient": point.gradient, "direction": point.direction}
        numbers = np.array([*point.numbers, point.renewals, *point.residuals])
        self.files.artefacts.discard(key)
        self.files.artefacts.write(key, durable=True, numbers=numbers, **arrays)
        self.next, self.due = 1 - self.next, time.monotonic() + SECONDS

    def _slot(self, number: int) -> str:
        """Checkpoints alternate between two names, so that one of them is always complete."""
        return self.files.key("point", self.problem, number)


# --- results of tasks -------------------------------------------------------------------------------------------------


def _kept(files: Files, support: Support) -> str:
    return files.artefacts.keep(indptr=support.indptr, indices=support.indices)


def _joined(files: Files, tasks: Iterable[Task], size: int) -> Values:
    whole, at = np.empty(size, dtype=np.float32), 0
    for task in tasks:
        part = files.artefacts.open(task.key)["values"]
        whole[at : at + len(part)] = part
        at += len(part)
    assert at == size
    return whole


def _summed(files: Files, tasks: Iterable[Task], size: int) -> Values:
    total = np.zeros(size, dtype=np.float32)
    for task in tasks:
        total += files.artefacts.open(task.key)["values"]
    return total


def _sums_over(ptr: NDArray[Any], columns: NDArray[Any], values: Vector) -> Vector:
    """For each row the sum of the values of its columns."""
    sums = np.zeros(len(ptr) - 1)
    over_rows(lambda a, b: _sum_rows(ptr, columns, values, sums, a, b), len(sums))
    return sums


@njit(cache=True, nogil=True)
def _sum_rows(ptr, columns, values, sums, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        for at in range(ptr[row], ptr[row + 1]):
            sums[row] += values[columns[at]]


@njit(cache=True, nogil=True)
def _weights_of_rows(ptr, users, values, both, sums, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        for at in range(ptr[row], ptr[row + 1]):
            weight = np.float64(both[users[at]])
            if values is not None:
                weight *= np.float64(values[at]) ** 2
            sums[row] += weight
