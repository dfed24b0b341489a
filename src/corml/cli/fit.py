"""corml fit: from a file of interactions to a model file."""

import os
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import typer

import corml
from corml import memory, models
from corml.cli._console import progress, say, show_json, tell
from corml.cli._options import pairs, with_loading, with_splitting
from corml.cli._settings_file import read_settings
from corml.cli._work import check_split, load, make_split, over, target
from corml.errors import INTERRUPTED, CormlError, UsageError, ascii_line
from corml.evaluation import task
from corml.fitted import Fitted
from corml.interactions import Interactions
from corml.neural import lazy_torch
from corml.neural.checkpoint import epochs_in
from corml.neural.embedding_model import EmbeddingModel
from corml.neural.gradient_model import GradientModel
from corml.recommender import Recommender
from corml.splits import Split
from corml.storage.facts import to_plain

__all__ = ["fit"]


@with_loading
@with_splitting
def fit(
    source: str = typer.Argument(None, metavar="DATA", help="A file of interactions, or the name of a data set."),
    out: str = typer.Option(None, "--out", "-o", metavar="FILE", help="The model file to write."),
    model: str = typer.Option(None, "--model", metavar="NAME", help="Which model (default: corml)."),
    values: list[str] = typer.Option(
        [], "--set", metavar="NAME=VALUE", help="A setting of the model, e.g. mix=0.8; may be repeated."
    ),
    settings: str = typer.Option(
        None, "--settings", metavar="FILE", help="A TOML file with [data], [split] and [model]; flags win."
    ),
    checkpoint: str = typer.Option(
        None,
        "--checkpoint",
        metavar="FILE",
        help="Keep the place in training here after each epoch; the same command goes on from it.",
    ),
    no_history: bool = typer.Option(False, "--no-history", help="Leave the training users out of the model file."),
    plan: bool = typer.Option(False, "--plan", help="Only say how the fit would go: solver, memory, time."),
    as_json: bool = typer.Option(False, "--json", help="Print the outcome as JSON."),
    loading: dict[str, Any] = {},
    splitting: dict[str, Any] = {},
) -> None:
    """Fit a model and write it as one file.

    Without --split it learns from all interactions. With --split it learns from the train part, is judged on the
    test part, and the file keeps both the figures and how to make that split again. A model that learns step by step
    stops when it gains no more on the valid part. corml models lists all settings.

    \b
    Examples:
      corml fit ratings.csv --at-least 4 --out shop.corml
      corml fit movielens-small --at-least 4 --k-core 5 --split ratio --out movies.corml
      corml fit gowalla --split authors --set rank=256 --set ridge=50 --out gowalla.corml
      corml fit gowalla --split authors --model lightgcn --checkpoint place.corml --out gowalla.corml
      corml fit --settings fit.toml --out shop.corml
      corml fit ratings.csv --plan
    """
    if not plan and not out:
        raise UsageError("Say where to write the model: --out FILE (or --plan to see only how the fit would go).")
    if out:
        target(out, settings)
    given = read_settings(settings)
    loading = {**given["data"], **loading}
    source = str(source or loading.get("source", ""))
    loading.pop("source", None)
    if not source:
        raise UsageError("Say what to learn from: a file, the name of a data set, or source = … under [data].")
    if out:
        target(out, source, loading.get("titles"))
    made = _model(given["model"], model, values)
    if isinstance(made, GradientModel) and not plan:
        lazy_torch.require(type(made).__name__)
    if checkpoint:
        _check_place(made, checkpoint, out, source, loading.get("titles"), settings)
    splitting = over(given["split"], splitting)
    if splitting:
        check_split(splitting)
    data = load(source, loading)
    if plan:
        _show_plan(made.plan(make_split(data, splitting).train if splitting else data).report(), as_json)
        return
    begun = time.perf_counter()
    with _keeping(made, checkpoint):
        record = _learn(made, data, splitting, {"checkpoint": checkpoint} if checkpoint else {})
        made.save(out, history=not no_history, evaluation=record)
    seconds = time.perf_counter() - begun
    if as_json:
        show_json(_facts(made, out, record, seconds))
        return
    _report(made, out, record, seconds)
    tell(f"next: corml recommend {shlex.quote(out)} {_somebody(made, no_history)}")


def _show_plan(plan: dict[str, Any], as_json: bool) -> None:
    if as_json:
        show_json(plan)
        return
    for name, value in plan.items():
        say(f"{name:>20}  {memory.size(value) if name == 'predicted bytes' else value}")


def _model(section: dict[str, Any], name: str | None, values: list[str]) -> Recommender:
    chosen = dict(section)
    kept = str(chosen.pop("name", "corml"))
    if name and name != kept:  # settings of another model do not carry over
        chosen = {}
    return models.make(name or kept, {**chosen, **pairs(values)})


