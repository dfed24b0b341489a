"""corml fit: from a file of interactions to a model file."""

import time
from typing import Any

import typer

import corml
from corml import files, models
from corml.cli._console import progress, say, show_json, tell
from corml.cli._options import pairs, with_loading, with_splitting
from corml.cli._settings_file import read_settings
from corml.cli._work import load, make_split
from corml.errors import UsageError
from corml.recommender import Recommender

__all__ = ["fit"]


@with_loading
@with_splitting
def fit(
    source: str = typer.Argument(None, help="A file of interactions, or the name of a known data set."),
    out: str = typer.Option(..., "--out", "-o", help="The model file to write."),
    model: str = typer.Option(None, "--model", help="Which model (default: corml)."),
    values: list[str] = typer.Option([], "--set", metavar="NAME=VALUE", help="A setting of the model, e.g. mix=0.8."),
    settings: str = typer.Option(None, "--settings", help="A TOML file with [data], [split] and [model]."),
    no_history: bool = typer.Option(False, "--no-history", help="Leave the training users out of the model file."),
    as_json: bool = typer.Option(False, "--json", help="Print the outcome as JSON."),
    loading: dict[str, Any] = {},
    splitting: dict[str, Any] = {},
) -> None:
    """Fit a model and write it as one file.

    Without --split it learns from all interactions. With --split it learns from the train part, is judged on the
    test part, and the file keeps both the figures and how to make that split again.

    \b
    corml fit ratings.csv --at-least 4 --out shop.corml
    corml fit movielens-small --at-least 4 --k-core 5 --split ratio --out movies.corml
    corml fit gowalla --split authors --set rank=256 --set ridge=50 --out gowalla.corml
    """
    files.target(out)
    given = read_settings(settings)
    loading = {**given["data"], **loading}
    source = source or loading.get("source", "")
    loading.pop("source", None)
    if not source:
        raise UsageError("Say what to learn from: a file, the name of a data set, or source = … under [data].")
    made = _model(given["model"], model, values)
    splitting = {**given["split"], **splitting} if not splitting.get("how") else splitting
    data = load(source, loading)
    begun = time.perf_counter()
    record: dict[str, Any] = {}
    with progress() as show:
        if splitting:
            split = make_split(data, splitting)
            made.fit(split.train, progress=show)
            record = corml.evaluate(made, split, progress=show).record()
        else:
            made.fit(data, progress=show)
    made.save(out, history=not no_history, evaluation=record)
    seconds = time.perf_counter() - begun
    _report(made, out, record, seconds, as_json)


def _model(section: dict[str, Any], name: str | None, values: list[str]) -> Recommender:
    chosen = dict(section)
    name = name or chosen.pop("name", "corml")
    chosen.pop("name", None)
    return models.make(name, {**chosen, **pairs(values)})


def _report(made: Recommender, out: str, record: dict[str, Any], seconds: float, as_json: bool) -> None:
    metrics = record.get("metrics", {})
    if as_json:
        users, items = made.train_.shape
        facts = {"model": made.NAME, "file": out, "seconds": round(seconds, 3), "users": users, "items": items}
        show_json({**facts, "notes": made.notes_, "metrics": metrics})
        return
    for name in ("ndcg@10", "mrr@10", "recall@10", "novelty@10"):
        if name in metrics:
            say(f"{name:>12}  {metrics[name]:.4f}")
    users, items = made.train_.shape
    say(f"wrote {out}: {made.NAME} on {users:,} users x {items:,} items in {seconds:.1f} s")
    tell(f"next: corml recommend {out} --user {made.users_.labels[0]}" if len(made.users_) else "")
