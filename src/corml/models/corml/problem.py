"""Problem H: which symmetric, non-negative, hollow H fits the interactions beyond what G explains.

    minimise  ½⟨H, M H⟩ − ⟨B, H⟩     subject to   H = Hᵀ,  H ≥ 0,  diag(H) = 0            eq. (28) ÷ 2λ²

    P  = Ω^{½} R D^{-t}               A = Pᵀ Φ P                                        Pᵀ: eq. (9)
    M  = εA + l2·D + ridge·I          G' = D^{t−s} G D^{s−t}
    B  = (1/2λ) PᵀP − ε(1/λ − 1) A G'

    Φ = diag((d_u / max d_u)^{-t_u})           the ranking weight of each user              eq. (24) ÷ ε
    Ω = diag((d_u / mean d_u)^{-balance})      how much each user's loss counts; ours, the paper has I

With Ω = I, ridge = 0 and s = ½ it is the paper's eq. (28), with the scores of eq. (26), divided by 2λ²; l2 is θ/2λ².
The dense solver makes M and B as they stand (`dense.py`), the sparse one on co-occurring pairs only
(`sparse/solver.py`). Equation numbers are the paper's, here and in this folder.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from corml.linalg.scaling import power

__all__ = ["UserWeights", "Weights"]


@dataclass(frozen=True, kw_only=True)
class Weights:
    """The numbers of problem H that are not data: the paper's λ, t, ε, t_u, θ, and our ridge, balance, s and ω."""

    mix: float
    item_norm: float
    scale: float
    user_norm: float
    l2: float
    ridge: float
    user_balance: float = 0.0
    filter_norm: float = 0.5
    filter_weight: float = 1.0

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """Read from the resolved settings of a CoRML."""
        values = {spec.name: settings[spec.name] for spec in fields(cls)}
        return cls(**values)

    @property
    def filter_factor(self) -> float:
        """1/λ − 1: how much G counts beside H while H is learned."""
        return 1 / self.mix - 1

    @property
    def score_factor(self) -> float:
        """ω(1/λ − 1): how much G counts beside H in the scores."""
        return self.filter_weight * self.filter_factor

    @property
    def gram_factor(self) -> float:
        """1/2λ: the factor of PᵀP in B."""
        return 1 / (2 * self.mix)

    @property
    def cross_factor(self) -> float:
        """ε(1/λ − 1): the factor of A G' in B."""
        return self.scale * self.filter_factor

    def of_users(self, degrees: NDArray[np.float64]) -> "UserWeights":
        """Ω and Φ for users with these degrees."""
        return UserWeights.of(degrees, user_balance=self.user_balance, user_norm=self.user_norm)

    def diagonal(self, d: NDArray[np.float64]) -> NDArray[np.float64]:
        """l2·d + ridge: what M has on its diagonal beside εA."""
        return np.asarray(self.l2 * d + self.ridge)


@dataclass(frozen=True)
class UserWeights:
    """Ω and Φ as one number for each user."""

    loss: NDArray[np.float64]
    ranking: NDArray[np.float64]

    @classmethod
    def of(cls, d_u: NDArray[np.float64], *, user_balance: float, user_norm: float = 0.0) -> Self:
        """Weights by the degrees of users."""
        loss = power(d_u / max(float(d_u.mean()), 1.0), -user_balance) if len(d_u) else d_u
        return cls(loss, power(d_u / d_u.max(initial=1.0), -user_norm))

    @property
    def both(self) -> NDArray[np.float64]:
        """ΩΦ: the weight of each user in A."""
        return np.asarray(self.loss * self.ranking)

    @property
    def ranks_alike(self) -> bool:
        """Whether every user has ranking weight 1, so that A = PᵀP."""
        return bool((self.ranking == 1).all())
