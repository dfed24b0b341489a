"""Fit CoRML as planned: G, then H by the dense solver block by block or by the sparse one."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml import memory
from corml.errors import ConvergenceWarning, NumericalError
from corml.fitted import Certificate, Settings
from corml.method.dense.fit import fit_dense
from corml.method.plan.plan import Plan
from corml.method.sparse.fit import fit_sparse
from corml.method.sparse.fit_cache import Workspace
from corml.method.sparse.warm_start import WarmStart
from corml.method.spectral import shaped, singular_vectors
from corml.progress import Progress

__all__ = ["checked", "fit_as_planned"]


def fit_as_planned(
    X: csr_array,
    d: NDArray[np.float64],
    *,
    settings: Settings,
    plan: Plan,
    progress: Progress,
    warm_start: WarmStart | None = None,
    workspace: Workspace | None = None,
) -> tuple[NDArray[np.float32], csr_array, tuple[Certificate, ...]]:
    """V, H and how H was solved; `settings` are the resolved ones.

    H is learned beside the flat filter of the first `learn_rank` directions; scores have the first `rank`, with their
    shape.
    """
    progress("filter", 0, 1)
    V = _vectors(X, settings, warm_start, workspace)
    beside = V[:, : settings.learn_rank]
    norms = settings.graph_user_norm, settings.graph_item_norm
    V = shaped(np.ascontiguousarray(V[:, : settings.rank]), X, norms, settings.filter_power)
    memory.release()
    progress("filter", 1, 1)
    if plan.solver == "sparse":
        start = None if warm_start is None else warm_start.H
        H, certificates = fit_sparse(
            X, d, beside, settings=settings, plan=plan, progress=progress, start=start, workspace=workspace
        )
    else:
        H, certificates = fit_dense(X, d, beside, settings=settings, progress=progress)
    checked(H, certificates, settings.tol)
    return V.astype(np.float32, copy=False), H, certificates


def _vectors(
    X: csr_array, settings: Settings, warm_start: WarmStart | None, workspace: Workspace | None
) -> NDArray[Any]:
    rank, norms = max(settings.rank, settings.learn_rank), (settings.graph_user_norm, settings.graph_item_norm)
    known = None if warm_start is None else warm_start.vectors(rank, norms)
    if workspace is not None:
        return workspace.vectors(rank, norms, known)
    return singular_vectors(X, rank, norms) if known is None else known


def checked(H: csr_array, certificates: tuple[Certificate, ...], tol: float) -> None:
    """Refuse numbers that are none, and warn if a solver did not converge."""
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
