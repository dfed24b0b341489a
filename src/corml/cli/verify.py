"""corml verify: can the metrics of a model file be reproduced?"""

import typer

import corml
from corml.cli._console import VERBOSE, progress, say, show_json, show_table, tell
from corml.cli._options import Given, with_loading
from corml.cli._refit import fit_measured_again, is_refitted
from corml.cli._work import fit_with_a_split, recorded_data_and_split
from corml.data.interactions import Interactions
from corml.errors import DataError, ModelFileError, UsageError, ascii_line
from corml.models.recommender import Recommender
from corml.persistence import container
from corml.splits import Split

__all__ = ["verify"]

TOLERANCE = 1e-6  # figures are means of float32 rankings: on the same machine they are equal

Checks = list[tuple[str, str, str]]
Figures = list[tuple[str, float, float, float]]


@with_loading
def verify(
    model: str = typer.Argument(..., metavar="MODEL", help="A model file that was fitted with --split."),
    source: str = typer.Argument(None, metavar="DATA", help="The data, if they have moved."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    loading: Given = {},
) -> None:
    """Evaluate a model again and compare with its recorded metrics.

    Compares hashes of data and split first, then every metric. For a model that was fitted on all data after it was
    measured, the measured fit on the train set is repeated. Loading options that are not given are as recorded.
    The exit code is 3 if the data or the split differ, 5 if they are the same and a metric differs.

    \b
    Examples:
      corml verify movies.corml
      corml verify movies.corml moved/ratings.csv
    """
    loaded = corml.read_model(model)
    recorded = loaded.fitted_.evaluation
    if not recorded.get("metrics"):
        raise UsageError(f"{ascii_line(model, 200)} has no metrics to verify: {_why_none(loaded)}.")
    data, split = recorded_data_and_split(loaded, model, source, loading, {})
    refitted = is_refitted(loaded.fitted_)
    checks = [
        ("data", loaded.fitted_.fingerprint, _fitted_on(loaded, data, split, refitted)),
        ("split", str(recorded.get("split")), split.fingerprint),
    ]
    checks += _added(loaded, model)
    part, names = recorded.get("part", "test"), list(recorded["metrics"])
    with progress() as show:
        if refitted:
            loaded = fit_measured_again(loaded, split, show)
        again = corml.evaluate(loaded, split, names, part=part, progress=show, intervals=False)
    figures = [(name, value, again[name], abs(value - again[name])) for name, value in recorded["metrics"].items()]
    _show(checks, figures, as_json)
    _conclude(ascii_line(model, 200), checks, figures)
    if not as_json:
        say(f"verified: the data, the split and every metric are the same ({len(figures):,} metrics)")


def _why_none(model: Recommender) -> str:
    """Why a model file has no metrics; a refit without updates leaves no trace in the file."""
    source = model.fitted_.source
    if not source.get("updates"):
        return "it was fitted without --split, or again with corml update --refit, which drops the metrics"
    return (
        "it was fitted again with corml update --refit, which drops the metrics of the earlier fit. To measure, fit "
        f"all files together with a split: {fit_with_a_split(source)}"
    )


def _added(model: Recommender, path: str) -> Checks:
    """Updates after the fit change no metric; the updated histories are compared with their recorded hash."""
    added = model.fitted_.added
    if added is None:
        return []
    since = f"(updates: {len(added.records):,})"
    tell(f"note: the metrics are those of the fit, before later updates {since}")
    recorded = container.read(path).meta["now"].get("fingerprint")
    return [("histories now", str(recorded), added.data.fingerprint)]


def _fitted_on(model: Recommender, data: Interactions, split: Split, refitted: bool) -> str:
    """The hash of the data the model was fitted on: the train set, or all data, whose order a split file may change."""
    if not refitted:
        return split.train.fingerprint
    whole = split.whole().fingerprint
    return whole if whole == model.fitted_.fingerprint else data.fingerprint


def _show(checks: Checks, figures: Figures, as_json: bool) -> None:
    if as_json:
        differs = [*_other_data(checks), *_other_figures(figures)]
        show_json({"same": not differs, "differs": differs, "metrics": {name: now for name, _, now, _ in figures}})
        return
    if not VERBOSE.get() and not [*_other_data(checks), *_other_figures(figures)]:
        return
    show_table(["check", "recorded", "now", "same"], ((n, a[:16], b[:16], a == b) for n, a, b in checks))
    show_table(["metric", "recorded", "now", "difference"], figures)


def _conclude(model: str, checks: Checks, figures: Figures) -> None:
    hashes, values = _other_data(checks), _other_figures(figures)
    if hashes:
        raise DataError(
            f"{model} does not verify: {' and '.join(hashes)} differ from what it recorded. Name the data it was "
            "fitted on, in their order of rows, or fit again."
        )
    if values:
        raise ModelFileError(f"{model} does not verify: {', '.join(values)} differ from what it recorded. Fit again.")


def _other_data(checks: Checks) -> list[str]:
    return [name for name, was, now in checks if was != now]


def _other_figures(figures: Figures) -> list[str]:
    return [name for name, *_, gap in figures if not gap <= TOLERANCE]
