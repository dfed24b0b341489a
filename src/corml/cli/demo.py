"""corml demo: the whole workflow on the bundled sample, in about a minute."""

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

import corml
from corml import data as datasets
from corml import models
from corml.cli import _reporting as reporting
from corml.cli._console import progress, say, show_table
from corml.cli._refit import record_with_settings, refit
from corml.data.interactions import Interactions
from corml.errors import DataError, ascii_line
from corml.models.recommender import Recommender
from corml.persistence.atomic import writable_folder
from corml.report import Cost, build_page, comparison, sample_users, write_report
from corml.splits import Split

__all__ = ["demo"]

COMPARED = ("corml", "popularity")
METRICS = ("ndcg@10", "mrr@10", "recall@10", "novelty@10", "coverage@10")

MODEL, REPORT = "movies.corml", "report.html"


def demo(
    out: str = typer.Option("corml-demo", "--out", "-o", metavar="FOLDER", help="Folder for the report and the model."),
) -> None:
    """Run the whole workflow on a bundled sample: start here.

    Loads a MovieLens sample, checks and splits it, fits CoRML, compares it with a baseline, shows recommendations
    with explanations, and writes a report and a model file.

    \b
    Examples:
      corml demo
      corml demo --out my-demo
    """
    folder = _folder(out)
    data = corml.load("movielens-small", at_least=4, k_core=5)
    doctor = datasets.examine(data)
    _heading("1. The data: MovieLens sample, ratings of 4 and more, 5-core")
    say(f"{data.shape[0]:,} users, {data.shape[1]:,} movies, {len(data):,} interactions")
    for finding in doctor.findings:
        say(f"{finding.severity}: {finding.what}; {finding.advice}")
    split = corml.split(data, "ratio", seed=2026)
    _heading("2. Split 60/20/20 per user, fit, and evaluate on the test set")
    evaluated, seconds = _evaluate(split)
    say(
        comparison({name: result for name, (_, result) in evaluated.items()}, metrics=list(METRICS)).text()
        + "\n* most accurate"
    )
    say("\n" + "  ".join(f"{name} fitted in {spent:.1f} s" for name, spent in seconds.items()))
    _heading("3. Fit on all the data: recommendations, and why")
    model, result = evaluated["corml"]
    users = sample_users(split.train, split.test)
    served = refit(model, data)  # fitted on everything, and nothing of it is recommended
    _show_lists(served, users, data)
    served.save(str(folder / MODEL), evaluation=record_with_settings(result, model))
    with progress() as show:
        curve = reporting.curve_of(model, split, "test", show, fit=True)
    costs = {name: _cost(one, seconds[name]) for name, (one, _) in evaluated.items()}
    costs["corml"] = replace(costs["corml"], file_bytes=(folder / MODEL).stat().st_size)
    subject = reporting.subject("MovieLens sample", data, split, evaluated, dial=curve, costs=costs)
    write_report(folder / REPORT, build_page(subject))
    _next_steps(folder, users[0])


def _folder(out: str) -> Path:
    folder = writable_folder(out, MODEL, REPORT)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise DataError(f"Cannot make the folder {ascii_line(out, 200)}: {fault.strerror}.") from None
    return folder


def _evaluate(split: Split) -> tuple[reporting.Evaluated, dict[str, float]]:
    evaluated: reporting.Evaluated = {}
    seconds = {}
    with progress() as show:
        _warm_up()
        for name in COMPARED:
            begun = time.perf_counter()
            model = models.make(name).fit(split.train, progress=show)
            seconds[name] = time.perf_counter() - begun
            evaluated |= reporting.evaluated({name: model}, split, "test", show)
    return evaluated, seconds


def _cost(model: Recommender, seconds: float) -> Cost:
    peak = getattr(model.fitted_.plan, "predicted_bytes", None)
    return Cost(fit_seconds=seconds, list_seconds=reporting.list_seconds(model), peak_bytes=peak or None)


def _warm_up() -> None:
    """Compile the kernels on a tiny sample, so that the times shown do not include it."""
    tiny = Interactions.from_pairs(list("aabbc"), list("xyxzz"))
    corml.CoRML(rank=1, solver="sparse").fit(tiny).recommend(["a"], k=1)


def _show_lists(model: Recommender, users: list[str], train: Interactions) -> None:
    for user in users:
        recommended = model.recommend([user], k=5)
        rows: list[list[Any]] = []
        for row in recommended.rows():
            because = [train.title(why["item"]) for why in model.explain(user, row["item"]).rows()[:2]]
            rows.append([row["rank"], row["title"], row["score"], "; ".join(because)])
        show_table(["", f"for user {user}", "score", "mostly because of"], rows)


def _heading(text: str) -> None:
    say(f"\n{text}\n{'─' * len(text)}")


def _next_steps(folder: Path, user: str) -> None:
    _heading("4. Files")
    model = os.path.join(folder, MODEL)
    say(f"{folder / REPORT}   open it in a browser")
    say(f"{model}   a model file; try:")
    say(f"    corml recommend {model} --user {user}")
    say(f"    corml recommend {model} --history 318,858 -k 5")
    say(f"    corml inspect {model}")
    say("\nTry it in the browser with histories of your own:")
    say(f"    corml studio {model}")
