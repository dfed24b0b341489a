"""G, the graph filter: what the smoothest directions of the item graph say about two items.

    V  = top-k right singular vectors of D_U^{-a} R D^{-b}        (the paper: a = b = ½)          eq. (12)
    G  = (VVᵀ − diag(VVᵀ))₊        clipped element by element ("elementwise", the paper)    below eq. (26)
    G  =  VVᵀ − diag(VVᵀ)          not clipped ("factored": never more than n × k numbers)

"authors" keeps the mixture of the authors' program: clipped element by element while H is learned, and the *sum*
over a history clipped when scores are made.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.linalg.scaling import normalised
from corml.linalg.svd import right_singular_vectors

__all__ = ["FILTERS", "Norms", "filter_block", "singular_vectors"]

Norms = tuple[float, float]
FILTERS = ("elementwise", "factored", "authors")


def singular_vectors(R: csr_array, rank: int, norms: Norms = (0.5, 0.5)) -> NDArray[Any]:
    """V of the degree-normalised interactions; `norms` are the exponents a of users and b of items."""
    N = normalised(R, *norms)
    V, _ = right_singular_vectors(N, rank)
    V[np.bincount(R.indices, minlength=R.shape[1]) == 0] = 0  # they have no user: rounding may say otherwise
    return V


def filter_block(
    V: NDArray[Any], rows: NDArray[np.integer[Any]], columns: NDArray[np.integer[Any]], *, clip: bool
) -> NDArray[Any]:
    """G restricted to some rows and columns (sorted item numbers)."""
    G: NDArray[Any] = V[rows] @ V[columns].T
    _, row, column = np.intersect1d(rows, columns, assume_unique=True, return_indices=True)
    G[row, column] = 0
    return np.maximum(G, 0, out=G) if clip else G
