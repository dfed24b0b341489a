"""Sparse approximation: drop the entries of H that matter least until it takes no more room than a factor model.

An entry above the diagonal costs two numbers (where, how much), a row one (where it begins); a factor model of
size f costs f numbers per user and item. In the paper it is the threshold γ of Section 5.1.3.
"""

import numpy as np
from scipy.sparse import csr_array

from corml.linalg.sparse import Vector, power


def to_budget(H: csr_array, size: int, users: int, degrees: Vector | None = None) -> csr_array:
    """Keep the pairs of H that matter most such that it is stored in at most size·(users + items) numbers.

    A weight counts in the scores of every user of one of its items, so the same weight matters more between popular
    items: with `degrees` weights are compared times (d_i d_j)^¼.
    """
    max_entries = max(0, (size * (users + H.shape[0]) - H.shape[0] - 1) // 2 * 2)
    if H.nnz <= max_entries:
        return H
    kept = np.zeros(H.nnz, dtype=bool)
    if max_entries:
        importance = H.data if degrees is None else H.data * _popularity(H, power(degrees, 0.25))
        threshold = np.partition(importance, H.nnz - max_entries)[H.nnz - max_entries]
        kept = importance > threshold  # equal entries go together, or symmetry would break
        if int((importance >= threshold).sum()) <= max_entries:
            kept = importance >= threshold
    return _only(H, kept)


def _popularity(H: csr_array, of: Vector) -> Vector:
    """Product over both items of each entry: the same both ways, to the last bit."""
    both: Vector = np.repeat(of, np.diff(H.indptr)) * of[H.indices]
    return both


def _only(H: csr_array, kept: np.ndarray) -> csr_array:
    pruned = H.copy()
    pruned.data[~kept] = 0
    pruned.eliminate_zeros()
    return pruned
