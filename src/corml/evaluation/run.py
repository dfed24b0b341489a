"""Evaluate a model, or the lists of another program, on a part of a split."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime.console_progress import shown
from corml._runtime.log import timed
from corml._runtime.progress import Asked
from corml.errors import UsageError, warn
from corml.evaluation import external_lists, in_pieces, task
from corml.evaluation.leakage import warn_of_leakage
from corml.evaluation.measure import lists_of, measured
from corml.evaluation.metrics import Asked as Metrics
from corml.evaluation.metrics import Metric, parse_all
from corml.evaluation.ranking import ranked_lists
from corml.evaluation.resampling import Bootstrap
from corml.evaluation.resampling import intervals as intervals_of
from corml.evaluation.result import Result
from corml.evaluation.task import About
from corml.models.recommender import Recommender
from corml.recommend.recommendations import Recommendations
from corml.recommend.rules import ListRules
from corml.splits import Split, StoreSplit, read_split

if TYPE_CHECKING:
    from distributed import Client

    from corml.evaluation.external_lists import ExternalLists

__all__ = ["DEFAULT_METRICS", "evaluate", "evaluate_lists"]

DEFAULT_METRICS = tuple(f"{name}@{k}" for name in ("ndcg", "mrr", "recall", "novelty", "coverage") for k in (5, 10, 20))


def evaluate(
    model: "Recommender | Recommendations",
    split: Split | StoreSplit | str | os.PathLike[str],
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

    `metrics` are names, such as "ndcg@10", and functions of `corml.metrics.Lists` and a length that give one number per
    user, or one for all lists; they are used at the lengths of the named metrics, or else at 10. In place of a model,
    Recommendations are measured as by `evaluate_lists`.

    The model scores the history of the part (train); items already seen (for "test": train and valid) are excluded.
    Users and items are matched by id, so the model may come from a file; item popularity comes from `split.train`.
    `targets` names event types: only held-out pairs with such an event count as relevant. Other held-out pairs may be
    recommended like any item, and are then no hit; users without a target are left out and counted.

    `intervals` asks for percentile bootstrap intervals over users, drawn with `seed`. A model that was fitted on
    held-out pairs gets a LeakageWarning. `rules` are those of the lists, such as `ListRules(diversity=0.3)`: what they
    cost. Lists are then made for the longest K that is asked for.

    `split` may be the name of a split file or of the folder of a split of a store. Of a store some users are evaluated
    at a time: kept of each are the values of the metrics, and all figures are those of the same split in memory.
    `cluster` is a client of Dask or the address of a scheduler, whose workers then do it; they must reach the folder of
    the split under the same path, and so they must that of `work`, for what is finished (default: in the former).
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
    split = _read(split)
    split = split if targets is None else judged(split, targets)
    parsed, bootstrap = parse_all(metrics), Bootstrap(confidence, resamples, seed, enabled=intervals)
    chosen = rules if rules is not None and rules.any else None
    longest = min(max(metric.k for metric in parsed), len(model.items_))
    if not isinstance(split, StoreSplit) and (cluster is not None or work is not None):
        raise UsageError("cluster and work are for the split of a store: corml.split(store, …, out=FOLDER).")
    if cluster is not None and any(callable(one) for one in ([metrics] if callable(metrics) else metrics)):
        raise UsageError("Workers know metrics by name only: leave cluster out, or add the metric by an entry point.")
    if work is not None and cluster is None:
        raise UsageError("work is the folder of workers: give cluster with it, or leave it out.")
    if isinstance(split, StoreSplit):
        warn_of_leakage(model, split, part)
        with shown(progress) as report, timed("evaluate %s on %s of %s", model.NAME, part, repr(split)):
            gather = None
            if cluster is not None:
                from corml.evaluation.on_cluster import gathered  # with the code of workers

                gather = partial(gathered, cluster=cluster, work=work)
            measured = in_pieces.measured(model, split, part, parsed, longest, chosen, report, gather)
        return _result(*measured, bootstrap, name=model.NAME, rules=str(rules or ""))
    job = task.make(split, part, model.items_)
    warn_of_leakage(model, split, part)
    with shown(progress) as report, timed("evaluate %s on %s users of %s", model.NAME, len(job.users), part):
        best = ranked_lists(model, job, longest, chosen, report)
    return _of_lists(job, best, parsed, bootstrap, name=model.NAME, rules=str(rules or ""))


def evaluate_lists(
    lists: "ExternalLists",
    split: Split | StoreSplit | str | os.PathLike[str],
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
    split = _read(split)
    if isinstance(split, StoreSplit):
        raise UsageError("Lists cannot be measured on the split of a store: use one made in memory.")
    split = split if targets is None else split.judging(targets)
    job = task.make(split, part, split.train.items)
    widest = max(parsed, key=lambda metric: metric.k)
    if isinstance(lists, Recommendations) and lists.items.shape[1] < min(widest.k, len(job.items)):
        warn(
            f"The lists have {lists.items.shape[1]} items, and {widest.label} counts what is missing as misses: "
            f"recommend with k={widest.k}, or ask for metrics of shorter lists."
        )
    best, notes = external_lists.ranked(job, external_lists.by_user(lists), widest.k, mask=mask)
    return _of_lists(job, best, parsed, bootstrap, name=name, notes=notes)


def judged(split: Split | StoreSplit, targets: str | Sequence[str]) -> Split:
    """The split where only pairs with such an event count as targets."""
    if isinstance(split, StoreSplit):
        raise UsageError("A store has no event types: leave targets (--targets) out, or split the data in memory.")
    return split.judging(targets)


def _read(split: Split | StoreSplit | str | os.PathLike[str]) -> Split | StoreSplit:
    """A split, or the one of a file or folder."""
    if isinstance(split, str | os.PathLike):
        split = read_split(split)
    if not isinstance(split, Split | StoreSplit):
        raise UsageError(
            f"evaluate takes a model and a Split, not {type(split).__name__}: make one with corml.split(data)."
        )
    return split


def _of_lists(
    job: task.Task, best: NDArray[np.integer[Any]], metrics: Sequence[Metric], bootstrap: Bootstrap, **about: Any
) -> Result:
    return _result(About.of(job), *measured(lists_of(job, best), metrics), bootstrap, **about)


def _result(
    about: About,
    means: Mapping[str, float],
    per_user: Mapping[str, NDArray[np.float64]],
    bootstrap: Bootstrap,
    *,
    name: str,
    notes: Mapping[str, int] | None = None,
    rules: str = "",
) -> Result:
    return Result(
        means=means,
        per_user=per_user,
        users=about.users,
        intervals=intervals_of(per_user, bootstrap),
        part=about.part,
        model=name,
        confidence=bootstrap.confidence,
        split=about.split.fingerprint,
        procedure=about.split.procedure,
        notes={**about.notes, **(notes or {})},
        rules=rules,
    )
