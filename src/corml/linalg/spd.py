"""Inverse of a symmetric positive definite matrix, in place.

Two routines of LAPACK are called without holding the interpreter: other threads, and signals, get their turn meanwhile.
SciPy's own wrappers hold it, for minutes where a matrix is large. The routines are those of SciPy, found by address.
"""

from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, byref, c_char, c_int, c_void_p
from functools import cache

import numpy as np

from corml._runtime.compiled import numba
from corml._runtime.parallel import blas
from corml.errors import NumericalError
from corml.linalg.sparse import Array

LARGEST_LAPACK = 30_000  # LAPACK counts entries with 32-bit integers: larger matrices are inverted a panel at a time
PANEL = 1024  # rows of such a panel
JITTER = 1e-5  # of the mean diagonal, added once when rounding has cost definiteness
TILE = 1024

_PREFIX = {np.dtype(np.float32): "s", np.dtype(np.float64): "d"}
_ROUTINE = CFUNCTYPE(None, POINTER(c_char), POINTER(c_int), c_void_p, POINTER(c_int), POINTER(c_int))


def spd_inverse(M: Array) -> Array:
    """Overwrite M by its inverse and return it."""
    with blas(size=len(M)):
        if len(M) <= LARGEST_LAPACK:
            return _by_cholesky(M)
        return _by_panels(M)


def _by_cholesky(M: Array) -> Array:
    diagonal = M.diagonal().copy()
    failed = factor_upper(M)
    if failed:  # only one triangle was touched
        _mirror(M.T)
        np.fill_diagonal(M, diagonal + JITTER * diagonal.mean())
        failed = factor_upper(M)
    if failed:
        raise NumericalError("The item matrix is not positive definite: raise `ridge`, `l2` or `rho`.")
    failed = invert_factored(M)
    assert not failed
    _mirror(M)
    return M


def _mirror(M: Array) -> None:
    """Copy the upper triangle into the lower one, tile by tile."""
    for a in range(0, len(M), TILE):
        for b in range(a, len(M), TILE):
            tile = M[a : a + TILE, b : b + TILE]
            if a == b:
                tile[...] = np.triu(tile) + np.triu(tile, 1).T
            else:
                M[b : b + TILE, a : a + TILE] = tile.T


def _by_panels(M: Array) -> Array:
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
    _mirror(M)
    return M


# --- LAPACK ----------------------------------------------------------------------------------------------------------


def factor_upper(M: Array) -> int:
    """Overwrite the upper triangle of a matrix stored by rows by a triangle R with RᵀR = M; not 0 if there is none."""
    return _call("potrf", M)


def invert_factored(M: Array) -> int:
    """Overwrite such a factor by the upper triangle of the inverse of the matrix that it came from."""
    return _call("potri", M)


def _call(name: str, M: Array) -> int:
    assert M.flags.c_contiguous  # of any other LAPACK would overwrite something else
    assert M.flags.writeable
    assert M.shape[0] == M.shape[1]
    size, info = c_int(len(M)), c_int(0)
    # LAPACK has columns together: what is the upper triangle by rows is the lower one to it.
    _routine(_PREFIX[M.dtype] + name)(byref(c_char(b"L")), byref(size), M.ctypes.data, byref(size), byref(info))
    assert info.value >= 0, f"argument {-info.value} of {name}"
    return info.value


@cache
def _routine(name: str) -> Callable[..., None]:
    address = numba.extending.get_cython_function_address("scipy.linalg.cython_lapack", name)
    routine: Callable[..., None] = _ROUTINE(address)
    return routine
