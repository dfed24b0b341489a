"""Inverse of a symmetric positive definite matrix, in place."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.errors import NumericalError
from corml.linalg.lapack import factor_upper, invert_factored
from corml.parallel import blas

__all__ = ["TILE", "spd_inverse"]

LARGEST_LAPACK = 30_000  # LAPACK counts entries with 32-bit integers: larger matrices are inverted a panel at a time
PANEL = 1024  # rows of such a panel
JITTER = 1e-5  # of the mean diagonal, added once when rounding has cost definiteness
TILE = 1024


def spd_inverse(M: NDArray[Any]) -> NDArray[Any]:
    """Overwrite M by its inverse and return it."""
    with blas(size=len(M)):
        if len(M) <= LARGEST_LAPACK:
            return _by_cholesky(M)
        return _by_panels(M)


def _by_cholesky(M: NDArray[Any]) -> NDArray[Any]:
    diagonal = M.diagonal().copy()
    failed = factor_upper(M)
    if failed:
        _restore_lower(M, diagonal)
        failed = factor_upper(M)
    if failed:
        raise NumericalError("The item matrix is not positive definite: raise `ridge`, `l2` or `rho`.")
    failed = invert_factored(M)
    assert not failed
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


def _by_panels(M: NDArray[Any]) -> NDArray[Any]:
    """Sweep one panel K of rows after the other out of the matrix; three panels of scratch, n³ operations as LAPACK.

        M_KK → −M_KK⁻¹,   M_Kj → M_KK⁻¹ M_Kj,   M_ij → M_ij − M_iK M_KK⁻¹ M_Kj

    The rule is the same for rows that were swept before and for those still to come, and it keeps the matrix
    symmetric, so the upper triangle is all that is read and written. When all are swept, M holds minus its inverse.
    """
    n, height = len(M), min(PANEL, LARGEST_LAPACK)
    for first in range(0, n, height):
        K = slice(first, min(first + height, n))
        old = np.concatenate([M[:first, K].T, M[K, first:]], axis=1)
        old[:, K] = np.triu(old[:, K]) + np.triu(old[:, K], 1).T
        P = _by_cholesky(old[:, K].copy())
        old[:, K] = 0  # what this panel has to do with itself is put in below
        new = P @ old
        for start in range(0, n, height):
            band = slice(start, min(start + height, n))
            M[band, start:] -= old[:, band].T @ new[:, start:]
        M[:first, K] = new[:, :first].T
        M[K, first:] = new[:, first:]
        M[K, K] = -P
    np.negative(M, out=M)
    mirror_upper(M)
    return M
