"""Weights and moments of pairs: how they are kept, and what a model makes of them."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from corml.errors import DataError

__all__ = ["known_weights", "latest_of", "of_mean_square_one", "summed", "with_values"]


def with_values(pattern: csr_array, values: NDArray[np.float32] | None) -> csr_array:
    """A matrix of the same pattern with other values; itself where there are none."""
    if values is None:
        return pattern
    matrix = csr_array((values, pattern.indices, pattern.indptr), shape=pattern.shape)
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


def of_mean_square_one(matrix: csr_array) -> csr_array:
    """Values whose mean square is 1, so that ridges and scales mean what they mean for a binary matrix."""
    if (matrix.data == 1).all():
        return matrix
    mean = np.sqrt(np.mean(matrix.data.astype(np.float64) ** 2)) if matrix.nnz else 1.0
    return matrix if mean == 1 else with_values(matrix, (matrix.data / mean).astype(np.float32))


def known_weights(weights: NDArray[Any]) -> NDArray[np.float32] | None:
    """Weights as they are kept: None if they are all one, because then they say nothing."""
    narrow = np.asarray(weights, dtype=np.float32)
    if not (np.isfinite(narrow) & (narrow > 0)).all():
        raise DataError("Weights must be finite numbers above 0: leave pairs out that count for nothing.")
    return None if (narrow == 1).all() else narrow


def summed(weights: ArrayLike, cells: NDArray[np.int64]) -> NDArray[np.float32] | None:
    """The sum of the weights of each pair, in the order of first appearance."""
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != (len(cells),):
        raise DataError(f"There must be one weight for each pair: got {given.size:,} weights for {len(cells):,} pairs.")
    _, first, which = np.unique(cells, return_index=True, return_inverse=True)
    return known_weights(np.bincount(which, weights=given)[np.argsort(first)])


def latest_of(*columns: NDArray[np.float64] | None) -> float | None:
    """The latest moment of some columns of times; None where no time is known."""
    moments = [times[np.isfinite(times)] for times in columns if times is not None]
    return max((float(some.max()) for some in moments if len(some)), default=None)
