"""Top right singular vectors of a sparse matrix: exact, checked, with fixed signs.

They are the largest eigenpairs of NᵀN, by block Lanczos with thick restarts, in single precision and bounded memory.
Vectors are multiplied a block at a time, so the work is sparse products with a dense block and matrix products, which
use all cores; a fixed number of basis vectors on the smaller side of N is all that is kept. A full basis is replaced
by its best vectors and extended again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from corml._runtime.parallel import blas, each
from corml.errors import NumericalError
from corml.linalg.products import add_dense_product
from corml.linalg.sparse import Array, Values, Vector, narrow

BLOCK = 16  # vectors multiplied at a time
BAND = 2048  # rows of the basis a thread takes at a time
_TINY = np.finfo(np.float32).tiny
SWEEPS = 60  # fillings of the basis before it is given up
FADED = 1e-4  # share of the largest product below which what is left of a block may be mostly rounding
CLEAN = 0.99  # length that vectors keep where others are taken off to which they are orthogonal
ROUGH = 1e-2  # residual at which lists no longer tell directions from converged ones; at higher ones the last suffer


def basis_size(rank: int) -> int:
    """Basis vectors kept: more of them converge in fewer products but cost more to keep orthogonal."""
    return max(5 * rank // 2, rank + 4 * BLOCK)


class Operator(Protocol):
    """NᵀN, or NNᵀ, as something to multiply a block of vectors with."""

    @property
    def size(self) -> int:
        """The length of vectors."""

    def __call__(self, block: Values) -> Values:
        """The product with a block of BLOCK vectors."""

    def right(self, vectors: Values, s: Vector) -> Values:
        """Right singular vectors of N from the eigenvectors, and its singular values."""


def right_vectors(N: csr_array | Operator, rank: int, tol: float) -> tuple[Values, Vector] | None:
    """V and the `rank` largest singular values, largest first, with ‖NᵀN v − s² v‖ ≤ tol·s·s₁; None if not reached."""
    return _right_vectors(_operator(N), rank, tol, SWEEPS)


def rough_right_vectors(N: csr_array | Operator, rank: int) -> tuple[Values, Vector]:
    """V and its singular values to a low precision, for choices among filters; as good as it gets, if not reached."""
    normal = _operator(N)
    vectors = _right_vectors(normal, rank, ROUGH, SWEEPS) or _right_vectors(normal, rank, np.inf, 1)
    assert vectors is not None
    return vectors


def _operator(N: csr_array | Operator) -> Operator:
    return _Normal.of(N) if isinstance(N, csr_array) else N


def _right_vectors(normal: Operator, rank: int, tol: float, sweeps: int) -> tuple[Values, Vector] | None:
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


def _fill(normal: Operator, Q: Values, T: Vector, done: int, size: int) -> Vector:
    """Extend the basis to `size` processed vectors; T becomes QᵀAQ. Returns the link to the next block.

    A block meets only itself and the one before: these two are taken off first, by products that are available. What
    rounding left of all others then is so little that it need be taken off once only; but a restart made the first
    block meet all that were kept. Where A has fewer directions than the basis, what is left of a block is mostly
    rounding, which is orthogonal to nothing: all others are taken off until there is nothing to take off.
    """
    r: Vector | None = None
    largest = T.max()
    while True:
        used = done + BLOCK
        earlier, newest = Q[:, :used], Q[:, done:used]
        W = normal(np.ascontiguousarray(newest))
        largest = max(largest, np.linalg.norm(W, axis=0).max())
        met = np.zeros((used, BLOCK))
        if r is not None:
            met[done - BLOCK : done] = r.T
            _take_off(W, Q[:, done - BLOCK : done], r.T)
        met[done:used] += taken_off(W, newest)
        met += taken_off(W, earlier)
        if r is None:
            met += taken_off(W, earlier)
        W, r = _orthonormal(W)
        mostly_rounding = _least(r) < FADED * largest
        while mostly_rounding:
            parts = taken_off(W, earlier)
            W, rest = _orthonormal(W)
            met, r = met + parts @ r, rest @ r
            mostly_rounding = _least(rest) < CLEAN
        T[:used, done:used] = met
        T[done:used, :used] = met.T
        Q[:, used : used + BLOCK] = W
        done = used
        if done == size:
            return r


def _least(r: Vector) -> float:
    """The length of the shortest vector, less what it has of those before it."""
    return float(np.abs(np.diag(r)).min())


def taken_off(W: Values, others: Values) -> Values:
    """Make a block orthogonal to some vectors, in place; returns what it had of them."""
    pieces = each(lambda band: others[_rows(band)].T @ W[_rows(band)], -(-len(W) // BAND))
    products: Values = np.asarray(np.sum(list(pieces), axis=0, dtype=np.float32))
    _take_off(W, others, products)
    return products


def _take_off(W: Values, others: Values, products: Array) -> None:
    single = products.astype(np.float32)

    def work(band: int) -> None:
        W[_rows(band)] -= others[_rows(band)] @ single

    for _ in each(work, -(-len(W) // BAND)):
        pass


def _combined(Q: Values, S: Array) -> Values:
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


def _orthonormal(W: Values) -> tuple[Values, Vector]:
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


def _restart(Q: Values, T: Vector, values: Vector, S: Vector, rank: int, size: int) -> int:
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

    def __call__(self, block: Values) -> Values:
        return _times(self.second, _times(self.first, block))

    def right(self, vectors: Values, s: Vector) -> Values:
        """Right singular vectors from those of the smaller side."""
        return vectors if self.by_items else right_from_left(lambda left: _times(self.first, left), vectors, s)


def right_from_left(times: Callable[[Values], Values], vectors: Values, s: Vector) -> Values:
    """Right singular vectors from left ones, with the product with the transposed matrix."""
    orthonormal, _ = _orthonormal(times(np.ascontiguousarray(vectors / np.maximum(s, _TINY).astype(np.float32))))
    return orthonormal


def _times(X: csr_array, block: Values) -> Values:
    product = np.zeros((X.shape[0], block.shape[1]), dtype=np.float32)
    add_dense_product(X, block, product)
    return product


SMALL = 400  # below this many rows or columns a dense decomposition is both faster and surer
WIDE = 50_000  # columns beyond which the transposed matrix is decomposed: in half the time, with other rounding
ALWAYS, MANY = 1 << 25, 10_000  # bytes of threads and compiled code, for more than so many interactions
A_SCALED = 20  # bytes: an interaction divided by degrees, while it is made
RESIDUAL = 1e-4  # relative: ‖NᵀN v − s²v‖ ≤ 1e-4·s·s₁, which is 1e-8 in the singular values
FAINT = 1e-3  # singular values of single precision below this share of the largest may be rounding
NOTHING = 1e-9  # singular values below this share of the largest are no direction at all


def right_singular_vectors(N: csr_array, rank: int) -> tuple[Array, Vector]:
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
    """The same for a shape."""
    return bool(min(shape) <= SMALL or 2 * rank >= min(shape))


def dense_bytes(shape: tuple[int, int]) -> int:
    """Peak of a dense decomposition: the matrix, LAPACK's own and its long vectors, twice; and what is square."""
    small, large = sorted(int(side) for side in shape)
    return 8 * (4 * small * large + 4 * small * small)