def _check_place(made: Recommender, checkpoint: str, out: str | None, *inputs: object) -> None:
    """Refuse a checkpoint that cannot be kept, before the data are read."""
    if not isinstance(made, GradientModel):
        raise UsageError(f"{made.NAME} is not learned in epochs, so it has no checkpoint: leave out --checkpoint.")
    target(checkpoint, *inputs)
    if out and os.path.abspath(out) == os.path.abspath(checkpoint):
        raise UsageError("The checkpoint and the model are two files: give --checkpoint and --out different names.")


class Stopped(CormlError):
    """Ctrl-C or SIGTERM, where a checkpoint makes it worth saying more."""

    code = "interrupted"
    exit_code = INTERRUPTED


@contextmanager
def _keeping(made: Recommender, checkpoint: str | None) -> Iterator[None]:
    """Say, if the work is stopped, where it will go on."""
    try:
        yield
    except KeyboardInterrupt:
        if not checkpoint or not isinstance(made, GradientModel):
            raise
        done, name = epochs_in(checkpoint, made.NAME), ascii_line(checkpoint, 200)
        if not done:
            raise Stopped("Stopped before the end of the first epoch: nothing was kept. Run it again.") from None
        raise Stopped(f"Stopped after epoch {done}, which {name} keeps. The same command goes on from there.") from None


def _learn(made: Recommender, data: Interactions, splitting: dict[str, Any], keeping: dict[str, Any]) -> dict[str, Any]:
    """Fit, and judge if there is a split; whether anybody can be judged is asked before the long work."""
    with progress() as show:
        if not splitting:
            made.fit(data, progress=show, **keeping)
            return {}
        split = make_split(data, splitting)
        _check_can_judge(made, task.make(split, "test", split.train.items))
        made.fit(split.train, progress=show, **_to_stop_by(made, split), **keeping)
        return corml.evaluate(made, split, progress=show).record()


def _check_can_judge(made: Recommender, job: task.Task) -> None:
    learned = job.split.train.user_degrees[job.split.train.users.rows(job.users)] > 0
    if isinstance(made, EmbeddingModel) and not made.folds_in and not learned.all():
        raise UsageError(
            f"{made.NAME} has no vector for {np.sum(~learned):,} users this split asks for, because it does not learn "
            "from them: choose another split, or a model that scores histories."
        )


def _to_stop_by(made: Recommender, split: Split) -> dict[str, Interactions]:
    """What training looks at to stop: the valid part, if the model can score its users."""
    told = split.valid_history if isinstance(made, GradientModel) and made.folds_in else None
    known = split.train if told is None else told
    if (known.user_degrees[split.valid.user] > 0).any():
        return {"valid": split.valid} | ({} if told is None else {"valid_history": told})
    if isinstance(made, GradientModel):
        tell(f"note: nobody of the valid part can be scored, so all {made.epochs} epochs are learned")
    return {}


def _facts(made: Recommender, out: str, record: dict[str, Any], seconds: float) -> dict[str, Any]:
    users, items = made.train_.shape
    facts = {"model": made.NAME, "file": out, "seconds": round(seconds, 3), "users": users, "items": items}
    return {**facts, "notes": _notes(made.fitted_), "metrics": record.get("metrics", {})}


def _notes(state: Fitted) -> dict[str, Any]:
    notes = {"plan": state.plan, "certificates": state.certificates or None, "training": state.training}
    return {name: to_plain(value, skip=("trace",)) for name, value in notes.items() if value is not None}


def _report(made: Recommender, out: str, record: dict[str, Any], seconds: float) -> None:
    metrics = record.get("metrics", {})
    for name in ("ndcg@10", "mrr@10", "recall@10", "novelty@10"):
        if name in metrics:
            say(f"{name:>12}  {metrics[name]:.4f}")
    kept = getattr(made.fitted_.plan, "candidates", None)
    if kept is not None:
        tell(f"note: only the {kept} strongest pairs of each item were used; candidates= changes that")
    training = made.fitted_.training
    if training is not None:
        best = f", best after {training.best_epoch}" if training.best_epoch else ""
        tell(f"note: learned {training.epochs} epochs{best}: {training.stopped}")
    users, items = made.train_.shape
    say(f"wrote {out}: {made.NAME} on {users:,} users x {items:,} items in {seconds:.1f} s")


def _somebody(made: Recommender, no_history: bool) -> str:
    ids, option = (made.items_, "--history") if no_history else (made.users_, "--user")
    return f"{option} {shlex.quote(str(ids.labels[0]))}"
