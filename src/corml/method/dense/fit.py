"""H by the dense solver, block by block."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.fitted import Certificate, Settings
from corml.linalg.scaling import rows_of
from corml.method import prune
from corml.method.dense import admm
from corml.method.dense.partition import partition
from corml.method.dense.problem import dense_problem
from corml.method.problem import Weights
from corml.progress import Progress

__all__ = ["fit_dense"]

Items = NDArray[np.int64]


def fit_dense(
    X: csr_array, d: NDArray[np.float64], V: NDArray[Any], *, settings: Settings, progress: Progress
) -> tuple[csr_array, tuple[Certificate, ...]]:
    """H on all pairs inside each block of items, and a certificate for each block; `settings` are resolved ones."""
    blocks = partition(X, settings.partition_ratio)
    parts, certificates = [], []
    for number, block in enumerate(blocks, start=1):
        stage = "solve" if len(blocks) == 1 else f"solve block {number} of {len(blocks)}"
        solution = _solve(X, d, V, block, settings, partial(progress, stage))
        parts.append((block, csr_array(solution.H).astype(np.float32)))
        certificates.append(Certificate.of_admm(solution))
    H = _assemble(parts, X.shape[1])
    return H if settings.budget is None else prune.to_budget(H, settings.budget, X.shape[0], d), tuple(certificates)


def _solve(
    X: csr_array,
    d: NDArray[np.float64],
    V: NDArray[Any],
    block: Items,
    settings: Settings,
    report: Callable[[int, int], None],
) -> admm.Solution:
    dtype = np.float32 if settings.precision == "single" else np.float64
    if len(block) < X.shape[1]:
        X, d, V = X[:, block], d[block], V[block]
    problem = dense_problem(X, d, V, Weights.of(settings), clip=settings.filter != "factored", dtype=dtype)
    return admm.solve(problem, rho=settings.rho, max_steps=settings.max_steps, tol=settings.tol, progress=report)


def _assemble(parts: list[tuple[Items, csr_array]], n: int) -> csr_array:
    """One n × n matrix from its diagonal blocks."""
    rows = np.concatenate([block[rows_of(H)] for block, H in parts])
    columns = np.concatenate([block[H.indices] for block, H in parts])
    data = np.concatenate([H.data for _, H in parts])
    whole = csr_array((data, (rows.astype(np.int32), columns.astype(np.int32))), shape=(n, n))
    whole.sort_indices()
    return whole