def peak_bytes(X: csr_array, rank: int) -> int:
    """Peak in addition to the data while singular vectors of the matrix, scaled by degrees, are made."""
    if is_small(X, rank):
        return (ALWAYS if X.nnz > MANY else 0) + dense_bytes(X.shape) + A_SCALED * int(X.nnz)
    small, basis = int(min(X.shape)), basis_size(rank)
    alive = basis + BLOCK + rank + (basis - rank) // 3
    return int(4 * small * alive + 8 * X.shape[1] * rank + 36 * X.nnz)


def _dense(N: csr_array, k: int) -> tuple[Array, Vector]:
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


def _sparse(N: csr_array, k: int) -> tuple[Array, Vector]:
    """Block Lanczos, whose memory is bounded; ARPACK in the rare case that it does not converge."""
    with blas(1):  # its matrix products are thin: threads of ours take bands of rows instead
        converged = right_vectors(N, k, RESIDUAL)
        if converged is not None:
            return _reliable(*converged)
        from scipy.sparse.linalg import svds

        _, s, Vt = svds(N, k=k, solver="arpack", rng=np.random.default_rng(0))
    order = np.argsort(s)[::-1]
    return Vt[order].T, s[order]


def _reliable(V: Array, s: Vector) -> tuple[Array, Vector]:
    count = int((s > FAINT * s[0]).sum())
    return V[:, :count], s[:count]


def right_singular_vectors_of(normal: Operator, rank: int) -> tuple[Array, Vector]:
    """The same for a matrix given by its product with NᵀN; `rank` is below half its columns."""
    with blas(1):
        converged = right_vectors(normal, rank, RESIDUAL)
    if converged is None:
        raise NumericalError("The spectral filter did not converge: lower `rank`.")
    V, s = _reliable(*converged)
    return fixed_signs(V), s


def fixed_signs(V: Array) -> Array:
    """The same vectors, the largest component of each positive."""
    largest = np.array([np.abs(column).argmax() for column in V.T], dtype=np.int64)
    signs = np.where(V[largest, range(V.shape[1])] < 0, -1, 1).astype(V.dtype)
    return np.ascontiguousarray(V * signs)
