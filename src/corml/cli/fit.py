"""corml fit: from a file of interactions to a model file."""

import shlex
import time
from typing import Any

import typer

import corml
from corml import memory, models
from corml.cli._console import progress, say, show_json, tell
from corml.cli._options import pairs, with_loading, with_splitting
from corml.cli._settings_file import read_settings
from corml.cli._work import check_split, load, make_split, over, target
from corml.errors import UsageError
from corml.evaluation import task
from corml.interactions import Interactions
from corml.recommender import Recommender

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
    no_history: bool = typer.Option(False, "--no-history", help="Leave the training users out of the model file."),
    plan: bool = typer.Option(False, "--plan", help="Only say how the fit would go: solver, memory, time."),
    as_json: bool = typer.Option(False, "--json", help="Print the outcome as JSON."),
    loading: dict[str, Any] = {},
    splitting: dict[str, Any] = {},
) -> None:
    """Fit a model and write it as one file.

    Without --split it learns from all interactions. With --split it learns from the train part, is judged on the
    test part, and the file keeps both the figures and how to make that split again. corml models lists all settings.

    \b
    Examples:
      corml fit ratings.csv --at-least 4 --out shop.corml
      corml fit movielens-small --at-least 4 --k-core 5 --split ratio --out movies.corml
      corml fit gowalla --split authors --set rank=256 --set ridge=50 --out gowalla.corml
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
    splitting = over(given["split"], splitting)
    if splitting:
        check_split(splitting)
    data = load(source, loading)
    if plan:
        _show_plan(made.plan(make_split(data, splitting).train if splitting else data), as_json)
        return
    begun = time.perf_counter()
    record = _learn(made, data, splitting)
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


def _learn(made: Recommender, data: Interactions, splitting: dict[str, Any]) -> dict[str, Any]:
    """Fit, and judge if there is a split; whether anybody can be judged is asked before the long work."""
    with progress() as show:
        if not splitting:
            made.fit(data, progress=show)
            return {}
        split = make_split(data, splitting)
        task.make(split, "test", split.train.items)
        made.fit(split.train, progress=show)
        return corml.evaluate(made, split, progress=show).record()


def _facts(made: Recommender, out: str, record: dict[str, Any], seconds: float) -> dict[str, Any]:
    users, items = made.train_.shape
    facts = {"model": made.NAME, "file": out, "seconds": round(seconds, 3), "users": users, "items": items}
    return {**facts, "notes": made.notes_, "metrics": record.get("metrics", {})}


def _report(made: Recommender, out: str, record: dict[str, Any], seconds: float) -> None:
    metrics = record.get("metrics", {})
    for name in ("ndcg@10", "mrr@10", "recall@10", "novelty@10"):
        if name in metrics:
            say(f"{name:>12}  {metrics[name]:.4f}")
    kept = made.notes_.get("plan", {}).get("strongest per item", "all")
    if kept != "all":
        tell(f"note: only the {kept} strongest pairs of each item were used; candidates= changes that")
    users, items = made.train_.shape
    say(f"wrote {out}: {made.NAME} on {users:,} users x {items:,} items in {seconds:.1f} s")


def _somebody(made: Recommender, no_history: bool) -> str:
    ids, option = (made.items_, "--history") if no_history else (made.users_, "--user")
    return f"{option} {shlex.quote(str(ids.labels[0]))}"
