"""The costly steps of a sparse fit: what column generation needs of the data.

`InMemory` does them on a matrix in memory; `corml.outofcore.fit` does them as tasks on files, for data of any size.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.parallel import over_rows
from corml.linalg.gram import dense_gram
from corml.linalg.normal import Normal
from corml.linalg.scaling import column_degrees, power, row_degrees, scaled
from corml.linalg.sides import Sides
from corml.linalg.small_normal import DenseRows, ThroughGram, dense_rows_pay
from corml.linalg.support import Support
from corml.models.corml.problem import UserWeights, Weights
from corml.models.corml.sparse.candidates import Candidates, co_occurring, on_support
from corml.models.corml.sparse.cross_term import Factors, cross_term
from corml.models.corml.sparse.pricing import Limits, Numbers, Priced, PricedFactors, Prices, Violations, selected
from corml.models.corml.sparse.solver import Checkpoint, PairProblem, Product, Values
from corml.models.fitted import Settings

__all__ = ["InMemory", "PairWork"]

Vector = NDArray[np.float64]


class PairWork(Protocol):
    """Data, the filter beside which H is learned, and the numbers of problem H."""

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
    V: NDArray[Any]
    weights: Weights
    clip: bool = False
    numbers: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, X: csr_array, V: NDArray[Any], settings: Settings, numbers: NDArray[np.int64] | None = None) -> Self:
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
            Prices.constants_of(weights, limits),
            users.ranks_alike,
            limits.per_item,
        )
        parts: list[Priced] = []
        over_rows(lambda a, b: parts.append(prices.rows(a, b)), n)
        return selected(parts, n, limits.total)
