"""The dense solver of problem H, as in the paper: ADMM on n × n matrices, in blocks of items where they are too many.

Of problem H (`problem.py`) M and B are made as they stand, and ADMM (`linalg/admm.py`) keeps H symmetric and nowhere
negative:

    Z ← max((H + Γ + (H + Γ)ᵀ)/2, 0)                                                                  (z)

Blocks are cut by spectral bisection, as in the authors' program: a block larger than ratio·n is cut by the sign of its
second right singular vector, the smoothest way to divide it in two; and so on. Where signs do not divide it (constant
vectors, items without users) it is halved in the vector's order, so every cut makes progress.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array

from corml._runtime.parallel import blas
from corml._runtime.progress import Progress, expected_steps
from corml.linalg import admm
from corml.linalg.products import dense_gram
from corml.linalg.sparse import Array, Vector, power, row_degrees, rows_of, scaled
from corml.models.corml.problem import Weights, filter_block, singular_vectors, to_budget
from corml.models.fitted import Certificate, Settings

CHUNK = 1024  # columns of G' made at a time
TILE = 1024

Items = NDArray[np.int64]
Report = Callable[[int, int], None]


def fit_dense(
    X: csr_array, d: Vector, V: Array, *, settings: Settings, progress: Progress
) -> tuple[csr_array, list[Certificate]]:
    """H on all pairs inside each block of items, and a certificate for each block; `settings` are resolved ones."""
    blocks, n = partition(X, settings.partition_ratio), X.shape[1]
    dtype, clip = np.float32 if settings.precision == "single" else np.float64, settings.filter != "factored"
    parts, certificates = [], []
    for number, block in enumerate(blocks, start=1):
        stage = "solve" if len(blocks) == 1 else f"solve block {number} of {len(blocks)}"
        own = (X, d, V) if len(block) == n else (X[:, block], d[block], V[block])
        problem = dense_problem(*own, Weights.of(settings), clip=clip, dtype=dtype)
        how = {name: settings[name] for name in ("rho", "max_steps", "tol")}
        solution = solve(problem, **how, progress=partial(progress, stage))
        parts.append((block, csr_array(solution.H).astype(np.float32)))
        certificates.append(Certificate.of_admm(solution))
    rows = np.concatenate([block[rows_of(H)] for block, H in parts])
    columns = np.concatenate([block[H.indices] for block, H in parts])
    data = np.concatenate([H.data for _, H in parts])
    whole = csr_array((data, (rows.astype(np.int32), columns.astype(np.int32))), shape=(n, n))
    whole.sort_indices()
    if settings.budget is not None:
        whole = to_budget(whole, settings.budget, X.shape[0], d)
    return whole, certificates


# --- M and B ---------------------------------------------------------------------------------------------------------


class DenseProblem(NamedTuple):
    """M and B of problem H."""

    M: Array
    B: Array


def dense_problem(
    R: csr_array, d: Vector, V: Array, weights: Weights, *, clip: bool = True, dtype: DTypeLike
) -> DenseProblem:
    """Set up problem H for the items of R; keeps two dense n × n arrays.

    `d` holds item degrees and V rows of those items. User degrees are counted inside R, so that a block of items
    sees only its own interactions.
    """
    users = weights.of_users(row_degrees(R))
    P = scaled(R, rows=np.sqrt(users.loss), columns=power(d, -weights.item_norm))
    B = dense_gram(P, P, dtype)
    A = B.copy() if weights.user_norm == 0 else dense_gram(scaled(P, rows=users.ranking), P, dtype)
    B *= weights.gram_factor
    if weights.filter_factor > 0:
        _subtract_filter(B, A, d, V.astype(dtype, copy=False), weights, clip=clip)
    A *= weights.scale
    A[np.diag_indices_from(A)] += weights.diagonal(d).astype(dtype)
    return DenseProblem(M=A, B=B)


def _subtract_filter(B: Array, A: Array, d: Vector, V: Array, weights: Weights, *, clip: bool) -> None:
    """B ← B − ε(1/λ − 1) A G', a band of columns at a time."""
    items = np.arange(len(d))
    left = power(d, weights.item_norm - weights.filter_norm)[:, None].astype(A.dtype)
    right = (weights.cross_factor * power(d, weights.filter_norm - weights.item_norm)).astype(A.dtype)
    with blas(size=len(d)):
        for start in range(0, len(d), CHUNK):
            band = items[start : start + CHUNK]
            G = filter_block(V, items, band, clip=clip)
            G *= left
            G *= right[band]
            target = B[:, start : start + CHUNK]
            never_together = target == 0
            target -= A @ G
            np.minimum(target, 0, out=target, where=never_together)  # they have no weight in H, by definition


# --- H ---------------------------------------------------------------------------------------------------------------


def solve(
    problem: DenseProblem,
    *,
    rho: float | None = None,
    max_steps: int = 500,
    tol: float = 1e-4,
    progress: Report | None = None,
) -> admm.Solution:
    """Minimise ½⟨H, MH⟩ − ⟨B, H⟩ over symmetric H ≥ 0 with diag(H) = 0; overwrites the problem's M.

    ρ sets the speed; the converged answer does not depend on it. Stops when both residuals are below `tol`;
    `tol=0` runs exactly `max_steps`.
    """

    def report(trace: list[tuple[float, float]]) -> None:
        if progress:
            progress(len(trace), expected_steps([1.0, *map(max, trace)], tol, max_steps))

    return admm.solve(*problem, _project, rho=rho, max_steps=max_steps, tol=tol, progress=report)


def _project(S: Array, Z: Array, rho: float) -> float:
    """Z ← max((S + Sᵀ)/2, 0), tile by tile; return how far Z moved."""
    moved = 0.0
    for a in range(0, len(S), TILE):
        for b in range(a, len(S), TILE):
            tile = S[a : a + TILE, b : b + TILE] + S[b : b + TILE, a : a + TILE].T
            tile *= S.dtype.type(0.5)
            np.maximum(tile, 0, out=tile)
            change = admm.norm(tile - Z[a : a + TILE, b : b + TILE]) ** 2
            moved += change if a == b else 2 * change
            Z[a : a + TILE, b : b + TILE] = tile
            Z[b : b + TILE, a : a + TILE] = tile.T
    return float(np.sqrt(moved))


# --- blocks of items -------------------------------------------------------------------------------------------------


def partition(R: csr_array, ratio: float) -> list[Items]:
    """Blocks of item numbers, each sorted and no larger than ratio·n (at least one item)."""
    n = R.shape[1]
    largest = max(1, int(ratio * n))
    pending, done = [np.arange(n)], []
    while pending:
        block = pending.pop()
        if len(block) <= largest:
            done.append(block)
        else:
            pending += reversed(bisect(R, block))
    return done


def bisect(R: csr_array, block: Items) -> tuple[Items, Items]:
    """Two non-empty halves of a block of two items or more."""
    V = singular_vectors(R[:, block], 2)
    v = V[:, 1] if V.shape[1] > 1 else np.zeros(len(block))
    left = v >= 0
    if left.all() or not left.any():
        left = np.zeros(len(block), dtype=bool)
        left[np.argsort(v, kind="stable")[: len(block) // 2]] = True
    return block[left], block[~left]
