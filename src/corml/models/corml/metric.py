"""The metric behind the scores: a Mahalanobis distance between users and items.

    W = H + ω D^{-2t},   ω = max_i d_i^{2t} Σ_j |H_ij|          positive semi-definite (Gershgorin)      Theorem 3.1
    d(u, i)² = (p_u − q_i)ᵀ W (p_u − q_i)                                                                eq. (13)
    p_u = r_u D^{-t},   q_i = d_i^t e_i                                                                  eq. (9)

Among items a user has not seen, the order of d is exactly the order of the H part of the scores (Conclusion 1 of
the paper, from eq. (17)). G has the same metric at s in place of t. The two together are one metric only if t = s, so
one asks for a part.

Items are points q_i of the same space, all of the same length √ω, so the order of their distances is that of H:

    d(i, j)² = (q_i − q_j)ᵀ W (q_i − q_j) = 2ω − 2 (d_i d_j)^t H_ij

Lists are made diverse by it (`linalg/choose.py`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.linalg.scaling import power

__all__ = ["Metric", "gershgorin"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Metric:
    """A hollow symmetric matrix seen as a distance: its rows are given one band at a time."""

    degrees: Vector
    exponent: float
    omega: float

    @property
    def diagonal(self) -> Vector:
        """diag(W) = ω d^{-2t}."""
        return self.omega * power(self.degrees, -2 * self.exponent)

    def point(self, history: NDArray[np.integer[Any]]) -> Vector:
        """Where a user with this history stands, p, for its items."""
        return power(self.degrees[history], -self.exponent)

    def between(self, history: NDArray[np.integer[Any]], target: int, inside: Vector, row: Vector) -> float:
        """Distance from a user with this history to an item.

        `inside` is the hollow matrix among the history items times p, and `row` its row from the history to the target.
        """
        p, own = self.point(history), self.diagonal
        q = float(power(self.degrees[target], self.exponent))
        W_cross = row + np.where(history == target, own[target], 0.0)
        squared = p @ (inside + own[history] * p) - 2 * q * (p @ W_cross) + q * q * own[target]
        return float(np.sqrt(max(squared, 0.0)))  # rounding may leave −1e-17


def gershgorin(row_sums: NDArray[Any], degrees: Vector, exponent: float) -> float:
    """ω: the smallest weight of the diagonal for which Gershgorin's circles promise W ⪰ 0."""
    return float(np.max(power(degrees, 2 * exponent) * row_sums, initial=0.0))
