"""Top right singular vectors of a sparse matrix: exact, checked, with fixed signs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.parallel import blas
from corml.errors import NumericalError
from corml.linalg import lanczos
from corml.linalg.lanczos import Operator, right_vectors

__all__ = [
    "dense_bytes",
    "fixed_signs",
    "is_small",
    "is_small_shape",
    "peak_bytes",
    "right_singular_vectors",
    "right_singular_vectors_of",
]

SMALL = 400  # below this many rows or columns a dense decomposition is both faster and surer
WIDE = 50_000  # columns beyond which the transposed matrix is decomposed: in half the time, with other rounding
ALWAYS, MANY = 1 << 25, 10_000  # bytes of threads and compiled code, for more than so many interactions
A_SCALED = 20  # bytes: an interaction divided by degrees, while it is made
RESIDUAL = 1e-4  # relative: ‖NᵀN v − s²v‖ ≤ 1e-4·s·s₁, which is 1e-8 in the singular values
FAINT = 1e-3  # singular values of single precision below this share of the largest may be rounding
NOTHING = 1e-9  # singular values below this share of the largest stand for no direction at all

Matrix = NDArray[Any]


def right_singular_vectors(N: csr_array, rank: int) -> tuple[Matrix, NDArray[np.float64]]:
    """Return V (columns × k) and its k singular values, largest first, k ≤ rank.

    k is smaller than `rank` where the matrix has fewer directions: vectors of a zero singular value are arbitrary,
    so they are dropped. Signs are fixed (the largest component of each vector is positive), so equal data give
    equal vectors.
    """
    k = min(rank, *N.shape)
    if k == 0 or N.nnz == 0:
        return np.zeros((N.shape[1], 0)), np.zeros(0)
    V, s = _dense(N, k) if is_small(N, k) else _sparse(N, k)
    if not (np.isfinite(V).all() and np.isfinite(s).all()):
        raise NumericalError("The spectral filter is not finite: lower `rank`.")
    nonzero = int((s > NOTHING * s[0]).sum())
    return fixed_signs(V[:, :nonzero]), s[:nonzero]


def is_small(N: csr_array, rank: int) -> bool:
    """Whether a dense decomposition is the better way."""
    return is_small_shape(N.shape, rank)


def is_small_shape(shape: tuple[int, int], rank: int) -> bool:
    """The same for a matrix of which only the shape is known."""
    return bool(min(shape) <= SMALL or 2 * rank >= min(shape))


def dense_bytes(shape: tuple[int, int]) -> int:
    """Peak of a dense decomposition: the matrix, LAPACK's own and its long vectors, twice; and what is square."""
    small, large = sorted(int(side) for side in shape)
    return 8 * (4 * small * large + 4 * small * small)


def peak_bytes(X: csr_array, rank: int) -> int:
    """Peak beside the data while singular vectors of the matrix, scaled by degrees, are made."""
    if is_small(X, rank):
        return (ALWAYS if X.nnz > MANY else 0) + dense_bytes(X.shape) + A_SCALED * int(X.nnz)
    small, basis = int(min(X.shape)), lanczos.basis_size(rank)
    alive = basis + lanczos.BLOCK + rank + (basis - rank) // 3
    return int(4 * small * alive + 8 * X.shape[1] * rank + 36 * X.nnz)


def _dense(N: csr_array, k: int) -> tuple[Matrix, NDArray[np.float64]]:
    used = np.bincount(N.indices, minlength=N.shape[1]) > 0
    if 2 * np.count_nonzero(used) < len(used) and np.count_nonzero(used) >= k:  # most columns are empty
        V = np.zeros((len(used), k))
        V[used], s = _dense(csr_array(N[:, used]), k)
        return V, s
    with blas(size=max(N.shape)):
        if N.shape[1] > WIDE:
            V, s, _ = np.linalg.svd(N.T.toarray(), full_matrices=False)
            return V[:, :k], s[:k]
        _, s, Vt = np.linalg.svd(N.toarray(), full_matrices=False)
    return Vt[:k].T, s[:k]


def _sparse(N: csr_array, k: int) -> tuple[Matrix, NDArray[np.float64]]:
    """Block Lanczos, whose memory is known beforehand; ARPACK in the rare case that it does not converge."""
    with blas(1):  # its matrix products are thin: threads of ours take bands of rows instead
        converged = right_vectors(N, k, RESIDUAL)
        if converged is not None:
            return _reliable(*converged)
        from scipy.sparse.linalg import svds

        _, s, Vt = svds(N, k=k, solver="arpack", rng=np.random.default_rng(0))
    order = np.argsort(s)[::-1]
    return Vt[order].T, s[order]


def _reliable(V: Matrix, s: NDArray[np.float64]) -> tuple[Matrix, NDArray[np.float64]]:
    found = int((s > FAINT * s[0]).sum())
    return V[:, :found], s[:found]


def right_singular_vectors_of(normal: Operator, rank: int) -> tuple[Matrix, NDArray[np.float64]]:
    """The same for a matrix of which only the product with NᵀN is known; `rank` is below half its columns."""
    with blas(1):
        converged = right_vectors(normal, rank, RESIDUAL)
    if converged is None:
        raise NumericalError("The spectral filter did not converge: lower `rank`.")
    V, s = _reliable(*converged)
    return fixed_signs(V), s


def fixed_signs(V: Matrix) -> Matrix:
    """The same vectors, the largest component of each positive."""
    largest = np.array([np.abs(column).argmax() for column in V.T], dtype=np.int64)
    signs = np.where(V[largest, range(V.shape[1])] < 0, -1, 1).astype(V.dtype)
    return np.ascontiguousarray(V * signs)
