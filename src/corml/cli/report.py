"""corml report: one page about a model or a study that anybody can read."""

import os

import typer

import corml
from corml.cli import _reporting as reporting
from corml.cli._console import STDOUT, progress, tell
from corml.cli._files import put, text_target
from corml.cli._options import TEST, TRAIN, VALID, Given, with_loading, with_splitting
from corml.cli._refit import measurable
from corml.cli._work import joined_split, recorded_data_and_split
from corml.data.interactions import Interactions
from corml.errors import UsageError, ascii_line
from corml.models.recommender import Recommender
from corml.report import Cost, build_page, render
from corml.splits import Split

__all__ = ["report"]

BASELINE = "popularity"


@with_loading
@with_splitting
def report(
    model: str = typer.Argument(..., metavar="MODEL", help="A model file, or the folder of a study."),
    source: str = typer.Argument(None, metavar="DATA", help="The data to split (default: as recorded)."),
    out: str = typer.Option("report.html", "--out", "-o", metavar="FILE", help="The page to write; - prints it."),
    against: list[str] = typer.Option(
        [], "--against", metavar="FILE", help="Another model file to compare with; may be repeated."
    ),
    dial: bool = typer.Option(False, "--dial", help="Fit a novelty dial too, and draw its curve."),
    name: str = typer.Option(None, "--name", metavar="TEXT", help="What to call the data (default: its source)."),
    part: str = typer.Option("test", metavar="PART", help="Set to evaluate on: test or valid."),
    train: str = TRAIN,
    valid: str = VALID,
    test: str = TEST,
    loading: Given = {},
    splitting: Given = {},
) -> None:
    """Write a page about a model or a study that anybody can read.

    One HTML file with charts: which model is best and whether that could be chance, accuracy against novelty,
    popularity bias, groups of users, time and memory, example lists, and how to reproduce it. A model is always
    compared with popularity. Data, loading options and split are as recorded in the model file, unless given. For a
    study, a folder that corml compare wrote, nothing is fitted again.

    \b
    Examples:
      corml report movies.corml
      corml report movies.corml --against ease.corml --dial --out movies.html
      corml report shop.corml moved/ratings.csv --name "Our shop"
      corml report study --out study.html
    """
    text_target(out, model, source, train, valid, test, *against)
    if part not in ("test", "valid"):
        raise UsageError(f"--part must be test or valid; got {ascii_line(part)}.")
    files = (train, valid, test)
    if any(files) and (source or splitting):
        raise UsageError("Give either a precomputed split (--train, --test) or data to split, not both.")
    if os.path.isdir(model):
        if against or dial or any(files) or splitting or part != "test":
            raise UsageError("For a study folder only DATA, --out and --name are accepted.")
        subject = reporting.study_subject(model, source, name, loading)
    else:
        models, paths = _read(model, against)
        data, split = _parts(model, next(iter(models.values())), source, files, loading, splitting)
        with progress() as show:
            models = {called: measurable(one, split, show) for called, one in models.items()}
            _add_baseline(models, split)
            evaluated = reporting.evaluated(models, split, part, show)
            curve = reporting.curve_of(next(iter(models.values())), split, part, show, fit=dial)
        costs = {called: _cost(one, paths.get(called)) for called, one in models.items()}
        shown = name or os.path.basename(str(data.source.get("from") or source or train or model))
        subject = reporting.subject(shown, data, split, evaluated, part=part, dial=curve, costs=costs)
    put(out, render(build_page(subject)).encode())
    if out != STDOUT:
        tell(f"wrote {out}: open it in a browser")


def _parts(
    path: str,
    model: Recommender,
    source: str | None,
    files: tuple[str | None, str | None, str | None],
    loading: Given,
    splitting: Given,
) -> tuple[Interactions, Split]:
    """The data and their split: from files of its parts, or as the model file recorded it."""
    if any(files):
        split = joined_split(*files, loading)
        return split.whole(), split
    return recorded_data_and_split(model, path, source, loading, splitting)


def _read(model: str, against: list[str]) -> tuple[dict[str, Recommender], dict[str, str]]:
    """Models by name, and their files; models of one kind are told apart by their files."""
    paths = [model, *against]
    loaded = [corml.read_model(path) for path in paths]
    kinds = [one.NAME for one in loaded]
    models: dict[str, Recommender] = {}
    files: dict[str, str] = {}
    for path, one in zip(paths, loaded, strict=True):
        name = one.NAME if kinds.count(one.NAME) == 1 else f"{one.NAME} ({os.path.basename(path)})"
        if name in models:
            raise UsageError(f"{ascii_line(path, 200)} is given twice, or has the name of another: rename one of them.")
        models[name], files[name] = one, path
    return models, files


def _add_baseline(models: dict[str, Recommender], split: Split) -> None:
    """Popularity, unless it is there already: the least that a model has to beat."""
    if all(one.NAME != BASELINE for one in models.values()):
        models[BASELINE] = corml.Popularity().fit(split.train)


def _cost(model: Recommender, path: str | None) -> Cost:
    """The cost of a model, as far as its file records it; only models that learn in epochs keep their time."""
    state = model.fitted_
    return Cost(
        fit_seconds=None if state.training is None else state.training.seconds,
        list_seconds=reporting.list_seconds(model),
        peak_bytes=getattr(state.plan, "predicted_bytes", None) or None,
        file_bytes=os.path.getsize(path) if path else None,
    )
