"""corml tune: the settings that are best for some data."""

import os

import typer

import corml
from corml import models
from corml._runtime.settings import build
from corml.cli._console import STDOUT, VERBOSE, next_step, progress, say, show_json, tell, wrote
from corml.cli._files import put, text_target
from corml.cli._inputs import DATA, SETTINGS, Inputs, inputs_of
from corml.cli._judged import judged_in, tell_judged
from corml.cli._options import Given, pairs, with_loading, with_splitting
from corml.cli._work import check_split
from corml.errors import UsageError
from corml.evaluation import metrics
from corml.experiments.store import PLAN
from corml.experiments.tuning import PLOTS, Tuned, lazy_optuna, space_of
from corml.experiments.tuning.settings_text import section
from corml.models.neural.training import lazy_torch
from corml.models.neural.training.gradient_model import GradientModel
from corml.models.recommender import Recommender
from corml.persistence.atomic import writable_folder
from corml.splits import Split

__all__ = ["tune"]

NEEDED = "Say what to tune on: a file, the name of a data set, or source = … under [data]."


@with_loading
@with_splitting
def tune(
    source: str = DATA,
    model: str = typer.Option(None, "--model", metavar="NAME", help="The model to tune (default: corml)."),
    trials: int = typer.Option(30, "--trials", metavar="N", help="Trials in all, the defaults being the first."),
    seconds: float = typer.Option(None, "--seconds", metavar="S", help="Begin no trial after S seconds of trials."),
    processor_seconds: float = typer.Option(
        None, "--processor-seconds", metavar="S", help="Begin no trial after S CPU seconds of all threads."
    ),
    metric: str = typer.Option("ndcg@10", "--metric", "-m", metavar="NAME", help="What to tune for."),
    folds: int = typer.Option(None, "--folds", metavar="K", help="Score by K-fold cross-validation."),
    journal: str = typer.Option(None, "--journal", metavar="FOLDER", help="Keep trials here; the same call resumes."),
    settings: str = SETTINGS,
    out: str = typer.Option(
        None, "--out", "-o", metavar="FILE",
        help="Write the best settings for fit --settings, or the defaults if the gain is within noise; - prints them.",
    ),
    plots: str = typer.Option(None, "--plots", metavar="FOLDER", help="Draw the charts of the search there."),
    search: list[str] = typer.Option(
        [], "--search", metavar="NAME[=RANGE]",
        help="A setting to search, if not all: mix, mix=0.5..0.9 or rank=32,64; may be repeated.",
    ),
    values: list[str] = typer.Option([], "--set", metavar="NAME=VALUE", help="A fixed setting; may be repeated."),
    seed: int = typer.Option(0, "--seed", metavar="N", help="Seed of the search."),
    as_json: bool = typer.Option(False, "--json", help="Print all trials as JSON."),
    loading: Given = {},
    splitting: Given = {},
) -> None:  # fmt: skip
    """Search for the settings that are best for some data.

    Trials are fitted on the train set and scored on the validation set of --split; without a split a fifth of each
    user's items is held out. The test set is never opened. With --journal the search resumes after an interruption, and
    several processes may run the same command at once, sharing the budget. Settings that a settings file has under
    [model] are the same in all trials, except those that --search names.

    \b
    Examples:
      corml tune movielens-small --at-least 4 --k-core 5 --split ratio --seconds 60 --out best.toml
      corml fit --settings best.toml --out movies.corml
      corml tune ratings.csv --model ease --trials 20
      corml tune shop.split --model ease --trials 20
      corml tune --settings fit.toml --search mix --out best.toml
      corml tune gowalla --split authors --trials 50 --folds 5 --journal gowalla.journal --out best.toml
      corml tune ratings.csv --set rank=64 --search mix --search ridge=10..100 --plots charts
    """
    lazy_optuna.require()
    given = inputs_of(source, settings, loading, splitting, needed=NEEDED)
    kind, space = models.get(model or given.model or "corml"), _space(search)
    fixed = _fixed(given, kind, space, values)
    metrics.parse(metric)
    if issubclass(kind, GradientModel):
        lazy_torch.require(kind.__name__)
    if out:
        text_target(out, settings, *given.files)
        section("model", fixed)
    head = _about_data(given) if out else []  # what cannot be written is refused before the search
    if plots:
        writable_folder(plots, *(f"{name}.svg" for name in PLOTS))
    if journal:
        writable_folder(journal, PLAN)
    if given.splitting:
        check_split(given.splitting)
    data = given.data_or_split()
    if isinstance(data, Split) and folds is None:
        tell_judged(judged_in(data, "valid")["users"], "valid", data.targets)
    with progress() as show:
        tuned = corml.tune(
            kind,
            data,
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
    if out != STDOUT:
        show_json(tuned.record()) if as_json else say(str(tuned) if VERBOSE.get() else tuned.brief())
    if out:
        put(out, "\n".join([*head, tuned.toml()]).encode())
    if plots:
        _draw(tuned, plots)
    if not as_json and out != STDOUT:
        _next(tuned, out)


def _next(tuned: Tuned, out: str | None) -> None:
    """What was written, and which command takes it."""
    if out:
        noise = "the defaults, because the gain of the best settings is within noise; --json has all trials"
        wrote(out, noise if tuned.within_noise else "the best settings")
        next_step("fit", "--settings", out, "--out", "model.corml")
    elif tuned.best and not tuned.within_noise:
        tell("note: --out best.toml writes these settings for corml fit --settings")


def _space(texts: list[str]) -> Given | None:
    """NAME or NAME=RANGE; None asks for all that the model declares."""
    given = [text.partition("=") for text in texts]
    for name, equals, where in given:
        if not name.strip() or (equals and not where.strip()):
            raise UsageError(f"'{name}{equals}{where}' is not NAME or NAME=RANGE: write, for example, mix=0.5..0.9.")
    ranges = {name.strip().replace("-", "_"): where.strip() or None for name, _, where in given}
    return ranges or None


def _fixed(given: Inputs, kind: type[Recommender], space: Given | None, values: list[str]) -> Given:
    """Settings that are the same in all trials: those of the settings file, if it is about this model, and --set."""
    same = given.model is not None and models.get(given.model) is kind
    kept = {name: value for name, value in given.settings.items() if name not in (space or {})} if same else {}
    if kept:
        tell(f"note: the same in all trials, from the settings file: {', '.join(kept)}; --search NAME searches one")
    fixed = {**kept, **pairs(values)}
    fixed = {name: getattr(build(kind, fixed), name) for name in fixed}
    if not space_of(kind, space, fixed):
        if space_of(kind, None, {}):
            raise UsageError(f"All settings of {kind.NAME} are fixed: name those to search with --search NAME.")
        tell(f"note: {kind.NAME} has no setting to search, so only its defaults are scored")
    return fixed


def _draw(tuned: Tuned, folder: str) -> None:
    """The charts there are: of a search without settings only its history."""
    os.makedirs(folder, exist_ok=True)
    for name in PLOTS if tuned.searched else PLOTS[:1]:
        tuned.plot(name).save(os.path.join(folder, f"{name}.svg"))
    tell(f"wrote charts to {folder}")


def _about_data(given: Inputs) -> list[str]:
    """What else a fit with the best settings needs: the data, and the split if there is one."""
    data = {**({"source": given.source} if given.source else {}), **given.loading}
    sections = {"data": data, "split": given.splitting}
    return [section(name, values) for name, values in sections.items() if values]
