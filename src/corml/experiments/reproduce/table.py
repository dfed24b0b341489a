"""The paper's table against ours: every figure, its difference, and the star recomputed; and its times, figure 3."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from corml.evaluation import charts
from corml.evaluation.significance import paired_t_test
from corml.experiments.grid import Grid, Value
from corml.experiments.record import Run
from corml.experiments.reproduce.data import sizes
from corml.experiments.reproduce.outcome import Outcome
from corml.experiments.reproduce.published import Row
from corml.experiments.reproduce.request import Request
from corml.splits import Split


class Star(NamedTuple):
    """CoRML against the best other model by one metric: which that is, and p of the paired t-test over users."""

    runner_up: str
    p: float
    ahead: bool


def add(outcome: Outcome, request: Request, data: str, split: Split) -> None:
    """All models on a data set."""
    outcome.notes += sizes(request.published, data, split)
    rows = request.rows(data)
    runs = request.runs(data, split, {row.name: row.model for row in rows}, [*request["metrics"], *request["also"]])
    title, published = request.published["data"][data]["title"], not request.quick
    for metric in request["metrics"]:
        figures = [_figure(request, data, row, runs[row.name], metric, _star(row, rows, runs, metric)) for row in rows]
        outcome.rows += figures
        if metric == request["primary"]:
            outcome.tables[title] = _grid(figures, metric, published=published)
        else:
            outcome.details[f"{title}, {metric}"] = _grid(figures, metric, published=published)


def notes(request: Request, outcome: Outcome) -> list[str]:
    """How to read the table, and what is known to differ, for models that are off by more than the tolerance."""
    others = ", ".join(metric for metric in request["metrics"] if metric != request["primary"])
    star = f"*: better than the best other model that was run, paired t-test over users, p < {request['level']:g}"
    agrees = (
        f"agrees: within {request['tolerance']:.0%} of the paper. {star}; in the column of the paper, its own star."
    )
    legend = f"The paper has no figures of the sample. {star}." if request.quick else agrees
    primary = [row for row in outcome.rows if row["metric"] == request["primary"]]
    reasons = {row["title"]: row["reason"] for row in primary if row["reason"]}
    shown = f"Shown: {request['primary']}; {others} are in the files."
    return [shown, legend, *(f"{title}: {reason}." for title, reason in reasons.items()), *outcome.notes]


def verdict(paper: float | None, ours: float | None, tolerance: float) -> str:
    """Whether a figure agrees with the published one."""
    if ours is None:
        return "failed"
    if paper is None:
        return "not published"
    difference = ours / paper - 1
    return "agrees" if abs(difference) <= tolerance else "higher" if difference > 0 else "lower"


def _figure(request: Request, data: str, row: Row, run: Run, metric: str, star: Star | None) -> dict[str, object]:
    paper = request.published.paper(data, row.column).get(metric)
    ours = run.means.get(metric)
    judged = verdict(paper, ours, request["tolerance"])
    return {
        "data": data,
        "model": row.name,
        "title": row.title,
        "metric": metric,
        "paper": paper,
        "ours": ours,
        "difference": None if paper is None or ours is None else ours / paper - 1,
        "verdict": judged,
        "reason": row.differs if judged in ("higher", "lower") else "",
        "paper's star": paper is not None and row.column in request["starred"],
        "star": star is not None and star.ahead and star.p < request["level"],
        "runner-up": star.runner_up if star else None,
        "p": star.p if star else None,
        "fit processor seconds": run.cost.fit_processor if ours is not None else None,
        "settings": dict(run.settings),
        "error": run.error,
    }


def _star(row: Row, rows: Sequence[Row], runs: Mapping[str, Run], metric: str) -> Star | None:
    """A row of CoRML against the best of the other models; None without another model."""
    own = runs[row.name]
    others = [runs[one.name] for one in rows if not one.ours and not runs[one.name].error]
    if not row.ours or own.error or not others:
        return None
    best = max(others, key=lambda run: run.means[metric])
    theirs = dict(zip(best.users, best.per_user[metric], strict=True))
    pairs = zip(own.users, own.per_user[metric], strict=True)
    difference = np.array([value - theirs[user] for user, value in pairs if user in theirs])
    return Star(best.label, paired_t_test(difference), bool(difference.mean() > 0))


def _grid(figures: Sequence[Mapping[str, object]], metric: str, *, published: bool) -> Grid:
    """All models by one metric; of data that the paper does not have, our figures alone."""
    titles = [Value(str(one["title"])) for one in figures]
    ours = [_number(one["ours"], star=one["star"]) for one in figures]
    if not published:
        return Grid(("model", metric), tuple(zip(titles, ours, strict=True)))
    paper = [_number(one["paper"], star=one["paper's star"]) for one in figures]
    shares = [one["difference"] for one in figures]
    differences = [
        Value(f"{100 * share:+.1f} %".replace("-", "−") if isinstance(share, float) else "–") for share in shares
    ]
    verdicts = [Value(str(one["verdict"])) for one in figures]
    columns = zip(titles, paper, ours, differences, verdicts, strict=True)
    return Grid(("model", f"paper {metric}", "ours", "difference", "verdict"), tuple(columns))


def _number(value: object, *, star: object) -> Value:
    return Value("–" if value is None else f"{'*' if star else ''}{value:.4f}")


# --- times -----------------------------------------------------------------------------------------------------------


def add_speed(outcome: Outcome, request: Request, data: str, split: Split) -> None:
    """What fitting takes: times of the runs of the table."""
    table, rows = request.published["table"], request.rows(data)
    runs = request.runs(data, split, {row.name: row.model for row in rows}, [*table["metrics"], *table["also"]])
    rows = [row for row in rows if not runs[row.name].error]
    times = [
        {
            "data": data,
            "model": row.name,
            "title": row.title,
            "paper, ML-20M": request["published"].get(row.column),
            "seconds": runs[row.name].cost.fit_seconds,
            "processor seconds": runs[row.name].cost.fit_processor,
            "threads": runs[row.name].environment.get("threads"),
            "finished": runs[row.name].finished,
        }
        for row in rows
    ]
    outcome.rows += times
    title = request.published["data"][data]["title"]
    lines = [
        (one["title"], one["paper, ML-20M"] or "–", f"{one['seconds']:,.1f}", f"{one['processor seconds']:,.1f}")
        for one in times
    ]
    heads = ("model", "paper, on ML-20M", "ours, seconds", "CPU seconds")
    outcome.tables[title] = Grid(heads, tuple(tuple(map(Value, line)) for line in lines), texts=2)
    outcome.charts[f"speed-{data}"] = charts.bars(
        [charts.Bars("ours", [runs[row.name].cost.fit_seconds for row in rows])],
        [row.title for row in rows],
        x=charts.Axis("seconds"),
        title=f"{title}: seconds of fitting",
    )


def speed_notes(request: Request, outcome: Outcome) -> list[str]:
    """How to read the times."""
    return [
        f"The paper's times are for ML-20M, on another machine ({request['machine']}), and published as a chart: they "
        "are given as the text describes them. Ours exclude compilation and tuning."
    ]
