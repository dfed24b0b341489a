"""Who wins, and whether that could be chance."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from corml import charts
from corml.evaluation.bootstrap import Bootstrap, intervals
from corml.evaluation.holm import holm
from corml.evaluation.significance import LEVEL, paired_t_test
from corml.report import _text as text
from corml.report._measures import measure
from corml.report._results import Measured, by_accuracy, main_names, paired, primary, shared_names
from corml.report.page import Figure, Figures, Note, Part, Section, Tables
from corml.report.subject import Subject
from corml.report.tables import Cell, Column, Table, comparison

__all__ = ["section", "verdict"]

RESAMPLES = 1000


def section(subject: Subject) -> Section | None:
    """The models beside each other, and a paired test of the best against every other."""
    results = subject.results
    if not results:
        return None
    metric = primary(results)
    parts: list[Part] = []
    if metric is not None:
        parts.append(Figures((_dots(results, metric), *_differences(results, metric))))
    main = main_names(shared_names(results.values()))
    parts.append(Tables(comparison(results, main), "Models and metrics", _how_measured(results)))
    parts += [Note(remark) for remark in subject.remarks]
    chance = _chance(results, metric) if metric and len(results) > 1 else None
    if chance is not None:
        parts.append(chance)
    return Section("winner", "Who wins, and could it be chance?", verdict(results), tuple(parts))


def verdict(results: Mapping[str, Measured]) -> str:
    """The most accurate model, by how much, and whether that could be chance, in a sentence or two."""
    metric = primary(results)
    if metric is None:
        return ""
    first, *others = by_accuracy(results, metric)
    label, value = measure(metric).label, results[first][metric]
    if not others:
        return f"{first} reaches {label} {value:.3f}. There is no other model to compare it with."
    second = results[others[0]][metric]
    lead = f", {text.percent(value / second - 1)} above {others[0]} ({second:.3f})" if second > 0 else ""
    p = _tests(results, metric).get(others[0])
    tested = "" if p is None else f" {_in_words(p, len(others))}"
    return f"{first} is the most accurate, with {label} {value:.3f}{lead}.{tested}"


def _in_words(p: float, tests: int) -> str:
    how = "paired t-test over users" + (f", corrected for {tests} comparisons" if tests > 1 else "")
    if p < LEVEL:
        return f"The difference is unlikely to be chance ({how}, p {_p(p)})."
    return f"The difference may be chance ({how}, p {_p(p)})."


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def _tests(results: Mapping[str, Measured], metric: str) -> dict[str, float]:
    """Corrected p of the best model against each other one whose users are the same."""
    first, *others = by_accuracy(results, metric)
    differences = {name: paired(results[first], results[name], metric) for name in others}
    return holm({name: paired_t_test(values) for name, values in differences.items() if values is not None})


def _dots(results: Mapping[str, Measured], metric: str) -> Figure:
    ranked = by_accuracy(results, metric)
    series = charts.Dots("", [(results[name][metric], results[name].intervals.get(metric)) for name in ranked])
    label = measure(metric).label
    chart = charts.dots([series], ranked, x=charts.Axis(label), title=f"{label} of each model")
    lines = "; the lines are confidence intervals over users" if any(r.intervals for r in results.values()) else ""
    return Figure(f"Accuracy: {label}", f"Further to the right is better{lines}.", chart)


def _differences(results: Mapping[str, Measured], metric: str) -> list[Figure]:
    """The best model minus each other one, user by user: an interval away from zero is hardly chance."""
    first, *others = by_accuracy(results, metric)
    rows = {name: values for name in others if (values := paired(results[first], results[name], metric)) is not None}
    if not rows:
        return []
    series = charts.Dots(first, [(float(values.mean()), _interval(values)) for values in rows.values()])
    label = measure(metric).label
    names = [f"over {name}" for name in rows]
    axis, title = charts.Axis(f"difference in {label}"), f"Lead of {first}"
    caption = "Differences over the same users, with 95 % intervals. Where a line crosses zero, the lead may be chance."
    return [Figure(title, caption, charts.dots([series], names, x=axis, title=title, reference=0.0))]


def _interval(differences: NDArray[np.float64]) -> tuple[float, float]:
    return intervals({"": differences}, Bootstrap(resamples=RESAMPLES))[""]


def _chance(results: Mapping[str, Measured], metric: str) -> Tables | None:
    """The best model against each other: the difference, its interval, p, and for how many users it is better."""
    first, *others = by_accuracy(results, metric)
    corrected = _tests(results, metric)
    rows = []
    for name in others:
        differences = paired(results[first], results[name], metric)
        if differences is None:
            continue
        low, high = _interval(differences)
        better, worse = int((differences > 0).sum()), int((differences < 0).sum())
        said = "unlikely" if corrected[name] < LEVEL else "possible"
        cells = [
            f"over {name}",
            f"{differences.mean():+.4f}",
            f"[{low:+.4f}, {high:+.4f}]",
            _p(corrected[name]).removeprefix("= "),
        ]
        users = [text.count(better), text.count(len(differences) - better - worse), text.count(worse)]
        rows.append(tuple(map(Cell, [*cells, said, *users])))
    if not rows:
        return None
    heads = [Column(f"Lead of {first}"), Column("Difference", number=True), Column("95 % interval", number=True)]
    heads += [Column("p", number=True), Column("Chance?")]
    heads += [Column(f"Users {how}", number=True) for how in ("better", "equal", "worse")]
    note = (
        f"{measure(metric).label} of {first} minus that of the other model, over the same users: bootstrap interval, "
        f"paired t-test{', corrected by Holm' if len(rows) > 1 else ''}. "
        f"Chance is called unlikely where p is below {LEVEL:g}."
    )
    return Tables(Table(tuple(heads), tuple(rows)), "Tests", note)


def _how_measured(results: Mapping[str, Measured]) -> str:
    """Say what the means are over, and what the second number of a cell is."""
    result = next(iter(results.values()))
    part = getattr(result, "part", "test")
    users = text.count(len(result.users))
    note = f"Means over {users} users of the {part} part; the whole catalogue is ranked."
    if not result.intervals:
        return note
    return f"{note} ± is the {text.percent(getattr(result, 'confidence', 0.95))} confidence interval over users."
