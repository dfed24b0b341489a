"""Fit a model on a store, or plan that fit: the steps of a fit in memory, with tasks on files.

A kill at any moment loses unfinished work only: a repeated call finds all finished artefacts and the last checkpoint of
the solver under their names, and ends with the same bytes.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.console_progress import remark, shown
from corml._runtime.lazy_polars import refuse_after_fork
from corml._runtime.log import timed
from corml._runtime.progress import Asked, Progress, silent
from corml._runtime.settings import check, values_of
from corml.data.long_histories import kept_of_long
from corml.data.store import Store
from corml.errors import UsageError, ascii_line, warn
from corml.models import fitted
from corml.models.corml.cost import selects_filter
from corml.models.corml.estimator import CoRML
from corml.models.corml.fit import checked
from corml.models.corml.hold_out import HeldOut, Picked, targets_of
from corml.models.corml.plan import Plan
from corml.models.corml.problem import Norms, Weights
from corml.models.corml.selection import RELATED, Chosen, Learned, select_filter_on
from corml.models.corml.sparse.column_generation import ColumnGeneration
from corml.models.fitted import Fitted, Settings
from corml.models.learned_from import told
from corml.models.recommender import Recommender
from corml.outofcore.fit.estimate import plan_of_store
from corml.outofcore.fit.files import Files
from corml.outofcore.fit.matrix import KERNEL, cap_of, matrix_task, positions_by_item
from corml.outofcore.fit.pair_work import OnDisk
from corml.outofcore.fit.plan import Profile, count_pairs, plan_for, refuse_unsupported
from corml.outofcore.fit.spectral import singular_vectors
from corml.outofcore.tasks import Executor, Task, executor_on, working_in

if TYPE_CHECKING:
    from distributed import Client

FOLDER = "fit"  # inside the store, unless another is given

Model = TypeVar("Model", bound=Recommender)


def fit_store(
    model: Model,
    store: Store,
    *,
    work: str | os.PathLike[str] | None = None,
    cluster: "str | Client | None" = None,
    progress: Asked = None,
) -> Model:
    """Fit a model on a store and return it; CoRML learns from its files, however large it is, others in memory.

    Finished work is kept in the folder `work` (default: a folder of the store). A fit that was stopped resumes when it
    is called again, and ends with the same result. `cluster` is a Dask client or the address of a scheduler, whose
    workers share the work, with byte-identical results; they must reach both folders under the same paths.
    """
    _check_is_store(store)
    if not isinstance(model, CoRML):
        if work is not None or cluster is not None:
            raise UsageError(f"work and cluster are for CoRML: {model.NAME} learns in memory.")
        return model.fit(store.interactions(), progress=progress)
    check(model)
    model._forget()
    settings = Settings(values_of(model))
    if progress is True:
        remark(f"plan: {plan_of_store(store, settings).sentence()}")
    with shown(progress) as report, timed("fit %s on %s", model.NAME, repr(store)):
        refuse_after_fork()
        refuse_unsupported(settings)
        cap = cap_of(store)
        if cap is not None:
            warn(str(cap))
        folder = store.path / FOLDER if work is None else Path(work)
        with working_in(folder, "a fit") as artefacts, executor_on(cluster, artefacts) as executor:
            executor.require(lambda cores: plan_of_store(store, settings, cores).worker_bytes)
            model.fitted_ = _fitted(store, settings, executor, report)
    return model


def plan_store(model: Recommender, store: Store) -> fitted.Plan:
    """The plan of a fit on a store: solver, memory, and for CoRML tasks stage by stage."""
    _check_is_store(store)
    if not isinstance(model, CoRML):
        return model.plan(store.interactions())
    check(model)
    return plan_of_store(store, Settings(values_of(model)))


def _check_is_store(store: object) -> None:
    if not isinstance(store, Store):
        raise UsageError(f"This takes a corml.Store, see corml.build_store(…); got {ascii_line(type(store).__name__)}.")


def _fitted(store: Store, given: Settings, executor: Executor, progress: Progress) -> Fitted:
    """Learn, and keep the histories of the store mapped."""
    task = matrix_task(store)
    executor.run([task], lambda done, total: progress("matrix", done, total))
    whole = Files(executor, task.key, progress=progress)
    files = _shortened(whole, store, given.longest_history)
    profile = Profile.of_files(files)
    pairs = count_pairs(profile, given)
    plan, start = plan_for(profile, pairs, given), None
    selected = _select_filter(files, given, plan, progress) if selects_filter(given) else None
    if selected is not None:
        chosen, selection, start = selected
        plan = replace(plan_for(profile, pairs, Settings({**given, **chosen})), selection=selection)
    settings = plan.resolved(given)
    progress("filter", 0, 1)
    V, s = singular_vectors(files, max(settings.rank, settings.learn_rank), _norms(settings))
    progress("filter", 1, 1)
    work = OnDisk(files, np.asarray(V[:, : settings.learn_rank]), Weights.of(settings))
    H, certificate = ColumnGeneration(work=work, settings=settings, plan=plan, progress=progress).learn(start)
    checked(H, (certificate,), settings.tol)
    return replace(
        Fitted.on(store.without_pairs(), given),
        train=whole.pattern(),  # mapped: the system keeps the files of an open map, though they are removed
        counts=whole.sides.items.degrees,
        times=whole.of_pairs("times"),
        weights=whole.of_pairs("weights"),
        fingerprint=store.fingerprint,
        arrays={"H": H, "V": _shaped(V, s, settings), "degrees": files.d},
        plan=told(plan, whole.sides.users.degrees - files.sides.users.degrees, cap_of(store)),
        certificates=(certificate,),
    )


def _norms(settings: Settings) -> Norms:
    return settings.graph_user_norm, settings.graph_item_norm


def _shaped(V: NDArray[Any], s: NDArray[np.float64], settings: Settings) -> NDArray[np.float32]:
    """The directions of the scores' filter, with their weights."""
    V, s = np.array(V[:, : settings.rank]), s[: settings.rank]
    if settings.filter_power == 0 or V.shape[1] == 0:
        return V
    weights = (s / s[0]) ** settings.filter_power
    return np.asarray(V * np.sqrt(weights / weights.mean()), dtype=np.float32)


