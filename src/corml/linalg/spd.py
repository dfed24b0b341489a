"""Inverse of a symmetric positive definite matrix, in place."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

from corml.errors import NumericalError
from corml.parallel import blas

__all__ = ["spd_inverse"]

LARGEST_LAPACK = 30_000  # LAPACK counts entries with 32-bit integers: larger matrices are inverted in quarters
JITTER = 1e-5  # of the mean diagonal, added once when rounding has cost definiteness
TILE = 1024


def spd_inverse(M: NDArray[Any]) -> NDArray[Any]:
    """Overwrite M by its inverse and return it."""
    with blas(size=len(M)):
        if len(M) <= LARGEST_LAPACK:
            return _by_cholesky(M)
        return _by_quarters(M)


def _by_cholesky(M: NDArray[Any]) -> NDArray[Any]:
    assert M.flags.c_contiguous  # of any other LAPACK would invert a copy
    factor, invert = get_lapack_funcs(("potrf", "potri"), (M,))
    diagonal = M.diagonal().copy()
    # LAPACK wants columns together; the transpose of a symmetric C-ordered matrix is that very matrix.
    _, info = factor(M.T, lower=1, overwrite_a=1, clean=0)
    if info > 0:
        _restore_lower(M, diagonal)
        _, info = factor(M.T, lower=1, overwrite_a=1, clean=0)
    if info:
        raise NumericalError("The item matrix is not positive definite: raise `ridge`, `l2` or `rho`.")
    _, info = invert(M.T, lower=1, overwrite_c=1)
    assert info == 0
    mirror_upper(M)
    return M


def _restore_lower(M: NDArray[Any], diagonal: NDArray[Any]) -> None:
    """Undo a failed factorisation (it only touched one triangle) and add jitter to the diagonal."""
    for a in range(0, len(M), TILE):
        for b in range(a, len(M), TILE):
            tile = M[b : b + TILE, a : a + TILE]
            if a == b:
                tile[...] = np.tril(tile) + np.tril(tile, -1).T
            else:
                M[a : a + TILE, b : b + TILE] = tile.T
    np.fill_diagonal(M, diagonal + JITTER * diagonal.mean())


def mirror_upper(M: NDArray[Any]) -> None:
    """Copy the upper triangle into the lower one, tile by tile."""
    for a in range(0, len(M), TILE):
        for b in range(a, len(M), TILE):
            tile = M[a : a + TILE, b : b + TILE]
            if a == b:
                tile[...] = np.triu(tile) + np.triu(tile, 1).T
            else:
                M[b : b + TILE, a : a + TILE] = tile.T


def _by_quarters(M: NDArray[Any]) -> NDArray[Any]:
    """Block inverse through the Schur complement, so that no LAPACK call sees more than half the matrix."""
    half = len(M) // 2
    A, B, C = M[:half, :half].copy(), M[:half, half:], M[half:, half:].copy()
    A = spd_inverse(A)
    AB = A @ B
    C = spd_inverse(C - B.T @ AB)
    M[:half, half:] = -AB @ C
    M[half:, :half] = M[:half, half:].T
    M[:half, :half] = A - M[:half, half:] @ AB.T
    M[half:, half:] = C
    return M
