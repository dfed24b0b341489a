"""Problem H on candidates, then on those left out that would gain from a weight, until none gains much.

Which pairs get a weight is not known before the problem is solved. So it is solved on the strongest pairs; every other
pair that met is looked at; those whose gain is above a tolerance join, and it is solved again from where it stood.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml import memory
from corml.linalg.scaling import power
from corml.linalg.support import Support
from corml.method.problem import Weights, loss_weights, user_weights
from corml.method.sparse.candidates import Candidates, on_pairs
from corml.method.sparse.cross_term import Factors
from corml.method.sparse.fit_cache import Workspace, explained_on, pairs_of
from corml.method.sparse.pricing import LeftOut, Wanted, look
from corml.method.sparse import solver
from corml.method.sparse.solver import PairProblem, Solution

__all__ = ["Rounds"]

MOST = 30  # rounds: each brings in the pairs that gain most, so few are needed

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Rounds:
    """A sparse fit of problem H: its data, its numbers and where to stop."""

    X: csr_array
    d: NDArray[np.float64]
    V: NDArray[Any]
    filter: str
    weights: Weights
    strongest: int | None  # pairs of each item to begin with, and most that join in a round; None: all that met
    room: int  # pairs, both ways, up to which they may join
    through_gram: bool  # whether to keep A whole
    few: float  # share of the pairs; that many more are not worth another round
    pair_tol: float
    tol: float
    max_steps: int
    progress: Progress

    def solve(self, start: csr_array | None = None, workspace: Workspace | None = None) -> Solution:
        """Solve, look at what was left out, and solve again with what gains; `start` is an H to begin from."""
        self.progress("pairs", 0, 1)
        problem, complete = self._first(workspace)
        self.progress("pairs", 1, 1)
        begin = None if start is None else problem.support.values(start)
        found = self._solve(problem, begin, complete=complete)
        while not complete:
            support, curvature = problem.support, problem.item_curvature()
            del problem  # what is not needed gives way to what comes: memory is counted that way
            outside = self._look(found, curvature)
            found = replace(found, left_out=outside)
            if len(outside.first) <= self.few * len(support):
                break
            support = support.joined(outside.first, outside.second)
            begin, steps, rounds = support.values(found.H), found.steps, found.rounds
            del found, outside
            memory.release()
            problem = self._on(support)
            found = self._solve(problem, begin, complete=False, number=rounds + 1)
            found = replace(found, steps=steps + found.steps, rounds=rounds + 1)
        return found

    def within(self, kept: csr_array, found: Solution) -> Solution:
        """Solve once more where only some pairs may stay, so that they take over from those that go."""
        support = Support.of(kept)
        again = self._solve(self._on(support), support.values(kept), complete=False, number=found.rounds + 1)
        gone = found.certificate.pairs - again.certificate.pairs
        return replace(again, steps=found.steps + again.steps, rounds=found.rounds + 1, pruned=gone)

    def _solve(
        self, problem: PairProblem, begin: NDArray[np.float32] | None, *, complete: bool, number: int = 1
    ) -> Solution:
        stage = "solve" if number == 1 else f"solve, round {number}"
        memory.release()

        def tell(done: int, total: int) -> None:
            self.progress(stage, done, total)

        return solver.solve(
            problem, complete=complete, start=begin, tol=self.tol, max_steps=self.max_steps, progress=tell
        )

    def _first(self, workspace: Workspace | None) -> tuple[PairProblem, bool]:
        """The problem on the candidates to begin with; only a workspace keeps what it was made from."""
        if workspace is None:
            pairs = pairs_of(self.X, self.weights, self.strongest)
            explained = explained_on(pairs, self.X, self.V, self.filter, self.weights)
        else:
            pairs = workspace.pairs(self.weights, self.strongest)
            explained = workspace.explained(self.V, self.filter, self.weights, self.strongest)
        return self._problem(pairs, explained), pairs.complete

    def _look(self, found: Solution, curvature: NDArray[np.float64]) -> LeftOut:
        """Every pair left out, and which of them to bring in next."""
        memory.release()
        self.progress("pairs left out", 0, 1)
        weights, n = self.weights, self.X.shape[1]
        p = power(self.d, -weights.item_norm)
        unclipped = self.V if self.filter == "factored" else self.V[:, :0]
        factors = Factors.of(self.X, self.d, unclipped, self.loss * self.ranking, weights.filter_norm)
        room = max(0, self.room - found.H.nnz) // 2 if found.rounds < MOST else 0
        wanted = Wanted(self.pair_tol * found.certificate.largest, min(self.strongest or n, room), room)
        numbers = {"mix": weights.mix, "scale": weights.scale, "filter_weight": weights.filter_weight}
        seen = look(self.X, found.H, p, self.loss, self.ranking, curvature, factors, **numbers, wanted=wanted)
        self.progress("pairs left out", 1, 1)
        return seen

    def _on(self, support: Support) -> PairProblem:
        pairs = on_pairs(self.X, self.loss, self.ranking, support)
        return self._problem(pairs, explained_on(pairs, self.X, self.V, self.filter, self.weights))

    @property
    def loss(self) -> NDArray[np.float64]:
        """How much each user's loss counts."""
        return loss_weights(self.X, self.weights.user_balance)

    @property
    def ranking(self) -> NDArray[np.float64]:
        """The ranking weight of each user."""
        return user_weights(self.X, self.weights.user_norm)

    def _problem(self, pairs: Candidates, explained: NDArray[np.float32] | None) -> PairProblem:
        return PairProblem.of(self.X, self.d, pairs, explained, self.weights, through_gram=self.through_gram)
