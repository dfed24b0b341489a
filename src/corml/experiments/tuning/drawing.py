"""Charts of a search: how it went, which settings mattered, and where the good values are."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from corml._runtime.values import is_number, no_such
from corml.errors import UsageError
from corml.evaluation import charts
from corml.experiments.tuning.trial import COMPLETE, Trial

if TYPE_CHECKING:
    from corml.experiments.tuning.tuned import Tuned

__all__ = ["KINDS", "draw"]

LOW = 120  # height of one of many charts
WIDE = 20.0  # the largest value over the smallest, from which they are drawn on a logarithmic scale


def draw(tuned: "Tuned", kind: str) -> charts.Chart:
    """The chart of a kind; what is about settings needs at least one that was searched."""
    if kind not in KINDS:
        raise no_such("chart", kind, KINDS)
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
    finished = [trial for trial in tuned.trials if trial.state == COMPLETE and trial.point]
    settings = tuned.importance()["setting"].to_list()  # the most important first
    title = f"{tuned.model}: {tuned.metric} by setting"
    return charts.panels({name: _slice(tuned, name, finished) for name in settings}, title=title)


def _slice(tuned: "Tuned", name: str, trials: Sequence[Trial]) -> charts.Chart:
    """A setting that is a number as points, a choice as a range of scores for each value."""
    if not all(is_number(trial.point[name]) for trial in trials):
        return _choices(tuned, name, trials)
    values = [trial.point[name] for trial in trials]
    best = tuned.best_trial
    return charts.lines(
        [
            charts.Line(
                "a trial", [_at(trial, name) for trial in trials if trial is not best], marks=True, joined=False
            ),
            charts.Line("the best", [_at(best, name)], marks=True),
        ],
        x=charts.Axis(name, log=min(values, default=0) > 0 and max(values) / min(values) >= WIDE),
        y=charts.Axis(tuned.metric),
        height=LOW,
    )


def _choices(tuned: "Tuned", name: str, trials: Sequence[Trial]) -> charts.Chart:
    values = list(dict.fromkeys(str(trial.point[name]) for trial in trials))
    scores = [[trial.score or 0.0 for trial in trials if str(trial.point[name]) == value] for value in values]
    ranges: Sequence[Any] = [
        ((max if tuned.maximise else min)(listed), (min(listed), max(listed))) for listed in scores
    ]
    axis = charts.Axis(f"{tuned.metric}: the best, and all trials")
    return charts.dots([charts.Dots(name, ranges)], values, x=axis)


def _at(trial: Trial, name: str) -> tuple[float, float]:
    assert trial.score is not None
    return float(trial.point[name]), trial.score


KINDS: dict[str, Callable[["Tuned"], charts.Chart]] = {
    "history": _history,
    "importance": _importance,
    "slices": _slices,
}
