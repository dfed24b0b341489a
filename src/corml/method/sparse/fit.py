"""H on co-occurring pairs, in an order of users and items that suits the processor, pruned where a budget asks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.fitted import Certificate, Settings
from corml.method import prune
from corml.method.plan.plan import Plan
from corml.method.sparse.column_generation import ColumnGeneration
from corml.method.sparse.fit_cache import Workspace
from corml.method.sparse.pair_work import InMemory
from corml.method.sparse.reorder import Reordered
from corml.progress import Progress

__all__ = ["fit_sparse"]


def fit_sparse(
    X: csr_array,
    d: NDArray[np.float64],
    V: NDArray[Any],
    *,
    settings: Settings,
    plan: Plan,
    progress: Progress,
    start: csr_array | None = None,
    workspace: Workspace | None = None,
) -> tuple[csr_array, tuple[Certificate, ...]]:
    """H and its certificate; `settings` are resolved ones, `start` is an H to begin from."""
    order = Reordered.of(X, V) if workspace is None else workspace.reordered(V)
    work = InMemory(order.X, order.permute(d), order.permute(V), order.items)
    generation = ColumnGeneration(work=work, settings=settings, plan=plan, progress=progress)
    solution = generation.solve(None if start is None else order.permute_matrix(start), workspace)
    H = solution.H.copy()
    H.eliminate_zeros()
    if settings.budget is not None:
        kept = prune.to_budget(H, settings.budget, X.shape[0], work.d)
        if kept.nnz < H.nnz:
            solution = generation.within(kept, solution)
            H = solution.H
            H.eliminate_zeros()
    return order.unpermute_matrix(H), (solution.certificate,)
