"""Largest eigenpairs of NᵀN by block Lanczos with thick restarts, in single precision and known memory.

Vectors are multiplied a block at a time, so the work is sparse products with a dense block and matrix products, which
use all cores; a fixed number of basis vectors on the smaller side of N is all that is kept. A basis that is full is
replaced by its best vectors and goes on from there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.parallel import each
from corml.linalg.products import add_dense_product
from corml.linalg.scaling import narrow

__all__ = [
    "BLOCK",
    "Operator",
    "basis_size",
    "right_from_left",
    "right_vectors",
    "rough_right_vectors",
    "taken_off",
]

BLOCK = 16  # vectors multiplied at a time
BAND = 2048  # rows of the basis a thread takes at a time
_TINY = np.finfo(np.float32).tiny
SWEEPS = 60  # fillings of the basis before it is given up
FADED = 1e-4  # share of the largest product below which what is left of a block may be mostly rounding
CLEAN = 0.99  # length that vectors keep where others are taken off to which they are orthogonal
ROUGH = 1e-2  # residual at which lists no longer tell directions from converged ones; at higher ones the last suffer

Matrix = NDArray[np.float32]


def basis_size(rank: int) -> int:
    """Basis vectors kept: more of them converge in fewer products but cost more to keep orthogonal."""
    return max(5 * rank // 2, rank + 4 * BLOCK)


class Operator(Protocol):
    """NᵀN, or NNᵀ, as something to multiply a block of vectors with."""

    @property
    def size(self) -> int:
        """The length of vectors."""

    def __call__(self, block: Matrix) -> Matrix:
        """The product with a block of BLOCK vectors."""

    def right(self, vectors: Matrix, s: NDArray[np.float64]) -> Matrix:
        """Right singular vectors of N from the eigenvectors, and its singular values."""


def right_vectors(N: csr_array | Operator, rank: int, tol: float) -> tuple[Matrix, NDArray[np.float64]] | None:
    """V and the `rank` largest singular values, largest first, with ‖NᵀN v − s² v‖ ≤ tol·s·s₁; None if not reached."""
    return _right_vectors(_operator(N), rank, tol, SWEEPS)


def rough_right_vectors(N: csr_array | Operator, rank: int) -> tuple[Matrix, NDArray[np.float64]]:
    """V and its singular values to a low precision, for choices among filters; as good as it gets, if not reached."""
    normal = _operator(N)
    vectors = _right_vectors(normal, rank, ROUGH, SWEEPS) or _right_vectors(normal, rank, np.inf, 1)
    assert vectors is not None
    return vectors


def _operator(N: csr_array | Operator) -> Operator:
    return _Normal.of(N) if isinstance(N, csr_array) else N


def _right_vectors(normal: Operator, rank: int, tol: float, sweeps: int) -> tuple[Matrix, NDArray[np.float64]] | None:
    size = min(basis_size(rank), normal.size - BLOCK) // BLOCK * BLOCK
    Q = np.empty((normal.size, size + BLOCK), dtype=np.float32, order="F")
    T = np.zeros((size + BLOCK, size + BLOCK))
    start = np.random.default_rng(0).standard_normal((normal.size, BLOCK)).astype(np.float32)
    Q[:, :BLOCK] = np.linalg.qr(start)[0]
    done = 0
    for _ in range(sweeps):
        rest = _fill(normal, Q, T, done, size)
        values, S = np.linalg.eigh(T[:size, :size])
        values, S = values[::-1], S[:, ::-1]
        s = np.sqrt(np.maximum(values[:rank], 0))
        residuals = np.linalg.norm(rest @ S[size - BLOCK : size, :rank], axis=0)
        if (residuals <= tol * np.maximum(s, s[0] * tol) * s[0]).all():
            return normal.right(_combined(Q[:, :size], S[:, :rank]), s), s
        done = _restart(Q, T, values, S, rank, size)
    return None


def _fill(normal: Operator, Q: Matrix, T: NDArray[np.float64], done: int, size: int) -> NDArray[np.float64]:
    """Extend the basis to `size` processed vectors; T becomes QᵀAQ. Returns how the last block goes on.

    A block meets only itself and the one before: these two are taken off first, from what is known of them. What
    rounding left of all others then is so little that it need be taken off once only; but a restart made the first
    block meet all that were kept. Where A has fewer directions than the basis, what is left of a block is mostly
    rounding, which is orthogonal to nothing: all others are taken off until there is nothing to take off.
    """
    r: NDArray[np.float64] | None = None
    largest = T.max()
    while True:
        used = done + BLOCK
        known, newest = Q[:, :used], Q[:, done:used]
        W = normal(np.ascontiguousarray(newest))
        largest = max(largest, np.linalg.norm(W, axis=0).max())
        met = np.zeros((used, BLOCK))
        if r is not None:
            met[done - BLOCK : done] = r.T
            _take_off(W, Q[:, done - BLOCK : done], r.T)
        met[done:used] += taken_off(W, newest)
        met += taken_off(W, known)
        if r is None:
            met += taken_off(W, known)
        W, r = _orthonormal(W)
        mostly_rounding = _least(r) < FADED * largest
        while mostly_rounding:
            parts = taken_off(W, known)
            W, rest = _orthonormal(W)
            met, r = met + parts @ r, rest @ r
            mostly_rounding = _least(rest) < CLEAN
        T[:used, done:used] = met
        T[done:used, :used] = met.T
        Q[:, used : used + BLOCK] = W
        done = used
        if done == size:
            return r


def _least(r: NDArray[np.float64]) -> float:
    """The length of the shortest vector, less what it has of those before it."""
    return float(np.abs(np.diag(r)).min())


def taken_off(W: Matrix, known: Matrix) -> Matrix:
    """Make a block orthogonal to some vectors, in place; returns what it had of them."""
    pieces = each(lambda band: known[_rows(band)].T @ W[_rows(band)], -(-len(W) // BAND))
    parts: Matrix = np.asarray(np.sum(list(pieces), axis=0, dtype=np.float32))
    _take_off(W, known, parts)
    return parts


def _take_off(W: Matrix, known: Matrix, parts: NDArray[Any]) -> None:
    single = parts.astype(np.float32)

    def work(band: int) -> None:
        W[_rows(band)] -= known[_rows(band)] @ single

    for _ in each(work, -(-len(W) // BAND)):
        pass


def _combined(Q: Matrix, S: NDArray[Any]) -> Matrix:
    """Q S, a band of rows at a time."""
    single, out = S.astype(np.float32), np.empty((len(Q), S.shape[1]), dtype=np.float32)

    def work(band: int) -> None:
        np.matmul(Q[_rows(band)], single, out=out[_rows(band)])

    for _ in each(work, -(-len(Q) // BAND)):
        pass
    return out


def _rows(band: int) -> slice:
    """Rows are worked on in bands: by all threads, and always the same, so that results do not depend on them."""
    return slice(band * BAND, (band + 1) * BAND)


def _orthonormal(W: Matrix) -> tuple[Matrix, NDArray[np.float64]]:
    """W = Q r with orthonormal Q: by Cholesky, which is a matrix product, or by Householder if W is nearly singular."""
    gram = (W.T @ W).astype(np.float64)
    try:
        r = np.asarray(np.linalg.cholesky(gram).T, dtype=np.float64)
        if np.diag(r).min() > 1e-2 * np.sqrt(np.diag(gram).max()):
            return W @ np.linalg.inv(r).astype(np.float32), r
    except np.linalg.LinAlgError:
        pass
    Q, rest = np.linalg.qr(W)
    return Q, rest.astype(np.float64)


def _restart(
    Q: Matrix, T: NDArray[np.float64], values: NDArray[np.float64], S: NDArray[np.float64], rank: int, size: int
) -> int:
    """Keep the best vectors and the block that comes next; returns how many are kept."""
    keep = (rank + (size - rank) // 3 + BLOCK - 1) // BLOCK * BLOCK
    keep = min(keep, size - BLOCK)
    next_block = Q[:, size : size + BLOCK].copy()
    Q[:, :keep] = _combined(Q[:, :size], S[:, :keep])
    Q[:, keep : keep + BLOCK] = next_block
    T[:] = 0
    T[np.arange(keep), np.arange(keep)] = values[:keep]
    return keep


@dataclass(frozen=True)
class _Normal:
    """NᵀN or NNᵀ, whichever is smaller, times a block of vectors."""

    first: csr_array
    second: csr_array
    by_items: bool

    @classmethod
    def of(cls, N: csr_array) -> "_Normal":
        single = narrow(N)
        transposed = single.T.tocsr()
        by_items = N.shape[1] <= N.shape[0]
        return cls(single, transposed, by_items) if by_items else cls(transposed, single, by_items)

    @property
    def size(self) -> int:
        return int(self.first.shape[1])

    def __call__(self, block: Matrix) -> Matrix:
        return _times(self.second, _times(self.first, block))

    def right(self, vectors: Matrix, s: NDArray[np.float64]) -> Matrix:
        """Right singular vectors from those of the smaller side."""
        return vectors if self.by_items else right_from_left(lambda left: _times(self.first, left), vectors, s)


def right_from_left(times: Callable[[Matrix], Matrix], vectors: Matrix, s: NDArray[np.float64]) -> Matrix:
    """Right singular vectors from left ones, with the product with the transposed matrix."""
    orthonormal, _ = _orthonormal(times(np.ascontiguousarray(vectors / np.maximum(s, _TINY).astype(np.float32))))
    return orthonormal


def _times(X: csr_array, block: Matrix) -> Matrix:
    product = np.zeros((X.shape[0], block.shape[1]), dtype=np.float32)
    add_dense_product(X, block, product)
    return product
