"""Fit CoRML as planned: the filter, then H by the dense solver block by block or by the sparse one."""

import warnings
from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from corml._runtime import memory
from corml._runtime.progress import Progress
from corml.errors import ConvergenceWarning, NumericalError
from corml.linalg.sparse import Array, Values, column_degrees
from corml.models.corml.dense import fit_dense
from corml.models.corml.plan import Plan
from corml.models.corml.problem import shaped, singular_vectors
from corml.models.corml.sparse.column_generation import ColumnGeneration, InMemory
from corml.models.corml.sparse.reuse import Reordered, WarmStart, Workspace
from corml.models.fitted import Certificate, Settings


def fit_as_planned(
    X: csr_array,
    *,
    settings: Settings,
    plan: Plan,
    progress: Progress,
    warm_start: WarmStart | None = None,
    workspace: Workspace | None = None,
) -> tuple[Values, csr_array, list[Certificate]]:
    """V, H and how H was solved; `settings` are the resolved ones.

    H is learned given the flat filter of the first `learn_rank` directions; scores have the first `rank`, with their
    shape.
    """
    progress("filter", 0, 1)
    V = _vectors(X, settings, warm_start, workspace)
    flat = V[:, : settings.learn_rank]
    norms = settings.graph_user_norm, settings.graph_item_norm
    V = shaped(np.ascontiguousarray(V[:, : settings.rank]), X, norms, settings.filter_power)
    memory.release()
    progress("filter", 1, 1)
    if plan.solver == "sparse":
        order = Reordered.of(X, flat) if workspace is None else workspace.reordered(flat)
        work = InMemory.of(order.X, order.permute(flat), settings, order.items)
        generation = ColumnGeneration(work=work, settings=settings, plan=plan, progress=progress)
        H, certificate = generation.learn(None if warm_start is None else order.permute_matrix(warm_start.H), workspace)
        H, certificates = order.unpermute_matrix(H), [certificate]
    else:
        H, certificates = fit_dense(X, column_degrees(X), flat, settings=settings, progress=progress)
    checked(H, certificates, settings.tol)
    return V.astype(np.float32, copy=False), H, certificates


def _vectors(X: csr_array, settings: Settings, warm_start: WarmStart | None, workspace: Workspace | None) -> Array:
    rank, norms = max(settings.rank, settings.learn_rank), (settings.graph_user_norm, settings.graph_item_norm)
    offered = None if warm_start is None else warm_start.vectors(rank, norms)
    if workspace is not None:
        return workspace.vectors(rank, norms, offered)
    return singular_vectors(X, rank, norms) if offered is None else offered


def checked(H: csr_array, certificates: Sequence[Certificate], tol: float) -> None:
    """Refuse an H that is not finite, and warn if a solver did not converge."""
    if not np.isfinite(H.data).all():
        raise NumericalError("The learned matrix H is not finite: raise `ridge` or `l2`.")
    unfinished = [certificate for certificate in certificates if not certificate.converged]
    if tol > 0 and unfinished:
        worst = max(unfinished, key=lambda certificate: certificate.residual)
        warnings.warn(
            f"The solver stopped after {worst.steps} steps at a residual of {worst.residual:.1e} (tol {tol:g}): "
            "raise max_steps or tol, or set tol=0 to ask for a fixed number of steps.",
            ConvergenceWarning,
            stacklevel=6,
        )
