"""corml reproduce: the paper's table and figures, an ablation and public leaderboards, against ours."""

from pathlib import Path

import typer

from corml._runtime.values import no_such
from corml.cli._console import command_line, progress, say, show_json, tell
from corml.cli._files import hold
from corml.errors import DataError, StudyError, printable
from corml.experiments.reproduce import EXPERIMENTS, Outcome
from corml.experiments.reproduce import reproduce as run_experiment
from corml.experiments.reproduce.outcome import ENDINGS
from corml.persistence.atomic import writable_folder

__all__ = ["reproduce"]

ALL = "all"
RUNS = "runs"


def reproduce(
    name: str = typer.Argument(metavar="EXPERIMENT", help=f"One of {', '.join(EXPERIMENTS)}; or {ALL}."),
    data: str = typer.Option(None, "--data", metavar="NAMES", help="Data sets, with commas between them."),
    models: str = typer.Option(None, "--models", metavar="NAMES", help="Models; corml is all its rows."),
    out: str = typer.Option(
        None, "--out", "-o", metavar="FOLDER",
        help="Folder for tables, charts and every run; the same command resumes. [default: corml-reproduce]",
    ),
    quick: bool = typer.Option(False, "--quick", help="Everything small, on the bundled sample."),
    published: str = typer.Option(None, "--published", metavar="FILE", help="Another file of published figures."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:  # fmt: skip
    """Run the paper's table and figures, and public leaderboards.

    Shows published figures next to ours with the difference and a verdict, and writes tables, figures as CSV and JSON,
    and charts. Data are read from the folder CORML_DATA; those that are missing are named. If a model fails, the
    others finish, and the exit code is 6.

    \b
    Examples:
      corml reproduce all --quick
      corml reproduce table --data gowalla --models corml,ease
      corml reproduce novelty --out figures
      corml reproduce leaderboard --data yelp2018 --json
    """
    if name != ALL and name not in EXPERIMENTS:
        raise no_such("experiment", name, (*EXPERIMENTS, ALL))
    folder = Path(out or ("corml-reproduce-quick" if quick else "corml-reproduce"))
    chosen = EXPERIMENTS if name == ALL else [name]
    writable_folder(folder, *(f"{one}.{ending}" for one in chosen for ending in ENDINGS))
    hold(folder, folder=True)
    outcomes: list[Outcome] = []
    absent: list[str] = []
    for one in chosen:
        try:
            outcome = _run(one, folder, data=data, models=models, quick=quick, published=published)
        except DataError as fault:
            if name != ALL:
                raise
            absent.append(f"{one}: {fault}")  # the others may have their data
            continue
        outcomes.append(outcome)
        if not as_json:
            say(outcome.to_text())
        tell(f"wrote {', '.join(outcome.write(folder))} to {folder}")
    if as_json:
        show_json([outcome.record() for outcome in outcomes] if name == ALL else outcomes[0].record())
    _finish(outcomes, absent)


def _run(
    name: str, folder: Path, *, data: str | None, models: str | None, quick: bool, published: str | None
) -> Outcome:
    with progress() as show:
        return run_experiment(
            name,
            data=_names(data),
            models=_names(models),
            folder=folder / RUNS,
            quick=quick,
            published=published,
            command=command_line(),
            progress=show,
            notify=tell,
        )


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name for name in text.split(",") if name.strip()]


def _finish(outcomes: list[Outcome], absent: list[str]) -> None:
    """Report what was left out, and end with a code of its own if anything failed."""
    for line in absent:
        tell(f"not run: {line}")
    if not outcomes:
        raise DataError("Nothing was run: see above which data are needed, or try --quick.")
    failed = [line for outcome in outcomes for line in outcome.failed]
    if failed:
        raise StudyError(f"{len(failed)} fits failed, the others are finished; {printable(failed[0])}")
