"""Problem H (see `method/problem.py`) on a support of pairs: no n × n array.

Over pairs x = H_ij it is a quadratic with bounds, x ≥ 0, and

    gradient_ij = (MH + HM − B − Bᵀ)_ij,     M = εA + diag(l2·d + ridge)
"""

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.linalg.dense_rows import DenseRows, pays
from corml.linalg.gram import dense_gram
from corml.linalg.normal import Normal
from corml.linalg.scaling import power, scaled
from corml.linalg.support import Support
from corml.linalg.through_gram import ThroughGram
from corml.method.problem import UserWeights, Weights
from corml.method.sparse.candidates import Candidates

__all__ = ["PairProblem", "Product", "Values"]

Values = NDArray[np.float32]


class Product(Protocol):
    """X ↦ A X on a support."""

    def one_way(self, x: Values) -> Values:
        """A X, as rows that are to be summed."""

    def diagonal(self) -> NDArray[np.float64]:
        """diag(A)."""


@dataclass(frozen=True, kw_only=True)
class PairProblem:
    """Problem H on a support: `linear` is B + Bᵀ, `ridge` is l2·d + ridge for each item."""

    support: Support
    normal: "Product"
    scale: float
    ridge: NDArray[np.float64]
    linear: Values

    @classmethod
    def of(
        cls,
        R: csr_array,
        d: NDArray[np.float64],
        pairs: Candidates,
        *,
        cross: Values | None,
        users: UserWeights,
        weights: Weights,
        keep_gram: bool = False,
    ) -> Self:
        """The problem for these weights on some candidates; `cross` is the cross term on them.

        `keep_gram` keeps A = PᵀΦP whole, for few items of which nearly all co-occur.
        """
        support, p = pairs.support, power(d, -weights.item_norm)
        normal: Product
        if keep_gram:
            P = scaled(R, columns=p)
            normal = ThroughGram(dense_gram(scaled(P, rows=users.both), P, np.float32), support)
        else:
            normal = (DenseRows if pays(R, support) else Normal)(R, p, users.both, support)
        return cls.through(normal, d, pairs, cross=cross, weights=weights)

    @classmethod
    def through(
        cls, normal: "Product", d: NDArray[np.float64], pairs: Candidates, *, cross: Values | None, weights: Weights
    ) -> Self:
        """The problem where the product with A is made this way."""
        linear = pairs.gram / np.float32(weights.mix)  # 1/2λ, for B and for Bᵀ
        if cross is not None:
            linear -= np.float32(weights.cross_factor) * cross
        linear *= pairs.support.product_of(power(d, -weights.item_norm))
        ridge = weights.diagonal(d)
        return cls(support=pairs.support, normal=normal, scale=weights.scale, ridge=ridge, linear=linear)

    def item_curvature(self) -> NDArray[np.float64]:
        """Diagonal of M."""
        return self.scale * self.normal.diagonal() + self.ridge

    def curvature(self) -> Values:
        """Second derivative for each pair: M_ii + M_jj."""
        return self.support.sum_of(self.item_curvature())

    def product(self, x: Values) -> Values:
        """MH + HM on the support."""
        return self.support.both_ways(self.normal.one_way(x), self.scale, self.ridge, x)
