"""The costly steps of a sparse fit: what column generation needs of the data.

`InMemory` does them on a matrix in memory; `method/out_of_core` does them as tasks on files, for data of any size.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.linalg.scaling import power, row_degrees
from corml.linalg.support import Support
from corml.method.problem import UserWeights, Weights
from corml.method.sparse.candidates import Candidates, co_occurring, on_support
from corml.method.sparse.cross_term import Factors, cross_term
from corml.method.sparse.pricing import Selection, Violations, price
from corml.method.sparse.problem import PairProblem, Values
from corml.method.sparse.solver import Checkpoint

__all__ = ["InMemory", "PairWork"]

Vector = NDArray[np.float64]


class PairWork(Protocol):
    """Data, and the filter beside which H is learned."""

    @property
    def d(self) -> Vector:
        """Users of each item."""

    @property
    def user_degrees(self) -> Vector:
        """Items of each user."""

    def co_occurring(self, users: UserWeights, max_per_item: int | None) -> Candidates:
        """The candidates to begin with."""

    def on_support(self, users: UserWeights, support: Support) -> Candidates:
        """The pairs of a support as candidates."""

    def cross_term(self, pairs: Candidates, users: UserWeights, filter_norm: float, *, clip: bool) -> Values:
        """What the filter already explains of each pair."""

    def problem(
        self, pairs: Candidates, cross: Values | None, users: UserWeights, weights: Weights, *, keep_gram: bool
    ) -> PairProblem:
        """Problem H on some candidates."""

    def checkpoint(self, problem: PairProblem, start: Values | None) -> Checkpoint | None:
        """Where the solver keeps how far it got with a problem, if it is to outlive the process."""

    def price(
        self, H: csr_array, users: UserWeights, curvature: Vector, weights: Weights, selection: Selection, *, clip: bool
    ) -> Violations:
        """How far the excluded pairs violate the KKT conditions, and which to add."""


@dataclass(frozen=True)
class InMemory:
    """Interactions, degrees and singular vectors as arrays, in one order of items."""

    X: csr_array
    d: Vector
    V: NDArray[Any]
    numbers: NDArray[np.int64] | None = None  # that the items have elsewhere, if their order is another

    @property
    def user_degrees(self) -> Vector:
        """Items of each user."""
        return row_degrees(self.X)

    def co_occurring(self, users: UserWeights, max_per_item: int | None) -> Candidates:
        """The candidates to begin with."""
        return co_occurring(self.X, users, max_per_item=max_per_item, numbers=self.numbers)

    def on_support(self, users: UserWeights, support: Support) -> Candidates:
        """The pairs of a support as candidates."""
        return on_support(self.X, users, support)

    def cross_term(self, pairs: Candidates, users: UserWeights, filter_norm: float, *, clip: bool) -> Values:
        """What the filter already explains of each pair."""
        return cross_term(self.X, self.d, self.V, users.both, filter_norm, pairs, clip=clip)

    def problem(
        self, pairs: Candidates, cross: Values | None, users: UserWeights, weights: Weights, *, keep_gram: bool
    ) -> PairProblem:
        """Problem H on some candidates."""
        return PairProblem.of(self.X, self.d, pairs, cross=cross, users=users, weights=weights, keep_gram=keep_gram)

    def checkpoint(self, problem: PairProblem, start: Values | None) -> None:
        """Nothing is kept."""

    def price(
        self, H: csr_array, users: UserWeights, curvature: Vector, weights: Weights, selection: Selection, *, clip: bool
    ) -> Violations:
        """How far the excluded pairs violate the KKT conditions, and which to add."""
        unclipped = self.V[:, :0] if clip else self.V
        factors = Factors.of(self.X, self.d, unclipped, users.both, weights.filter_norm)
        p = power(self.d, -weights.item_norm)
        return price(
            self.X, H, p=p, users=users, curvature=curvature, factors=factors, weights=weights, selection=selection
        )
