"""Charts of a search: its history, which hyperparameters mattered, and where the good values are."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias

from corml._runtime.values import is_number, nearest
from corml.errors import UsageError, ascii_line
from corml.evaluation import charts

if TYPE_CHECKING:
    from corml.experiments.tuning.tuned import Trial, Tuned

Plot: TypeAlias = Literal["history", "importance", "slices"]

LOW = 120  # height of one of many charts
WIDE = 20.0  # the largest value over the smallest, from which they are drawn on a logarithmic scale


def draw(tuned: "Tuned", kind: Plot) -> charts.Chart:
    """The chart of a kind; those about hyperparameters need at least one that was searched."""
    if kind not in KINDS:
        raise UsageError(f"There is no chart {ascii_line(kind)} of a search{nearest(str(kind), KINDS)}")
    if kind != "history" and not tuned.searched:
        raise UsageError(f"No setting of {tuned.model} was searched, so there is only the chart 'history'.")
    return KINDS[kind](tuned)


def _history(tuned: "Tuned") -> charts.Chart:
    rows = [row for row in tuned.history().to_dicts() if row["best"] is not None]
    scored = [(row["trial"] + 1, row["score"]) for row in rows if row["score"] is not None]
    steps = [(row["trial"] + 1, best["best"]) for before, row in pairwise([rows[0], *rows]) for best in (before, row)]
    return charts.lines(
        [charts.Line("best so far", steps), charts.Line("a trial", scored, marks=True, joined=False)],
        x=charts.Axis("trials", form="count"),
        y=charts.Axis(tuned.metric),
        title=f"{tuned.model}: {tuned.metric} of {len(rows)} trials",
        reference=(tuned.default_score, "the defaults"),
    )


def _importance(tuned: "Tuned") -> charts.Chart:
    rows = tuned.importance().to_dicts()
    return charts.bars(
        [charts.Bars("importance", [row["importance"] for row in rows])],
        [row["setting"] for row in rows],
        x=charts.Axis("share of the order of trials that a setting explains by itself", form="percent"),
        title=f"{tuned.model}: which settings matter for {tuned.metric}",
    )


def _slices(tuned: "Tuned") -> charts.Chart:
    names = tuned.importance()["setting"].to_list()  # the most important first
    return charts.panels(
        {name: _slice(tuned, name) for name in names}, title=f"{tuned.model}: {tuned.metric} by setting"
    )


def _slice(tuned: "Tuned", name: str) -> charts.Chart:
    """A number as points, a choice as a range of scores for each value."""
    values = {trial.number: trial.point[name] for trial in tuned.placed}
    points = {at: (value, tuned.trials[at].score or 0.0) for at, value in values.items() if is_number(value)}
    if len(points) < len(tuned.placed):
        return _choices(tuned, name, tuned.placed)
    numbers = [value for value, _ in points.values()]
    best = points.pop(tuned.best_trial.number)
    return charts.lines(
        [
            charts.Line("a trial", list(points.values()), marks=True, joined=False),
            charts.Line("the best", [best], marks=True),
        ],
        x=charts.Axis(name, log=min(numbers) > 0 and max(numbers) / min(numbers) >= WIDE),
        y=charts.Axis(tuned.metric),
        height=LOW,
    )


def _choices(tuned: "Tuned", name: str, trials: Sequence["Trial"]) -> charts.Chart:
    scores: dict[str, list[float]] = {}
    for trial in trials:
        scores.setdefault(str(trial.point[name]), []).append(trial.score or 0.0)
    better = max if tuned.maximise else min
    ranges = [(better(listed), (min(listed), max(listed))) for listed in scores.values()]
    axis = charts.Axis(f"{tuned.metric}: the best, and all trials")
    return charts.dots([charts.Dots(name, ranges)], list(scores), x=axis)


KINDS: dict[Plot, Callable[["Tuned"], charts.Chart]] = {
    "history": _history,
    "importance": _importance,
    "slices": _slices,
}
PLOTS = tuple(KINDS)
