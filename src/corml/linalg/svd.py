"""Top right singular vectors of a sparse matrix: exact, checked, with fixed signs."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.errors import NumericalError
from corml.parallel import blas

__all__ = ["right_singular_vectors"]

SMALL = 400  # below this many rows or columns a dense decomposition is both faster and surer
RESIDUAL = 1e-6  # of the largest singular value: above it PROPACK is not believed
NOTHING = 1e-9  # singular values below this share of the largest stand for no direction at all

Matrix = NDArray[np.float64]


def right_singular_vectors(N: csr_array, rank: int) -> tuple[Matrix, NDArray[np.float64]]:
    """Return V (columns × k) and its k singular values, largest first, k ≤ rank.

    k is smaller than asked where the matrix has fewer directions: vectors of a zero singular value are arbitrary,
    so they are left out. Signs are fixed (the largest component of each vector is positive), so equal data give
    equal vectors.
    """
    k = min(rank, *N.shape)
    if k == 0 or N.nnz == 0:
        return np.zeros((N.shape[1], 0)), np.zeros(0)
    V, s = _dense(N, k) if min(N.shape) <= SMALL or 2 * k >= min(N.shape) else _sparse(N, k)
    if not (np.isfinite(V).all() and np.isfinite(s).all()):
        raise NumericalError("The spectral filter is not finite: lower `rank`.")
    keep = s > NOTHING * s[0]
    return _fixed_signs(V[:, keep]), s[keep]


def _dense(N: csr_array, k: int) -> tuple[Matrix, NDArray[np.float64]]:
    with blas(size=max(N.shape)):
        _, s, Vt = np.linalg.svd(N.toarray(), full_matrices=False)
    return Vt[:k].T, s[:k]


def _sparse(N: csr_array, k: int) -> tuple[Matrix, NDArray[np.float64]]:
    """PROPACK is four times faster than ARPACK where it succeeds; its answer is checked before it is used."""
    from scipy.sparse.linalg import svds

    with blas(1):
        try:
            U, s, Vt = svds(N, k=k, solver="propack", rng=np.random.default_rng(0))
            if _residual(N, U, s, Vt) > RESIDUAL * s.max():
                raise np.linalg.LinAlgError("PROPACK residual")
        except (np.linalg.LinAlgError, ValueError, RuntimeError):
            U, s, Vt = svds(N, k=k, solver="arpack", rng=np.random.default_rng(0))
    order = np.argsort(s)[::-1]
    return Vt[order].T, s[order]


def _residual(N: csr_array, U: Matrix, s: NDArray[np.float64], Vt: Matrix) -> float:
    """Largest ‖N v − s u‖ and ‖Nᵀ u − s v‖ over all vectors."""
    right = np.linalg.norm(N @ Vt.T - U * s, axis=0)
    left = np.linalg.norm(N.T @ U - Vt.T * s, axis=0)
    return float(max(right.max(), left.max()))


def _fixed_signs(V: Matrix) -> Matrix:
    largest = np.abs(V).argmax(axis=0)
    return np.ascontiguousarray(V * np.where(V[largest, range(V.shape[1])] < 0, -1.0, 1.0))