def _without(
    files: Files, at: NDArray[np.int64], users: NDArray[Any], items: NDArray[Any], *, to_learn: bool = False
) -> Files:
    """A copy without the pairs at these positions, which are those of these users and items."""
    left_out = files.artefacts.keep(u=at, i=positions_by_item(files.sides, users, items))
    task = Task(f"{KERNEL}:without_pairs", {"matrix": files.matrix, "left_out": left_out}, {"to_learn": to_learn})
    files.executor.run([task])
    return Files(files.executor, task.key)


def _shortened(files: Files, store: Store, longest: int | None) -> Files:
    """The matrix to learn from: a copy if there are histories longer than the limit."""
    degrees = files.sides.users.degrees
    long = np.flatnonzero(degrees > longest) if longest is not None else np.zeros(0, np.int64)
    if longest is None or not len(long):
        return files
    X, ids = files.X, store.without_pairs()
    at = np.concatenate([np.arange(X.indptr[user], X.indptr[user + 1]) for user in long])
    user, item = np.repeat(long, degrees[long]), X.indices[at]
    gone = ~kept_of_long(ids.users, ids.items, user, item, longest)
    return replace(_without(files, at[gone], user[gone], item[gone], to_learn=True), progress=files.progress)


def _select_filter(files: Files, given: Settings, plan: Plan, progress: Progress) -> Chosen | None:
    """Filter selection, where the data without the held-out pairs are another matrix in files."""
    X, norms = files.X, _norms(given)

    def learn(picked: Picked, settings: Settings) -> tuple[HeldOut, Learned]:
        targets = targets_of(X, picked)
        users = np.repeat(picked.users, np.diff(targets.indptr))
        rest = _without(files, picked.positions, users, targets.indices)
        V, sigma = singular_vectors(rest, max(settings.rank, settings.learn_rank), norms, rough=True)
        work = OnDisk(rest, np.asarray(V[:, : settings.learn_rank]), Weights.of(settings))
        generation = ColumnGeneration(work=work, settings=settings, plan=plan, progress=silent)
        H: csr_array = generation.on(work.co_occurring(plan.candidates)).H
        return HeldOut(rest.X, picked.users, targets, picked.together), Learned(rest.d, np.asarray(V), sigma, H)

    def directions() -> NDArray[np.float32]:
        return singular_vectors(files, RELATED, norms, rough=True)[0]

    times = files.of_pairs("times")
    return select_filter_on(X, times, directions, learn, given=given, plan=plan, progress=progress)
