"""Evaluate a model, or the lists of another program, on a part of a split."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime.console_progress import shown
from corml._runtime.log import timed
from corml._runtime.progress import Asked
from corml.errors import UsageError, warn
from corml.evaluation import external_lists
from corml.evaluation.leakage import warn_of_leakage
from corml.evaluation.measure import Means, lists_of, measured, ranked_lists
from corml.evaluation.metrics import Asked as Metrics
from corml.evaluation.metrics import parse_all
from corml.evaluation.resampling import Bootstrap
from corml.evaluation.resampling import intervals as intervals_of
from corml.evaluation.result import Result
from corml.evaluation.task import Task, Training
from corml.models.recommender import Recommender
from corml.recommend.options import ListRules
from corml.recommend.result import Recommendations
from corml.splits import Split, StoreSplit, read_split

if TYPE_CHECKING:
    from distributed import Client

    from corml.evaluation.external_lists import ExternalLists

AnySplit = Split | StoreSplit | str | os.PathLike[str]

DEFAULT_METRICS = tuple(f"{name}@{k}" for name in ("ndcg", "mrr", "recall", "novelty", "coverage") for k in (5, 10, 20))


def evaluate(
    model: "Recommender | Recommendations",
    split: AnySplit,
    metrics: Metrics = DEFAULT_METRICS,
    *,
    part: str = "test",
    targets: str | Sequence[str] | None = None,
    rules: ListRules | None = None,
    intervals: bool = True,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    cluster: "str | Client | None" = None,
    work: str | os.PathLike[str] | None = None,
    progress: Asked = None,
) -> Result:
    """Rank the whole catalogue once for every user with targets, and measure the lists.

    `metrics` are names, such as "ndcg@10", and functions of `corml.metrics.Lists` and a length that return one number
    per user, or one for all lists; they are used at the lengths of the named metrics, or else at 10. In place of a
    model, Recommendations are measured as by `evaluate_lists`.

    The model scores the history of the part (train); items already seen (for "test": train and valid) are excluded.
    Users and items are matched by id, so the model may come from a file; item popularity comes from `split.train`.
    `targets` names event types: only held-out pairs with such an event count as relevant. Other held-out pairs may be
    recommended like any item, and are then no hit; users without a target are left out and counted.

    `intervals` are percentile bootstrap intervals over users, drawn with `seed`. A model that was fitted on held-out
    pairs gets a LeakageWarning. `rules` are constraints on the lists, such as `ListRules(diversity=0.3)`, to measure
    what they cost. Lists are then made for the longest K of the metrics.

    `split` may be the name of a split file or of the folder of a split of a store. The users of a store are evaluated
    in blocks: only the values of the metrics are kept, and all figures equal those of the same split in memory.
    `cluster` is a Dask client or the address of a scheduler, whose workers then evaluate; the folder of the split and
    `work`, for intermediate results (default: inside the folder of the split), must have the same path on all of them.
    """
    if isinstance(model, Recommendations):
        if rules is not None or cluster is not None or work is not None:
            raise UsageError("rules, cluster and work are for a model; these lists are already made: leave them out.")
        how: dict[str, Any] = {"intervals": intervals, "confidence": confidence, "resamples": resamples, "seed": seed}
        return evaluate_lists(model, split, metrics, targets=targets, part=part, **how)
    if not isinstance(model, Recommender):
        got = f"the class {model.__name__}" if isinstance(model, type) else f"a {type(model).__name__}"
        raise UsageError(
            f"evaluate takes a fitted model or Recommendations; got {got}. Fit a model, CoRML().fit(train), or read "
            "one with corml.read_model(path). For other lists use corml.evaluation.evaluate_lists."
        )
    split = _read(split, targets)
    parsed, bootstrap = parse_all(metrics), Bootstrap(confidence, resamples, seed, enabled=intervals)
    if not isinstance(split, StoreSplit) and (cluster is not None or work is not None):
        raise UsageError("cluster and work are for the split of a store: corml.split(store, …, out=FOLDER).")
    if cluster is not None and any(callable(one) for one in ([metrics] if callable(metrics) else metrics)):
        raise UsageError("Workers know metrics by name only: leave cluster out, or add the metric by an entry point.")
    if work is not None and cluster is None:
        raise UsageError("work is the folder of workers: give cluster with it, or leave it out.")
    longest = min(max(metric.k for metric in parsed), len(model.items_))
    chosen = rules if rules is not None and rules.any else None
    with shown(progress) as report, timed("evaluate %s on %s of %s", model.NAME, part, repr(split)):
        if isinstance(split, StoreSplit):
            from corml.evaluation import sharded  # with the code of workers

            warn_of_leakage(model, split, part)
            workers = None if cluster is None else (cluster, work)
            users, notes, means = sharded.measured(model, split, part, parsed, longest, chosen, report, workers)
        else:
            task = Task.of(split, part, model.items_).checked(part)
            warn_of_leakage(model, split, part)
            best = ranked_lists(model, task, longest, chosen, report)
            lists = lists_of(task, Training.of(split.train, model.items_), best)
            users, notes, means = task.users, task.notes, measured(lists, parsed)
    return _result(split, part, users, notes, means, bootstrap, model=model.NAME, rules=str(rules or ""))


def evaluate_lists(
    lists: "ExternalLists",
    split: AnySplit,
    metrics: Metrics = DEFAULT_METRICS,
    *,
    part: str = "test",
    targets: str | Sequence[str] | None = None,
    intervals: bool = True,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    mask: bool = False,
    name: str = "",
) -> Result:
    """Measure lists that another program made, with the same metrics and for the same users as `evaluate`.

    `lists` is a mapping from user to item ids (best first), a frame with the columns user and item (and rank), the name
    of a file (CSV, TSV, Parquet or a TREC run), or Recommendations; items are those of the split. A user without a list
    counts as 0. An item that was already seen is a miss; with `mask` it is taken out before the list is cut, as it is
    for a model.
    """
    parsed, bootstrap = parse_all(metrics), Bootstrap(confidence, resamples, seed, enabled=intervals)
    split = _read(split, targets)
    if isinstance(split, StoreSplit):
        raise UsageError("Lists cannot be measured on the split of a store: use one made in memory.")
    items = split.train.items
    task, training = Task.of(split, part, items).checked(part), Training.of(split.train, items)
    widest = max(parsed, key=lambda metric: metric.k)
    if isinstance(lists, Recommendations) and lists.items.shape[1] < min(widest.k, len(items)):
        warn(
            f"The lists have {lists.items.shape[1]} items, and {widest.label} counts what is missing as misses: "
            f"recommend with k={widest.k}, or ask for metrics of shorter lists."
        )
    best, counts = external_lists.ranked(task, items, external_lists.by_user(lists), widest.k, mask=mask)
    means = measured(lists_of(task, training, best), parsed)
    return _result(split, part, task.users, {**task.notes, **counts}, means, bootstrap, model=name)


def judged(split: Split | StoreSplit, targets: str | Sequence[str]) -> Split:
    """The split where only pairs with such an event count as targets."""
    if isinstance(split, StoreSplit):
        raise UsageError("A store has no event types: leave targets (--targets) out, or split the data in memory.")
    return split.judging(targets)


def _read(split: AnySplit, targets: str | Sequence[str] | None) -> Split | StoreSplit:
    """A split, or the one of a file or folder, where only pairs with some events may count as targets."""
    if isinstance(split, str | os.PathLike):
        split = read_split(split)
    if not isinstance(split, Split | StoreSplit):
        raise UsageError(
            f"evaluate takes a model and a Split, not {type(split).__name__}: make one with corml.split(data)."
        )
    return split if targets is None else judged(split, targets)


def _result(
    split: Split | StoreSplit,
    part: str,
    users: NDArray[np.generic],
    notes: Mapping[str, int],
    figures: Means,
    bootstrap: Bootstrap,
    **about: str,
) -> Result:
    means, per_user = figures
    return Result(
        means=means,
        per_user=per_user,
        users=users,
        intervals=intervals_of(per_user, bootstrap),
        part=part,
        confidence=bootstrap.confidence,
        split=split.fingerprint,
        procedure=split.procedure,
        notes=notes,
        **about,
    )
