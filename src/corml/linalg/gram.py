"""Gram matrices of sparse data as dense arrays, without a second dense array on the way."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array

__all__ = ["dense_gram"]

CHUNK = 512  # rows made at a time: the sparse product of a chunk is the only scratch


def dense_gram(left: csr_array, right: csr_array, dtype: DTypeLike) -> NDArray[Any]:
    """`leftᵀ right` as one dense array."""
    transposed = left.T.tocsr()
    made = np.empty((left.shape[1], right.shape[1]), dtype=dtype)
    for start in range(0, len(made), CHUNK):
        made[start : start + CHUNK] = (transposed[start : start + CHUNK] @ right).toarray()
    return made
