"""The costly steps of column generation as tasks: what is found of items by blocks of them, and put together here."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.compiled import njit
from corml.linalg.scaling import power
from corml.linalg.support import Support
from corml.method.out_of_core import cuts
from corml.method.out_of_core.files import Files
from corml.method.out_of_core.points import Points
from corml.method.out_of_core.spectral import NormalProduct
from corml.method.problem import UserWeights, Weights
from corml.method.sparse.candidates import POPULARITY_EXPONENT, Candidates, both_ways
from corml.method.sparse.cross_term import COLUMNS, Factors
from corml.method.sparse.pricing import Priced, Selection, Violations, heads_of, selected
from corml.method.sparse.problem import PairProblem, Values
from corml.parallel import over_rows
from corml.tasks import Task

__all__ = ["OnDisk"]

A_VISIT, A_ROW_GATHER, A_USER_GATHER = 1.5, 1.0, 1.1  # ns: an item of a user, and numbers gathered either way

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class OnDisk:
    """Interactions in files, and the singular vectors of the filter beside which H is learned."""

    files: Files
    V: NDArray[Any]

    @property
    def d(self) -> Vector:
        """Users of each item."""
        return self.files.d

    @property
    def user_degrees(self) -> Vector:
        """Items of each user."""
        return self.files.user_degrees

    def co_occurring(self, users: UserWeights, max_per_item: int | None) -> Candidates:
        """The candidates to begin with."""
        n = len(self.d)
        strength = power(self.d, -POPULARITY_EXPONENT).astype(np.float32)
        numbers = self.files.keep(loss=users.loss.astype(np.float32), strength=strength)
        most = n if max_per_item is None else max_per_item
        blocks = cuts.ranges(self.files.visits, cuts.VISITS)
        tasks = [self.files.task("strongest", {"numbers": numbers}, start=a, stop=b, most=most) for a, b in blocks]
        found = [self.files.artefacts.open(task.key) for task in self.files.finished(tasks, "pairs")]
        sizes = np.concatenate([part["sizes"] for part in found])
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        index = np.int32 if indptr[-1] < 2**31 else np.int64
        indices = np.concatenate([part["indices"] for part in found]).astype(index, copy=False)
        values = np.concatenate([part["values"] for part in found])
        gram = csr_array((values, indices, indptr.astype(index)), shape=(n, n))
        gram.has_sorted_indices = True
        complete = all(part.facts["whole"] for part in found)
        gram = gram if complete else both_ways(gram)
        support = Support.of(gram)
        weighted = gram.data if users.ranks_alike else self._gram_on(support, users.both)
        return Candidates(support, gram.data, weighted, complete)

    def on_support(self, users: UserWeights, support: Support) -> Candidates:
        """The pairs of a support as candidates."""
        gram = self._gram_on(support, users.loss)
        weighted = gram if users.ranks_alike else self._gram_on(support, users.both)
        return Candidates(support, gram, weighted, complete=False)

    def cross_term(self, pairs: Candidates, users: UserWeights, filter_norm: float, *, clip: bool) -> Values:
        """What the filter already explains of each pair."""
        assert not clip
        if self.V.shape[1] == 0:
            return np.zeros(len(pairs.support), dtype=np.float32)
        factors = self._factors(users, filter_norm)
        given = {
            "support": self._kept(pairs.support),
            "factors": self.files.keep(left=factors.left, right=factors.right),
        }
        cross = self._by_blocks("dots", given, pairs.support)
        cross -= pairs.weighted * factors.own[pairs.support.indices]
        both: Values = cross[pairs.support.twin]
        both += cross
        return both

    def problem(
        self, pairs: Candidates, cross: Values | None, users: UserWeights, weights: Weights, *, keep_gram: bool
    ) -> PairProblem:
        """Problem H on some candidates."""
        assert not keep_gram
        p = power(self.d, -weights.item_norm).astype(np.float32)
        numbers = self.files.keep(p=p, both=users.both.astype(np.float32))
        normal = TaskProduct(self.files, pairs.support, self._kept(pairs.support), numbers)
        return PairProblem.through(normal, self.d, pairs, cross=cross, weights=weights)

    def checkpoint(self, problem: PairProblem, start: Values | None) -> Points:
        """The solver keeps how far it got every few minutes."""
        return Points(self.files, problem, start)

    def price(
        self, H: csr_array, users: UserWeights, curvature: Vector, weights: Weights, selection: Selection, *, clip: bool
    ) -> Violations:
        """How far the excluded pairs violate the KKT conditions, and which to add."""
        assert not clip
        factors = self._factors(users, weights.filter_norm)
        p = power(self.d, -weights.item_norm)
        names = {"p": p, "loss": users.loss, "both": users.both, "curvature": curvature}
        given = {
            "numbers": self.files.keep(**{name: values.astype(np.float32) for name, values in names.items()}),
            "factors": self.files.keep(
                left_right=np.hstack([factors.left, factors.right]), own=factors.own, heads=heads_of(factors)
            ),
            "H": self.files.keep(indptr=H.indptr, indices=H.indices, data=H.data),
        }
        constants = [1 / weights.mix, weights.scale, weights.cross_factor, selection.threshold]
        how: dict[str, Any] = {"constants": constants, "per_item": selection.per_item, "alike": users.ranks_alike}
        blocks = cuts.ranges(self.files.visits, cuts.VISITS)
        tasks = [self.files.task("prices", given, start=a, stop=b, **how) for a, b in blocks]
        parts = []
        for (start, _), task in zip(blocks, self.files.finished(tasks, "pricing"), strict=True):
            found = self.files.artefacts.open(task.key)
            parts.append(Priced(start, *(found[name] for name in ("sums", "first", "second", "violation"))))
        return selected(parts, len(self.d), selection.total)

    # --- parts -------------------------------------------------------------------------------------------------------

    def _gram_on(self, support: Support, by_user: Vector) -> Values:
        numbers = self.files.keep(weights=by_user.astype(np.float32))
        given = {"support": self._kept(support), "numbers": numbers}
        return self._by_blocks("gram", given, support, weights="weights")

    def _by_blocks(self, kernel: str, given: dict[str, str], support: Support, **params: Any) -> Values:
        """One value for each pair, from tasks on blocks of items."""
        blocks = cuts.ranges(self.files.visits + np.diff(support.indptr), cuts.VISITS)
        tasks = [self.files.task(kernel, given, start=a, stop=b, **params) for a, b in blocks]
        return _joined(self.files, self.files.finished(tasks), len(support))

    def _kept(self, support: Support) -> str:
        return self.files.keep(indptr=support.indptr, indices=support.indices)

    def _factors(self, users: UserWeights, filter_norm: float) -> Factors:
        """C = left rightᵀ − RᵀΩΦR·diag(own), a band of the columns of V at a time."""
        V, weights = np.asarray(self.V, dtype=np.float32), users.both
        through = NormalProduct(self.files, weights, power(self.d, -filter_norm), twice=False)
        key = self.files.key("left", self.files.keep(weights=weights), filter_norm, self.files.keep(V=V))
        found = self.files.artefacts.find(key)
        if found is None:
            left = np.empty(V.shape, dtype=np.float32)
            for start in range(0, V.shape[1], COLUMNS):
                left[:, start : start + COLUMNS] = through(V[:, start : start + COLUMNS])
            self.files.artefacts.write(key, durable=True, left=left)
            found = self.files.artefacts.open(key)
        right = (V * power(self.d, filter_norm)[:, None]).astype(np.float32)
        return Factors(found["left"], right, np.einsum("ij,ij->i", V, V).astype(np.float32))


class TaskProduct:
    """X ↦ Pᵀ Φ P X on a support by tasks: by rows of A, or through ranges of users where items have few."""

    def __init__(self, files: Files, support: Support, kept: str, numbers: str) -> None:
        self.files, self.support = files, support
        self.given = {"support": kept, "numbers": numbers}
        self.numbers = files.artefacts.open(numbers)
        partners = np.diff(support.indptr).astype(np.float64)
        squares = _sums_over(support, partners)
        gathers = partners * files.sides.items.degrees
        rows = A_VISIT * files.visits + A_ROW_GATHER * squares
        self.by_rows = bool(rows.sum() < A_USER_GATHER * 2 * gathers.sum())
        if self.by_rows:
            self.ranges = cuts.ranges(rows, cuts.GATHERS)
        else:
            self.ranges = cuts.ranges(_work_of_users(files, partners), cuts.GATHERS)

    def one_way(self, x: Values) -> Values:
        """A X, as the only row of an array."""
        given, kernel = self.files.scratch(x=x), "product_by_rows" if self.by_rows else "product_by_users"
        tasks = [
            self.files.task(kernel, {**self.given, "x": given}, durable=False, start=a, stop=b) for a, b in self.ranges
        ]
        done = self.files.finished(tasks)
        total = _joined(self.files, done, len(x)) if self.by_rows else _summed(self.files, done, len(x))
        self.files.drop(given, *(task.key for task in tasks))
        return total[None]

    def diagonal(self) -> Vector:
        """diag(A)."""
        ptr, users, values = self.files.sides.items
        sums, both = np.zeros(len(ptr) - 1), self.numbers["both"]
        over_rows(lambda a, b: _weights_of_rows(ptr, users, values, both, sums, a, b), len(sums))
        return np.asarray(sums * self.numbers["p"].astype(np.float64) ** 2)


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


def _sums_over(support: Support, values: Vector) -> Vector:
    """For each item the sum of the values of its partners."""
    sums = np.zeros(support.items)
    over_rows(lambda a, b: _sum_rows(support.indptr, support.indices, values, sums, a, b), support.items)
    return sums


def _work_of_users(files: Files, partners: Vector) -> Vector:
    """For each user the partners of their items."""
    ptr, items, _ = files.sides.users
    sums = np.zeros(len(ptr) - 1)
    over_rows(lambda a, b: _sum_rows(ptr, items, partners, sums, a, b), len(sums))
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
