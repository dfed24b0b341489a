"""corml fit: from a file of interactions to a model file."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import numpy as np
import typer

import corml
from corml import models
from corml.cli._cluster import client_of, with_cluster
from corml.cli._console import next_step, progress, say, show_json, tell, wrote
from corml.cli._files import refuse_to_replace, target
from corml.cli._inputs import DATA, SETTINGS, Inputs, inputs_of
from corml.cli._judged import tell_judged
from corml.cli._on_store import check_options, store_of
from corml.cli._options import Given, pairs, with_loading, with_splitting
from corml.cli._plans import show_plan, tell_plan
from corml.cli._refit import record_with_settings, refit
from corml.cli._work import check_split, make_split
from corml.data.interactions import Interactions
from corml.data.store import Store
from corml.errors import INTERRUPTED, CormlError, UsageError, ascii_line
from corml.evaluation.task import Task, early_stopping
from corml.models.neural.training import lazy_torch
from corml.models.neural.training.checkpoint import epochs_in
from corml.models.neural.training.embedding_model import EmbeddingModel
from corml.models.neural.training.gradient_model import GradientModel
from corml.models.recommender import Recommender
from corml.models.saved.keep import kept_if_this_fails, save_or_keep
from corml.splits import Split

__all__ = ["fit"]


@with_loading
@with_splitting
@with_cluster
def fit(
    source: str = DATA,
    out: str = typer.Option(None, "--out", "-o", metavar="FILE", help="The model file to write."),
    model: str = typer.Option(
        None,
        "--model",
        metavar="NAME",
        help="The model to fit (default: corml); corml models lists them.",
        autocompletion=models.names,
    ),
    values: list[str] = typer.Option(
        [], "--set", metavar="NAME=VALUE", help="A setting of the model, e.g. mix=0.8; may be repeated."
    ),
    settings: str = SETTINGS,
    checkpoint: str = typer.Option(
        None,
        "--checkpoint",
        metavar="FILE",
        help="Save a checkpoint here after each epoch; the same command continues from it.",
    ),
    no_history: bool = typer.Option(
        False, "--no-history", help="Leave the users and their histories out of the model file."
    ),
    force: bool = typer.Option(False, "--force", help="Write over a file that is not a model."),
    no_refit: bool = typer.Option(
        False, "--no-refit", help="With --split: write the model that was measured, fitted on the train set alone."
    ),
    work: str = typer.Option(
        None, "--work", metavar="DIR", help="Folder for finished work of a fit on a store (default: in the store)."
    ),
    plan: bool = typer.Option(False, "--plan", help="Only show the plan of the fit: solver, memory, time."),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
    loading: Given = {},
    splitting: Given = {},
    cluster: Given = {},
) -> None:
    """Fit a model and write it as one file.

    Without --split the model is fitted on all interactions. With --split it is fitted on the train set and
    evaluated on the test set; then it is fitted again on all interactions, and the file records the metrics and how
    to reproduce them. --no-refit writes the model of the train set. A model trained by gradient descent stops early,
    when it no longer improves on the validation set. corml models lists all settings.

    \b
    Examples:
      corml fit ratings.csv --at-least 4 --out shop.corml
      corml fit movielens-small --at-least 4 --k-core 5 --split ratio --out movies.corml
      corml fit gowalla --split authors --set rank=256 --set ridge=50 --out gowalla.corml
      corml fit gowalla --split authors --model lightgcn --checkpoint lightgcn.ckpt --out gowalla.corml
      corml fit --settings fit.toml --out shop.corml
      corml fit shop.split --out shop.corml
      corml fit shop.store --workers 4 --out shop.corml
      corml fit ratings.csv --plan
    """
    if not plan and not out:
        raise UsageError("Say where to write the model: --out FILE (or --plan to see only the plan of the fit).")
    if out:
        target(out, settings)
    needed = "Say what to learn from: a file, the name of a data set, or source = … under [data]."
    given = inputs_of(source, settings, loading, splitting, needed=needed)
    if out:
        target(out, *given.files)
        refuse_to_replace(out, force=force)
    recommender = _model(given, model, values)
    if isinstance(recommender, GradientModel) and not plan:
        lazy_torch.require(type(recommender).__name__)
    if checkpoint:
        _check_checkpoint(recommender, checkpoint, out, *given.files, settings)
    if given.splitting:
        check_split(given.splitting)
    store = store_of(given.source or "", recommender, given.loading, given.splitting)
    check_options(store, work, cluster)
    data: Any = store or given.data()
    if plan:
        train = make_split(data, given.splitting).train if given.splitting else data
        show_plan(recommender.plan(train) if store is None else corml.plan_store(recommender, store), as_json)
        return
    tell_plan(recommender, store)
    begun = time.perf_counter()
    with _resumable(recommender, checkpoint), client_of(cluster) as client:
        how: dict[str, Any] = {"checkpoint": checkpoint} if checkpoint else {}
        how |= {} if store is None else {"work": work, "cluster": client}
        keeping = partial(kept_if_this_fails, out=out, history=not no_history)
        if given.splitting:
            split = make_split(data, given.splitting)
            recommender, record = _fit_and_measure(recommender, data, split, how, no_refit=no_refit, keeping=keeping)
        else:
            recommender, record = _fit(recommender, data, how), {}
        save_or_keep(recommender, out, history=not no_history, evaluation=record)
    seconds = time.perf_counter() - begun
    if as_json:
        show_json(_facts(recommender, out, record, seconds))
        return
    _report(recommender, out, record, seconds)
    ids, flag = (recommender.items_, "--history") if no_history else (recommender.users_, "--user")
    next_step("recommend", out, flag, str(ids.labels[0]))


def _model(given: Inputs, name: str | None, values: list[str]) -> Recommender:
    named = given.model or "corml"
    chosen = {} if name and name != named else given.settings  # those of another model do not carry over
    return models.make(name or named, {**chosen, **pairs(values)})


def _check_checkpoint(recommender: Recommender, checkpoint: str, out: str | None, *inputs: object) -> None:
    """Refuse a checkpoint that cannot be saved, before the data are read."""
    if not isinstance(recommender, GradientModel):
        raise UsageError(
            f"{recommender.NAME} is not trained in epochs, so it has no checkpoint: leave out --checkpoint."
        )
    target(checkpoint, *inputs)
    if out and os.path.abspath(out) == os.path.abspath(checkpoint):
        raise UsageError("The checkpoint and the model are two files: give --checkpoint and --out different names.")


class Stopped(CormlError):
    """Ctrl-C or SIGTERM during training with a checkpoint."""

    code = "interrupted"
    exit_code = INTERRUPTED


@contextmanager
def _resumable(recommender: Recommender, checkpoint: str | None) -> Iterator[None]:
    """If training is interrupted, name the epoch from which the same command continues."""
    try:
        yield
    except KeyboardInterrupt:
        if not checkpoint or not isinstance(recommender, GradientModel):
            raise
        done, name = epochs_in(checkpoint, recommender.NAME), ascii_line(checkpoint, 200)
        if not done:
            raise Stopped("Stopped before the end of the first epoch: nothing was saved. Run it again.") from None
        raise Stopped(f"Stopped after epoch {done}, saved in {name}. The same command continues from there.") from None


def _fit(recommender: Recommender, data: Any, how: dict[str, Any]) -> Recommender:
    """Fit on everything."""
    with progress() as show:
        fitting = corml.fit_store if isinstance(data, Store) else type(recommender).fit
        fitting(recommender, data, progress=show, **how)
    _tell_training(recommender)
    return recommender


def _fit_and_measure(
    recommender: Recommender,
    data: Interactions,
    split: Split,
    how: dict[str, Any],
    *,
    no_refit: bool,
    keeping: Callable[..., AbstractContextManager[None]],
) -> tuple[Recommender, dict[str, Any]]:
    """Fit on the train set, evaluate, and fit on all data; whether it can be evaluated is checked before long work.

    A model of the train set alone still excludes what is in the other sets. `keeping` saves it if a later step fails.
    """
    task = Task.of(split, "test", split.train.items).checked("test")
    _check_can_evaluate(recommender, split, task)
    tell_judged(len(task), "test", split.targets)
    with progress() as show:
        train = split.train.with_seen(data)
        recommender.fit(train, progress=show, **_validation(recommender, split), **how)
        _tell_training(recommender)
        with keeping(recommender):
            result = corml.evaluate(recommender, split, progress=show)
        if no_refit:
            return recommender, result.record()
        with keeping(recommender, evaluation=result.record()):
            return refit(recommender, data, show), record_with_settings(result, recommender)


def _check_can_evaluate(recommender: Recommender, split: Split, task: Task) -> None:
    learned = split.train.user_degrees[split.train.users.rows(task.users)] > 0
    if isinstance(recommender, EmbeddingModel) and not recommender._folds_in and not learned.all():
        raise UsageError(
            f"{recommender.NAME} has no vector for {np.sum(~learned):,} users of the test set, because they are not "
            "in the train set: choose another split, or a model that scores histories."
        )


def _validation(recommender: Recommender, split: Split) -> dict[str, Interactions]:
    """The sets that early stopping evaluates."""
    held_out = early_stopping(recommender, split)
    if not held_out and isinstance(recommender, GradientModel):
        tell(f"note: no user of the validation set can be scored, so all {recommender.epochs} epochs are run")
    return held_out


def _tell_training(recommender: Recommender) -> None:
    training = recommender.fitted_.training
    if training is not None:
        best = f", best after {training.best_epoch}" if training.best_epoch else ""
        tell(f"note: trained {training.epochs} epochs{best}: {training.stopped}")


def _facts(recommender: Recommender, out: str, record: dict[str, Any], seconds: float) -> dict[str, Any]:
    users, items = recommender.train_.shape
    facts = {"model": recommender.NAME, "file": out, "seconds": round(seconds, 3), "users": users, "items": items}
    if record:
        facts["measured_on"] = f"{record['part']} set, after a fit on the train set"
        facts["fitted_on"] = "all data" if "refit" in record else "train set"
    return {**facts, "fit": recommender.fitted_.report(), "metrics": record.get("metrics", {})}


def _report(recommender: Recommender, out: str, record: dict[str, Any], seconds: float) -> None:
    metrics = record.get("metrics", {})
    for name in ("ndcg@10", "mrr@10", "recall@10", "novelty@10"):
        if name in metrics:
            say(f"{name:>12}  {metrics[name]:.4f}")
    candidates = getattr(recommender.fitted_.plan, "candidates", None)
    if candidates is not None:
        tell(f"note: {candidates:,} candidate pairs per item were used; --set candidates=N changes that")
    if record:
        after = "and then fitted on all data" if "refit" in record else "and written as it was measured"
        tell(f"note: measured on the {record['part']} set after a fit on the train set, {after}")
    users, items = recommender.train_.shape
    wrote(out, f"{recommender.NAME} on {users:,} users x {items:,} items in {seconds:.1f} s")
