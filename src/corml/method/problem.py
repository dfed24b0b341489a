"""Problem H: which symmetric, non-negative, hollow H fits the interactions beyond what G explains.

    minimise  ½⟨H, M H⟩ − ⟨B, H⟩     subject to   H = Hᵀ,  H ≥ 0,  diag(H) = 0

    P  = Ω^{½} R D^{-t}               A = Pᵀ diag((d_u / max d_u)^{-t_u}) P
    M  = εA + l2·D + ridge·I          G' = D^{t−s} G D^{s−t}
    B  = (1/2λ) PᵀP − ε(1/λ − 1) A G'

With Ω = I it is the paper's ADMM problem divided by 2λ². Ω = diag((d_u / mean d_u)^{-balance}) is ours: it weighs the
loss of each user, so that those with long histories do not speak for all.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array

from corml.linalg.gram import dense_gram
from corml.linalg.scaling import power, row_degrees, scaled
from corml.method.spectral import filter_block
from corml.parallel import blas

__all__ = ["Problem", "Weights", "dense_problem", "loss_weights", "user_weights"]

CHUNK = 1024  # columns of G' made at a time


@dataclass(frozen=True)
class Weights:
    """The numbers of problem H that are not data: the paper's λ, t, ε, t_u, θ, and our ridge, balance and s."""

    mix: float
    item_norm: float
    scale: float
    user_norm: float
    l2: float
    ridge: float
    user_balance: float = 0.0
    filter_norm: float = 0.5

    @property
    def filter_weight(self) -> float:
        """1/λ − 1: how much G counts beside H."""
        return 1 / self.mix - 1


@dataclass(frozen=True)
class Problem:
    """M and B of problem H as dense arrays."""

    M: NDArray[Any]
    B: NDArray[Any]


def dense_problem(
    R: csr_array, d: NDArray[np.float64], V: NDArray[Any], weights: Weights, *, clip: bool = True, dtype: DTypeLike
) -> Problem:
    """Set up problem H for the items of R; keeps two dense n × n arrays.

    `d` holds item degrees and V rows of those items. User degrees are counted inside R, so that a block of items
    sees only its own interactions.
    """
    P = scaled(R, rows=np.sqrt(loss_weights(R, weights.user_balance)), columns=power(d, -weights.item_norm))
    Φ = user_weights(R, weights.user_norm)
    B = dense_gram(P, P, dtype)
    A = B.copy() if weights.user_norm == 0 else dense_gram(scaled(P, rows=Φ), P, dtype)
    B *= 1 / (2 * weights.mix)
    if weights.filter_weight > 0:
        _subtract_filter(B, A, d, V.astype(dtype, copy=False), weights, clip=clip)
    A *= weights.scale
    A[np.diag_indices_from(A)] += (weights.l2 * d + weights.ridge).astype(dtype)
    return Problem(M=A, B=B)


def user_weights(R: csr_array, user_norm: float) -> NDArray[np.float64]:
    """(d_u / max d_u)^{-t_u}: the ranking weight of each user."""
    d_u = row_degrees(R)
    return power(d_u / d_u.max(initial=1.0), -user_norm)


def loss_weights(R: csr_array, user_balance: float) -> NDArray[np.float64]:
    """(d_u / mean d_u)^{-balance}: how much each user's loss counts."""
    d_u = row_degrees(R)
    return power(d_u / max(float(d_u.mean()), 1.0), -user_balance) if len(d_u) else d_u


def _subtract_filter(
    B: NDArray[Any], A: NDArray[Any], d: NDArray[np.float64], V: NDArray[Any], weights: Weights, *, clip: bool
) -> None:
    """B ← B − ε(1/λ − 1) A G', a band of columns at a time."""
    items = np.arange(len(d))
    left = power(d, weights.item_norm - weights.filter_norm)[:, None].astype(A.dtype)
    right = (weights.scale * weights.filter_weight * power(d, weights.filter_norm - weights.item_norm)).astype(A.dtype)
    with blas(size=len(d)):
        for start in range(0, len(d), CHUNK):
            band = items[start : start + CHUNK]
            G = filter_block(V, items, band, clip=clip)
            G *= left
            G *= right[band]
            target = B[:, start : start + CHUNK]
            never = target == 0
            target -= A @ G
            np.minimum(target, 0, out=target, where=never)  # pairs that never met have no weight, by definition
