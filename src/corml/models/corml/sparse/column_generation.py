"""Problem H by column generation: on candidates, then on the excluded pairs that violate its KKT conditions too.

Which pairs get a weight is only clear once the problem is solved. So it is solved on the pairs that co-occur most;
every other co-occurring pair is priced; those whose violation is above a tolerance become variables, and it is solved
again from there. With a budget, H is pruned and solved once more on the pairs that stay.

The costly steps are methods of a `PairWork`: `InMemory` does them on a matrix in memory, `corml.outofcore.fit` as tasks
on files, for data of any size.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime import memory
from corml._runtime.parallel import over_rows
from corml._runtime.progress import Progress
from corml.linalg.normal import DenseRows, Normal, ThroughGram, dense_rows_pay
from corml.linalg.pairs import Support
from corml.linalg.products import dense_gram
from corml.linalg.sparse import Array, Sides, Values, Vector, column_degrees, power, row_degrees, scaled
from corml.models.corml.plan import PAIR_TOL, Plan
from corml.models.corml.problem import UserWeights, Weights, to_budget
from corml.models.corml.sparse import solver
from corml.models.corml.sparse.pairs import Candidates, Factors, co_occurring, cross_term, on_support
from corml.models.corml.sparse.pricing import (
    Constants,
    Limits,
    Numbers,
    Priced,
    PricedFactors,
    Prices,
    Violations,
    selected,
)
from corml.models.corml.sparse.solver import Checkpoint, PairProblem, Product, Solution
from corml.models.fitted import Certificate, Settings

if TYPE_CHECKING:
    from corml.models.corml.sparse.reuse import Workspace


class PairWork(Protocol):
    """Data, the filter given which H is learned, and the numbers of problem H."""

    @property
    def d(self) -> Vector:
        """Users of each item, one at least."""

    @property
    def users(self) -> UserWeights:
        """Ω and Φ."""

    @property
    def weights(self) -> Weights:
        """The numbers of problem H."""

    def co_occurring(self, max_per_item: int | None) -> Candidates:
        """The candidates to begin with."""

    def on_support(self, support: Support) -> Candidates:
        """The pairs of a support as candidates."""

    def cross_term(self, pairs: Candidates) -> Values:
        """What the filter already explains of each pair."""

    def problem(self, pairs: Candidates, cross: Values | None, *, keep_gram: bool = False) -> PairProblem:
        """Problem H on some candidates; `keep_gram` keeps A whole, for few items of which nearly all co-occur."""

    def checkpoint(self, problem: PairProblem, start: Values | None) -> Checkpoint | None:
        """Where the solver keeps how far it got with a problem, if it is to outlive the process."""

    def price(self, H: csr_array, curvature: Vector, limits: Limits) -> Violations:
        """How far the excluded pairs violate the KKT conditions, and which to add."""


@dataclass(frozen=True)
class InMemory:
    """Interactions and singular vectors as arrays; `numbers` are the original ones of items that were reordered."""

    X: csr_array
    V: Array
    weights: Weights
    clip: bool = False
    numbers: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, X: csr_array, V: Array, settings: Settings, numbers: NDArray[np.int64] | None = None) -> Self:
        """With resolved settings."""
        return cls(X, V, Weights.of(settings), settings.filter != "factored", numbers)

    @cached_property
    def d(self) -> Vector:
        """Users of each item, one at least."""
        return column_degrees(self.X)

    @cached_property
    def users(self) -> UserWeights:
        """Ω and Φ."""
        return self.weights.of_users(row_degrees(self.X))

    def co_occurring(self, max_per_item: int | None) -> Candidates:
        """The candidates to begin with."""
        return co_occurring(self.X, self.users, max_per_item=max_per_item, numbers=self.numbers)

    def on_support(self, support: Support) -> Candidates:
        """The pairs of a support as candidates."""
        return on_support(self.X, self.users, support)

    def cross_term(self, pairs: Candidates) -> Values:
        """What the filter already explains of each pair."""
        return cross_term(self.X, self.V, self.users.both, self.weights.filter_norm, pairs, clip=self.clip)

    def problem(self, pairs: Candidates, cross: Values | None, *, keep_gram: bool = False) -> PairProblem:
        """Problem H on some candidates."""
        both, support, p = self.users.both, pairs.support, power(self.d, -self.weights.item_norm)
        normal: Product
        if keep_gram:
            P = scaled(self.X, columns=p)
            normal = ThroughGram(dense_gram(scaled(P, rows=both), P, np.float32), support)
        else:
            normal = (DenseRows if dense_rows_pay(self.X, support) else Normal)(self.X, p, both, support)
        return PairProblem.through(normal, self.d, pairs, cross=cross, weights=self.weights)

    def checkpoint(self, problem: PairProblem, start: Values | None) -> None:
        """Nothing is kept."""

    def price(self, H: csr_array, curvature: Vector, limits: Limits) -> Violations:
        """How far the excluded pairs violate the KKT conditions, and which to add."""
        weights, users, n = self.weights, self.users, self.X.shape[1]
        factors = Factors.of(self.X, self.V[:, :0] if self.clip else self.V, users.both, weights.filter_norm)
        prices = Prices(
            Sides.of(self.X),
            H,
            Numbers.of(power(self.d, -weights.item_norm), users, curvature),
            PricedFactors.of(factors),
            Constants.of(weights, limits),
            users.ranks_alike,
            limits.per_item,
        )
        parts: list[Priced] = []
        over_rows(lambda a, b: parts.append(prices.rows(a, b)), n)
        return selected(parts, n, limits.total)


MAX_ITERATIONS = 30  # each adds the pairs that violate most, so few are needed
NEGLIGIBLE = 1e-4  # of the pairs: so few more change no list, so they are added only where a lower pair_tol asks for it


@dataclass(frozen=True, kw_only=True)
class ColumnGeneration:
    """A sparse fit of problem H: the costly steps on some data, the resolved settings and the plan."""

    work: PairWork
    settings: Settings
    plan: Plan
    progress: Progress

    def learn(
        self, start: csr_array | None = None, workspace: "Workspace | None" = None
    ) -> tuple[csr_array, Certificate]:
        """H without zeros, pruned to the budget if there is one, and its certificate."""
        solution = self.solve(start, workspace)
        H, budget = solution.H.copy(), self.settings.budget
        H.eliminate_zeros()
        if budget is not None:
            kept = to_budget(H, budget, len(self.work.users.loss), self.work.d)
            if kept.nnz < H.nnz:
                solution = self._within(kept, solution)
                H = solution.H
                H.eliminate_zeros()
        return H, solution.certificate

    def solve(self, start: csr_array | None = None, workspace: "Workspace | None" = None) -> Solution:
        """Solve, price what was excluded, and solve again with what violates; `start` is an H to begin from."""
        self.progress("pairs", 0, 1)
        problem, complete = self._first_problem(workspace)
        self.progress("pairs", 1, 1)
        begin = None if start is None else problem.support.values(start)
        solution = self._solve(problem, begin, complete=complete)
        while not complete:
            support, curvature = problem.support, problem.item_curvature()
            del problem  # what is not needed gives way to what comes: memory is counted that way
            violations = self._price(solution, curvature)
            certificate = replace(solution.certificate, excluded=violations.excluded)
            solution = replace(solution, certificate=certificate)
            negligible = NEGLIGIBLE if self.settings.pair_tol >= PAIR_TOL else 0.0
            if len(violations.first) <= negligible * len(support):
                break
            support = support.joined(violations.first, violations.second)
            begin = support.values(solution.H)
            del solution, violations
            memory.release()
            problem = self._problem_on(support)
            iterations = (certificate.column_generation or 1) + 1
            solution = self._solve(problem, begin, complete=False, iteration=iterations)
            solution = _continued(solution, certificate.steps, iterations)
        return solution

    def on(self, pairs: Candidates, start: csr_array | None = None) -> Solution:
        """Solve on these candidates only; `start` is an H to begin from."""
        problem = self.work.problem(pairs, self._cross_on(pairs), keep_gram=self.plan.keep_gram)
        begin = None if start is None else problem.support.values(start)
        return self._solve(problem, begin, complete=pairs.complete)

    def _within(self, kept: csr_array, solution: Solution) -> Solution:
        """Solve once more where only some pairs may stay, so that they take over from those that go."""
        support, before = Support.of(kept), solution.certificate
        iterations = (before.column_generation or 1) + 1
        again = self._solve(self._problem_on(support), support.values(kept), complete=False, iteration=iterations)
        again = _continued(again, before.steps, iterations)
        pruned = (before.pairs or 0) - (again.certificate.pairs or 0)
        return replace(again, certificate=replace(again.certificate, pruned=pruned))

    def _solve(self, problem: PairProblem, begin: Values | None, *, complete: bool, iteration: int = 1) -> Solution:
        stage = "solve" if iteration == 1 else f"solve, column generation {iteration}"
        memory.release()
        return solver.solve(
            problem,
            complete=complete,
            start=begin,
            tol=self.settings.tol,
            max_steps=self.settings.max_steps,
            progress=lambda done, total: self.progress(stage, done, total),
            checkpoint=self.work.checkpoint(problem, begin),
        )

    def _first_problem(self, workspace: "Workspace | None") -> tuple[PairProblem, bool]:
        """The problem on the candidates to begin with; only a workspace keeps what it was made from."""
        count, cross = self.plan.candidates, None
        if workspace is None:
            pairs = self.work.co_occurring(count)
            cross = self._cross_on(pairs)
        else:
            assert isinstance(self.work, InMemory)
            pairs = workspace.pairs(self.work, count)
            cross = workspace.cross(self.work, count) if self.work.weights.filter_factor else None
        return self.work.problem(pairs, cross, keep_gram=self.plan.keep_gram), pairs.complete

    def _problem_on(self, support: Support) -> PairProblem:
        pairs = self.work.on_support(support)
        return self.work.problem(pairs, self._cross_on(pairs), keep_gram=self.plan.keep_gram)

    def _cross_on(self, pairs: Candidates) -> Values | None:
        """The cross term on some pairs; none where the filter does not count."""
        return self.work.cross_term(pairs) if self.work.weights.filter_factor else None

    def _price(self, solution: Solution, curvature: Vector) -> Violations:
        """Price every excluded pair, and select those to add next."""
        memory.release()
        self.progress("pricing", 0, 1)
        certificate, items = solution.certificate, solution.H.shape[1]
        done = (certificate.column_generation or 1) >= MAX_ITERATIONS
        room = 0 if done else max(0, self.plan.max_pairs - solution.H.nnz) // 2
        limits = Limits(
            threshold=self.settings.pair_tol * (certificate.linear_max or 0.0),
            per_item=min(self.plan.candidates or items, room),
            total=room,
        )
        violations = self.work.price(solution.H, curvature, limits)
        self.progress("pricing", 1, 1)
        return violations


def _continued(solution: Solution, steps: int, iterations: int) -> Solution:
    """A solution that began where another ended."""
    certificate = solution.certificate
    total = replace(certificate, steps=steps + certificate.steps, column_generation=iterations)
    return replace(solution, certificate=total)
