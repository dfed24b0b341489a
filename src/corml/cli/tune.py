"""corml tune: the settings that are best for some data."""

import os
import shlex
from typing import Any

import typer

import corml
from corml import metrics, models
from corml.cli._console import STDOUT, progress, say, show_json, tell, wrote
from corml.cli._options import pairs, with_loading, with_splitting
from corml.cli._tables import put
from corml.cli._work import check_split, kept_target, load, make_split, text_target
from corml.errors import UsageError
from corml.neural import lazy_torch
from corml.neural.gradient_model import GradientModel
from corml.settings import build
from corml.storage.folders import writable_folder
from corml.tuning import PLOTS, Tuned, lazy_optuna, space_of
from corml.tuning.settings_text import section

__all__ = ["tune"]


@with_loading
@with_splitting
def tune(
    source: str = typer.Argument(..., metavar="DATA", help="A file of interactions, or the name of a data set."),
    model: str = typer.Option("corml", "--model", metavar="NAME", help="The model to tune; corml models lists them."),
    trials: int = typer.Option(30, "--trials", metavar="N", help="Trials in all, the defaults being the first."),
    seconds: float = typer.Option(None, "--seconds", metavar="S", help="Begin no trial after S seconds of trials."),
    processor_seconds: float = typer.Option(
        None, "--processor-seconds", metavar="S", help="Begin no trial after S processor seconds (all threads)."
    ),
    metric: str = typer.Option("ndcg@10", "--metric", "-m", metavar="NAME", help="What to tune for."),
    folds: int = typer.Option(None, "--folds", metavar="K", help="Score by K-fold cross-validation."),
    journal: str = typer.Option(
        None, "--journal", metavar="FILE", help="Keep every trial here; the same command continues from it."
    ),
    out: str = typer.Option(
        None, "--out", "-o", metavar="FILE", help="Write the best settings, for fit --settings; - prints them alone."
    ),
    plots: str = typer.Option(
        None, "--plots", metavar="FOLDER", help="Draw history.svg, importance.svg and slices.svg there."
    ),
    search: list[str] = typer.Option(
        [],
        "--search",
        metavar="NAME[=RANGE]",
        help="A setting to search, if not all: mix, mix=0.5..0.9 or rank=32,64; may be repeated.",
    ),
    values: list[str] = typer.Option(
        [], "--set", metavar="NAME=VALUE", help="A setting that is the same in all trials; may be repeated."
    ),
    seed: int = typer.Option(0, "--seed", metavar="N", help="Seed of the search."),
    as_json: bool = typer.Option(False, "--json", help="Print all trials as JSON."),
    loading: dict[str, Any] = {},
    splitting: dict[str, Any] = {},
) -> None:
    """Search for the settings that are best for some data.

    Trials are fitted on the train part and scored on the valid part of --split; without a split a fifth of each
    user's items is held out. The test part is never opened. With --journal the search continues after an interruption,
    and several processes may run the same command at once, sharing the budget.

    \b
    Examples:
      corml tune movielens-small --at-least 4 --k-core 5 --split ratio --seconds 60 --out best.toml
      corml fit --settings best.toml --out movies.corml
      corml tune ratings.csv --model ease --trials 20
      corml tune gowalla --split authors --trials 50 --folds 5 --journal gowalla.journal --out best.toml
      corml tune ratings.csv --set rank=64 --search mix --search ridge=10..100 --plots charts
    """
    lazy_optuna.require()
    kind, fixed, space = models.get(model), pairs(values), _space(search)
    build(kind, fixed)
    if not space_of(kind, space, fixed):
        tell(f"note: {kind.NAME} has no setting to search, so only its defaults are scored")
    metrics.parse(metric)
    if issubclass(kind, GradientModel):
        lazy_torch.require(kind.__name__)
    if out:
        text_target(out, source, loading.get("titles"), loading.get("items"))
    if plots:
        writable_folder(plots)
    if journal:
        kept_target(journal, source, loading.get("titles"), loading.get("items"))
    if splitting:
        check_split(splitting)
    data = load(source, loading)
    with progress() as show:
        tuned = corml.tune(
            kind,
            make_split(data, splitting) if splitting else data,
            metric=metric,
            trials=trials,
            seconds=seconds,
            processor_seconds=processor_seconds,
            seed=seed,
            folds=folds,
            journal=journal,
            space=space,
            settings=fixed,
            progress=show,
        )
    if plots:
        _draw(tuned, plots)
    if out:
        put(out, _settings_file(tuned, {"source": source, **loading}, splitting).encode())
        if out == STDOUT:
            return
    if as_json:
        show_json(tuned.record())
        return
    say(str(tuned))
    if out:
        wrote(out, "the best settings")
        tell(f"next: corml fit --settings {shlex.quote(out)} --out model.corml")


def _space(texts: list[str]) -> dict[str, Any] | None:
    """NAME or NAME=RANGE; None asks for all that the model declares."""
    given = [text.partition("=") for text in texts]
    for name, equals, place in given:
        if not name.strip() or (equals and not place.strip()):
            raise UsageError(f"'{name}{equals}{place}' is not NAME or NAME=RANGE: write, for example, mix=0.5..0.9.")
    ranges = {name.strip().replace("-", "_"): place.strip() or None for name, _, place in given}
    return ranges or None


def _draw(tuned: Tuned, folder: str) -> None:
    """The charts there are: of a search without settings only its history."""
    os.makedirs(folder, exist_ok=True)
    for name in PLOTS if tuned.searched else ("history",):
        tuned.plot(name).save(os.path.join(folder, f"{name}.svg"))
    tell(f"wrote charts to {folder}")


def _settings_file(tuned: Tuned, data: dict[str, Any], splitting: dict[str, Any]) -> str:
    """Everything that a fit with these settings needs: the data, the split if there is one, and the model."""
    parts = [section("data", data), *([section("split", splitting)] if splitting else []), tuned.toml()]
    return "\n".join(parts)
