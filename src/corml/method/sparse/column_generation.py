"""Problem H by column generation: on candidates, then on the excluded pairs that violate its KKT conditions too.

Which pairs get a weight is not known before the problem is solved. So it is solved on the pairs that co-occur most;
every other co-occurring pair is priced; those whose violation is above a tolerance become variables, and it is solved
again from where it stood.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml import memory
from corml.fitted import Settings
from corml.linalg.support import Support
from corml.method.plan.plan import PAIR_TOL, Plan
from corml.method.problem import UserWeights, Weights
from corml.method.sparse import solver
from corml.method.sparse.candidates import Candidates
from corml.method.sparse.fit_cache import Workspace
from corml.method.sparse.pair_work import InMemory, PairWork
from corml.method.sparse.pricing import Selection, Violations
from corml.method.sparse.problem import PairProblem, Values
from corml.method.sparse.solver import Solution
from corml.progress import Progress

__all__ = ["ColumnGeneration"]

MAX_ITERATIONS = 30  # each adds the pairs that violate most, so few are needed
NEGLIGIBLE = 1e-4  # of the pairs: so few more change no list, so they are added only where a lower pair_tol asks for it


@dataclass(frozen=True, kw_only=True)
class ColumnGeneration:
    """A sparse fit of problem H: the costly steps on some data, the resolved settings and the plan."""

    work: PairWork
    settings: Settings
    plan: Plan
    progress: Progress

    def solve(self, start: csr_array | None = None, workspace: Workspace | None = None) -> Solution:
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
            if len(violations.first) <= self._negligible * len(support):
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
        problem = self._problem(pairs, self._cross_on(pairs))
        begin = None if start is None else problem.support.values(start)
        return self._solve(problem, begin, complete=pairs.complete)

    def within(self, kept: csr_array, solution: Solution) -> Solution:
        """Solve once more where only some pairs may stay, so that they take over from those that go."""
        support, before = Support.of(kept), solution.certificate
        iterations = (before.column_generation or 1) + 1
        again = self._solve(self._problem_on(support), support.values(kept), complete=False, iteration=iterations)
        again = _continued(again, before.steps, iterations)
        pruned = (before.pairs or 0) - (again.certificate.pairs or 0)
        return replace(again, certificate=replace(again.certificate, pruned=pruned))

    @cached_property
    def weights(self) -> Weights:
        """The numbers of problem H."""
        return Weights.of(self.settings)

    @cached_property
    def users(self) -> UserWeights:
        """Ω and Φ."""
        weights = self.weights
        return UserWeights.of_degrees(
            self.work.user_degrees, user_balance=weights.user_balance, user_norm=weights.user_norm
        )

    @property
    def _negligible(self) -> float:
        return NEGLIGIBLE if self.settings.pair_tol >= PAIR_TOL else 0.0

    @property
    def _clip(self) -> bool:
        return bool(self.settings.filter != "factored")

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

    def _first_problem(self, workspace: Workspace | None) -> tuple[PairProblem, bool]:
        """The problem on the candidates to begin with; only a workspace keeps what it was made from."""
        count, cross = self.plan.candidates, None
        if workspace is None:
            pairs = self.work.co_occurring(self.users, count)
            cross = self._cross_on(pairs)
        else:
            pairs = workspace.pairs(self.weights, self.users, count)
            if self.weights.filter_factor:
                assert isinstance(self.work, InMemory)
                cross = workspace.cross(
                    self.work.V, clip=self._clip, weights=self.weights, users=self.users, max_per_item=count
                )
        return self._problem(pairs, cross), pairs.complete

    def _problem_on(self, support: Support) -> PairProblem:
        pairs = self.work.on_support(self.users, support)
        return self._problem(pairs, self._cross_on(pairs))

    def _problem(self, pairs: Candidates, cross: Values | None) -> PairProblem:
        return self.work.problem(pairs, cross, self.users, self.weights, keep_gram=self.plan.keep_gram)

    def _cross_on(self, pairs: Candidates) -> Values | None:
        """The cross term on some pairs; none where the filter does not count."""
        if self.weights.filter_factor == 0:
            return None
        return self.work.cross_term(pairs, self.users, self.weights.filter_norm, clip=self._clip)

    def _price(self, solution: Solution, curvature: NDArray[np.float64]) -> Violations:
        """Price every excluded pair, and select those to add next."""
        memory.release()
        self.progress("pricing", 0, 1)
        certificate, items = solution.certificate, solution.H.shape[1]
        done = (certificate.column_generation or 1) >= MAX_ITERATIONS
        room = 0 if done else max(0, self.plan.max_pairs - solution.H.nnz) // 2
        selection = Selection(
            threshold=self.settings.pair_tol * (certificate.linear_max or 0.0),
            per_item=min(self.plan.candidates or items, room),
            total=room,
        )
        violations = self.work.price(solution.H, self.users, curvature, self.weights, selection, clip=self._clip)
        self.progress("pricing", 1, 1)
        return violations


def _continued(solution: Solution, steps: int, iterations: int) -> Solution:
    """A solution that began where another ended."""
    certificate = solution.certificate
    total = replace(certificate, steps=steps + certificate.steps, column_generation=iterations)
    return replace(solution, certificate=total)
