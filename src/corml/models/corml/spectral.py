"""G, the graph filter: what the smoothest directions of the item graph say about two items.

    V  = top-k right singular vectors of D_U^{-a} R D^{-b}        (the paper: a = b = ½)          eq. (12)
    G  = (VVᵀ − diag(VVᵀ))₊        clipped element by element ("elementwise", the paper)    below eq. (26)
    G  =  VVᵀ − diag(VVᵀ)          not clipped ("factored": never more than n × k numbers)

A filter with a shape gives each direction a weight, f_i = (σ_i/σ_1)^p divided by their mean: V is then V diag(f)^½, and
everything else stays as it is. The paper's filter passes its k directions alike (p = 0).

"authors" keeps the mixture of the authors' program: clipped element by element while H is learned, and the *sum*
over a history clipped when scores are made.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.linalg.scaling import normalised
from corml.linalg.svd import right_singular_vectors

__all__ = ["FILTERS", "Norms", "filter_block", "shaped", "singular_vectors", "unshaped"]

Norms = tuple[float, float]
FILTERS = ("elementwise", "factored", "authors")


def singular_vectors(R: csr_array, rank: int, norms: Norms = (0.5, 0.5)) -> NDArray[Any]:
    """V of the degree-normalised interactions; `norms` are the exponents a of users and b of items."""
    N = normalised(R, *norms)
    V, _ = right_singular_vectors(N, rank)
    V[np.bincount(R.indices, minlength=R.shape[1]) == 0] = 0  # they have no user: rounding may say otherwise
    return V


def shaped(V: NDArray[Any], R: csr_array, norms: Norms, power: float) -> NDArray[Any]:
    """V diag(f)^½ for unit vectors V and f ∝ σ^power; the weights f have mean 1, as those of the flat filter."""
    if power == 0 or V.shape[1] == 0:
        return V
    sigma = np.linalg.norm(normalised(R, *norms) @ V, axis=0)
    weights = (sigma / sigma[0]) ** power
    return np.asarray(V * np.sqrt(weights / weights.mean()), dtype=V.dtype)


def unshaped(V: NDArray[Any]) -> NDArray[Any]:
    """The unit vectors behind a V with a shape."""
    return np.asarray(V / np.maximum(np.linalg.norm(V, axis=0), np.finfo(np.float32).tiny), dtype=V.dtype)


def filter_block(
    V: NDArray[Any], rows: NDArray[np.integer[Any]], columns: NDArray[np.integer[Any]], *, clip: bool
) -> NDArray[Any]:
    """G restricted to some rows and columns (sorted item numbers)."""
    G: NDArray[Any] = V[rows] @ V[columns].T
    _, row, column = np.intersect1d(rows, columns, assume_unique=True, return_indices=True)
    G[row, column] = 0
    return np.maximum(G, 0, out=G) if clip else G
