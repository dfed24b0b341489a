"""corml compare: several models on the same split, and who is better."""

from pathlib import Path

import typer

import corml
from corml._runtime.values import no_such
from corml.cli import _reporting as reporting
from corml.cli._console import VERBOSE, command_line, progress, say, tell
from corml.cli._files import hold
from corml.cli._inputs import DATA, SETTINGS, Inputs, inputs_of
from corml.cli._judged import judged_in, tell_judged
from corml.cli._options import TEST, TRAIN, VALID, Given, with_loading, with_splitting
from corml.cli._work import check_split, joined_split, judging, make_split, over, split_file
from corml.errors import StudyError, UsageError, ascii_line, printable
from corml.experiments.candidates import candidates
from corml.experiments.plan import METRICS, Design, DesignOptions
from corml.experiments.store import PLAN
from corml.experiments.study import ENDINGS, FORMATS
from corml.models import make
from corml.models.recommender import Recommender
from corml.persistence.atomic import writable_folder
from corml.splits import Split
from corml.splits import options as split_options

__all__ = ["compare"]

PAGE = "report.html"
FILES = {one: f"{'results' if one in ('.csv', '.json') else 'tables'}{one}" for one in ENDINGS}


@with_loading
@with_splitting
def compare(
    source: str = DATA,
    models: list[str] = typer.Option(
        ["corml,ease,item-knn,popularity"], "--models", metavar="NAMES",
        help="Models with commas between them, settings after colons: corml,ease:l2=500; may be repeated.",
    ),
    lists: list[str] = typer.Option(
        [], "--lists", metavar="LABEL=FILE",
        help="Lists of another program: CSV, TSV, Parquet or a TREC run; may be repeated.",
    ),
    train: str = TRAIN,
    valid: str = VALID,
    test: str = TEST,
    metrics: str = typer.Option(",".join(METRICS), "--metrics", "-m", metavar="NAMES", help="Metrics to compute."),
    primary: str = typer.Option("ndcg@10", "--primary", metavar="METRIC", help="The metric that decides."),
    baseline: str = typer.Option(None, "--baseline", metavar="LABEL", help="Compare with this model, not the best."),
    seeds: int = typer.Option(1, "--seeds", metavar="N", help="Seeds for each model that has one."),
    split_seeds: int = typer.Option(1, "--split-seeds", metavar="N", help="Splits to repeat everything on."),
    trials: int = typer.Option(0, "--trials", metavar="N", help="Tune each model as well, in at most N trials."),
    seconds: float = typer.Option(None, "--seconds", metavar="S", help="Tune each model in at most S CPU seconds."),
    out: str = typer.Option(None, "--out", "-o", metavar="FOLDER", help="Keep runs here; the same command resumes."),
    settings: str = SETTINGS,
    shape: str = typer.Option("text", "--format", metavar="FORMAT", help=f"Print as {', '.join(FORMATS)}."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    loading: Given = {},
    splitting: Given = {},
) -> None:  # fmt: skip
    """Compare models on the same split, and test who is better.

    All models are fitted on the same train set and rank the same items for the same users. Shows means with intervals,
    paired tests over users (corrected for their number), effect sizes and the cost. With --trials or --seconds every
    model is tuned as well, all with the same budget. The model of a settings file, such as corml tune --out writes,
    is compared too. If a model fails, the others finish, and the exit code is 6.

    \b
    Examples:
      corml compare movielens-small --at-least 4 --models corml,ease
      corml compare ratings.csv --models corml,bpr-mf --seeds 3 --out study
      corml compare events.csv --event type --targets purchase
      corml compare ratings.csv --trials 20 --seconds 60 --out study
      corml compare ratings.csv --models corml --lists theirs=run.parquet
      corml compare shop.split --models corml,ease
      corml compare --settings best.toml --models corml,ease
      corml compare --train a.csv --test b.csv --format latex
    """
    shape = "json" if as_json else shape
    if shape not in FORMATS:
        raise no_such("format", shape, FORMATS)
    options: DesignOptions = {"metrics": metrics, "primary": primary, "baseline": baseline, "seeds": seeds}
    options |= {"trials": trials, "seconds": seconds}
    given = inputs_of(source, settings, loading, splitting)
    if out:
        writable_folder(out, PLAN, PAGE, *FILES.values())
    compared = _compared([name for text in models for name in text.split(",") if name.strip()], given, lists)
    Design.of(**options)  # mistakes are named before the data are read
    if out:
        hold(out, folder=True)
    splits = _splits(given, (train, valid, test), split_seeds)
    tell_judged(min(judged_in(split, "test")["users"] for split in splits), "test", splits[0].targets)
    with progress() as show:
        command = command_line()
        study = corml.compare(compared, splits, folder=out, command=command, progress=show, notify=tell, **options)
    if shape == "text" and not VERBOSE.get():
        say(study.brief())
        tell(f"note: -v shows every test{f', as {Path(out) / PAGE} does' if out else ''}")
    else:
        say(study.write(shape).rstrip("\n"))
    if out:
        for name in FILES.values():
            study.save(Path(out) / name)
        reporting.write_study_page(Path(out) / PAGE, study, splits)
        tell(f"wrote {out}: {', '.join(FILES.values())}, {PAGE} and a file for each run")
    if study.failed:
        first = study.failed[0]
        raise StudyError(
            f"{len(study.failed)} of {len(study)} models failed, the others are finished; "
            f"{printable(first.label)}: {first.error}"
        )


def _compared(named: list[str], given: Inputs, lists: list[str]) -> list[str | Recommender]:
    """Models by name, the one of a settings file, and lists; a model that is named already is not added again."""
    own = [] if given.model is None else [make(given.model, given.settings)]
    new = [model for model in own if candidates(model)[0].label not in named]
    candidates([*named, *new, *lists])
    return [*named, *new, *lists]


def _splits(given: Inputs, files: tuple[str | None, str | None, str | None], number: int) -> list[Split]:
    if any(files):
        if given.source or given.splitting.keys() - {"targets"} or number != 1:
            raise UsageError("Give either a precomputed split (--train, --test) or data to split, not both.")
        return [judging(joined_split(*files, given.loading), given.splitting)]
    if not given.source and not given.is_one_split_file:
        raise UsageError("Say what to compare on: a file, the name of a data set, or --train and --test.")
    options = over({"how": "ratio"}, given.splitting)
    seeds = _seeds(options, number)
    for one in seeds:
        check_split({**options, **one})
    if given.is_one_split_file:
        return [given.split()]
    data = given.data()
    return [make_split(data, {**options, **one}) for one in seeds]


def _seeds(options: Given, number: int) -> list[dict[str, int]]:
    """One option `seed` for each split that is asked for; none for a single one, which is as it is."""
    if number < 1:
        raise UsageError(f"--split-seeds must be 1 or more; got {number}.")
    if number == 1:
        return [{}]
    if split_file(options):
        raise UsageError("A split file is one split: leave out --split-seeds.")
    accepted = split_options(str(options["how"]))
    if "seed" not in accepted:
        raise UsageError(f"The split {ascii_line(options['how'])} has no seed: leave out --split-seeds.")
    first = int(options.get("seed", 2026))
    return [{"seed": first + at} for at in range(number)]
