"""Fit CoRML on a store: the steps of a fit in memory, with tasks on files where those take arrays.

A kill at any moment loses what was being made: all finished artefacts, and the point that the solver had reached, are
found again under their names, and the same bytes come out in the end.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.fitted import Certificate, Settings
from corml.long_histories import kept_of_long, told
from corml.method import prune
from corml.method.fit import checked
from corml.method.hold_out import HeldOut, pick, related_first, targets_of
from corml.method.look import RELATED, TOLERANCE, choose
from corml.method.out_of_core.files import Files
from corml.method.out_of_core.matrix import KERNEL, matrix_task, positions_by_item
from corml.method.out_of_core.pair_work import OnDisk
from corml.method.out_of_core.plan import make_plan
from corml.method.out_of_core.spectral import singular_vectors
from corml.method.plan.look_cost import looks
from corml.method.plan.plan import Look, Plan
from corml.method.sparse.column_generation import ColumnGeneration
from corml.method.spectral import Norms
from corml.progress import Progress, silent
from corml.store import Store
from corml.tasks import Executor, Task

__all__ = ["Learned", "fit_store"]


@dataclass(frozen=True)
class Learned:
    """What a fit on a store gives: the model's arrays and how they came about, and the data in files."""

    V: NDArray[np.float32]
    H: csr_array
    degrees: NDArray[np.float64]
    plan: Plan
    certificates: tuple[Certificate, ...]
    files: Files


def fit_store(store: Store, given: Settings, executor: Executor, progress: Progress = silent) -> Learned:
    """Fit with these settings."""
    task = matrix_task(store)
    executor.run([task], lambda done, total: progress("matrix", done, total))
    whole = Files(executor, task.key, progress=progress)
    files = _shortened(whole, store, given.longest_history)
    plan, start = make_plan(files, given), None
    if looks(given):
        looked = _look(files, given, plan, progress)
        if looked is not None:
            chosen, trials, start = looked
            plan = replace(make_plan(files, Settings({**given, **chosen})), look=trials)
    settings = plan.resolved(given)
    norms: Norms = settings.graph_user_norm, settings.graph_item_norm
    progress("filter", 0, 1)
    V, s = singular_vectors(files, max(settings.rank, settings.learn_rank), norms)
    progress("filter", 1, 1)
    work = OnDisk(files, np.asarray(V[:, : settings.learn_rank]))
    generation = ColumnGeneration(work=work, settings=settings, plan=plan, progress=progress)
    solution = generation.solve(start)
    H = solution.H.copy()
    H.eliminate_zeros()
    if settings.budget is not None:
        kept = prune.to_budget(H, settings.budget, len(files.user_degrees), work.d)
        if kept.nnz < H.nnz:
            solution = generation.within(kept, solution)
            H = solution.H
            H.eliminate_zeros()
    certificates = (solution.certificate,)
    checked(H, certificates, settings.tol)
    plan = told(plan, whole.sides.users.degrees - files.sides.users.degrees)
    return Learned(_shaped(V, s, settings), H, files.d, plan, certificates, whole)


def _shortened(files: Files, store: Store, longest: int | None) -> Files:
    """The matrix to learn from: another one in files, where histories are longer than is learned from."""
    degrees = files.sides.users.degrees
    long = np.flatnonzero(degrees > longest) if longest is not None else np.zeros(0, np.int64)
    if longest is None or not len(long):
        return files
    X, ids = files.X, store.without_pairs()
    at = np.concatenate([np.arange(X.indptr[user], X.indptr[user + 1]) for user in long])
    user, item = np.repeat(long, degrees[long]), X.indices[at]
    gone = ~kept_of_long(ids.users, ids.items, user, item, longest)
    left_out = files.keep(u=at[gone], i=positions_by_item(files.sides, user[gone], item[gone]))
    task = Task(f"{KERNEL}:shortened", {"matrix": files.matrix, "left_out": left_out})
    files.executor.run([task])
    return Files(files.executor, task.key, progress=files.progress)


def _shaped(V: NDArray[Any], s: NDArray[np.float64], settings: Settings) -> NDArray[np.float32]:
    """The directions of the scores' filter, with their weights."""
    V, s = np.array(V[:, : settings.rank]), s[: settings.rank]
    if settings.filter_power == 0 or V.shape[1] == 0:
        return V
    weights = (s / s[0]) ** settings.filter_power
    return np.asarray(V * np.sqrt(weights / weights.mean()), dtype=np.float32)


# --- choose by looking -----------------------------------------------------------------------------------------------


def _look(
    files: Files, given: Settings, plan: Plan, progress: Progress
) -> tuple[dict[str, Any], Look, csr_array] | None:
    """What `method/look.py` does, where the data without the held-out pairs are another matrix in files."""
    progress("look", 0, 2)
    norms: Norms = given.graph_user_norm, given.graph_item_norm
    X, times = files.X, files.times

    def order(at: NDArray[np.int64], users: NDArray[np.int64]) -> NDArray[np.float64]:
        if times is not None:
            return -times[at]
        return related_first(X, singular_vectors(files, RELATED, norms, rough=True)[0])(at, users)

    picked = pick(X.indptr, order)
    if picked is None:
        return None
    targets = targets_of(X, picked)
    users = np.repeat(picked.users, np.diff(targets.indptr))
    by_item = positions_by_item(files.sides, users, targets.indices)
    left_out = files.keep(u=picked.positions, i=by_item)
    task = Task(f"{KERNEL}:without_pairs", {"matrix": files.matrix, "left_out": left_out})
    files.executor.run([task])
    rest = Files(files.executor, task.key)
    resolved = plan.resolved(given)
    V, sigma = singular_vectors(rest, max(resolved.rank, resolved.learn_rank), norms, rough=True)
    settings = Settings({**resolved, "tol": TOLERANCE})
    work = OnDisk(rest, np.asarray(V[:, : resolved.learn_rank]))
    generation = ColumnGeneration(work=work, settings=settings, plan=plan, progress=silent)
    H = generation.on(work.co_occurring(generation.users, plan.candidates)).H
    progress("look", 1, 2)
    held = HeldOut(rest.X, picked.users, targets, picked.together)
    chosen, facts = choose(held, np.asarray(V), sigma, H, rest.d, given=given, plan=plan, by_time=times is not None)
    progress("look", 2, 2)
    return chosen, facts, H
