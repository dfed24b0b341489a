"""M and B of problem H (see `method/problem.py`) as dense arrays."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array

from corml.linalg.gram import dense_gram
from corml.linalg.scaling import power, scaled
from corml.method.problem import UserWeights, Weights
from corml.method.spectral import filter_block
from corml.parallel import blas

__all__ = ["DenseProblem", "dense_problem"]

CHUNK = 1024  # columns of G' made at a time


@dataclass(frozen=True)
class DenseProblem:
    """M and B of problem H."""

    M: NDArray[Any]
    B: NDArray[Any]


def dense_problem(
    R: csr_array, d: NDArray[np.float64], V: NDArray[Any], weights: Weights, *, clip: bool = True, dtype: DTypeLike
) -> DenseProblem:
    """Set up problem H for the items of R; keeps two dense n × n arrays.

    `d` holds item degrees and V rows of those items. User degrees are counted inside R, so that a block of items
    sees only its own interactions.
    """
    users = UserWeights.of(R, user_balance=weights.user_balance, user_norm=weights.user_norm)
    P = scaled(R, rows=np.sqrt(users.loss), columns=power(d, -weights.item_norm))
    B = dense_gram(P, P, dtype)
    A = B.copy() if weights.user_norm == 0 else dense_gram(scaled(P, rows=users.ranking), P, dtype)
    B *= weights.gram_factor
    if weights.filter_factor > 0:
        _subtract_filter(B, A, d, V.astype(dtype, copy=False), weights, clip=clip)
    A *= weights.scale
    A[np.diag_indices_from(A)] += weights.diagonal(d).astype(dtype)
    return DenseProblem(M=A, B=B)


def _subtract_filter(
    B: NDArray[Any], A: NDArray[Any], d: NDArray[np.float64], V: NDArray[Any], weights: Weights, *, clip: bool
) -> None:
    """B ← B − ε(1/λ − 1) A G', a band of columns at a time."""
    items = np.arange(len(d))
    left = power(d, weights.item_norm - weights.filter_norm)[:, None].astype(A.dtype)
    right = (weights.cross_factor * power(d, weights.filter_norm - weights.item_norm)).astype(A.dtype)
    with blas(size=len(d)):
        for start in range(0, len(d), CHUNK):
            band = items[start : start + CHUNK]
            G = filter_block(V, items, band, clip=clip)
            G *= left
            G *= right[band]
            target = B[:, start : start + CHUNK]
            never_together = target == 0
            target -= A @ G
            np.minimum(target, 0, out=target, where=never_together)  # they have no weight in H, by definition
