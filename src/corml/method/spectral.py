"""G, the graph filter: what the smoothest directions of the item graph say about two items.

    V  = top-k right singular vectors of D_U^{-1/2} R D^{-1/2}
    G  = (VVᵀ − diag(VVᵀ))₊        clipped element by element ("elementwise", the paper)
    G  =  VVᵀ − diag(VVᵀ)          not clipped ("factored": never more than n × k numbers)

"authors" keeps the mixture of the authors' program: clipped element by element while H is learned, and the *sum*
over a history clipped when scores are made.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.linalg.scaling import column_degrees, power, row_degrees, scaled
from corml.linalg.svd import right_singular_vectors

__all__ = ["FILTERS", "filter_block", "singular_vectors"]

FILTERS = ("elementwise", "factored", "authors")


def singular_vectors(R: csr_array, rank: int) -> NDArray[Any]:
    """V of the degree-normalised interactions."""
    N = scaled(R, rows=power(row_degrees(R), -0.5), columns=power(column_degrees(R), -0.5))
    return right_singular_vectors(N, rank)[0]


def filter_block(
    V: NDArray[Any], rows: NDArray[np.integer[Any]], columns: NDArray[np.integer[Any]], *, clip: bool
) -> NDArray[Any]:
    """G restricted to some rows and columns (sorted item numbers)."""
    G: NDArray[Any] = V[rows] @ V[columns].T
    _, here, there = np.intersect1d(rows, columns, assume_unique=True, return_indices=True)
    G[here, there] = 0
    return np.maximum(G, 0, out=G) if clip else G
