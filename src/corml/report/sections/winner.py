"""Who wins, and whether that could be chance."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corml.evaluation import charts
from corml.evaluation.resampling import Bootstrap, intervals
from corml.evaluation.significance import LEVEL
from corml.report import _text as text
from corml.report._chance import differing, tests
from corml.report._measures import measure
from corml.report._results import Measured
from corml.report.page import Figure, Figures, Note, Part, Section, Tables
from corml.report.subject import Subject
from corml.report.tables import Cell, Column, Table, comparison

__all__ = ["section", "verdict"]

RESAMPLES = 1000


class Lead(NamedTuple):
    """The best model minus another: each user's difference, and the interval of their mean."""

    users: NDArray[np.float64]
    interval: tuple[float, float]


def section(subject: Subject) -> Section | None:
    """The models beside each other, and a paired test of the best against every other."""
    remarks = tuple(Note(remark) for remark in subject.remarks)
    if not subject.models:
        return Section("winner", "Nobody has figures", parts=remarks) if remarks else None
    parts: list[Part] = []
    leads = _leads(subject)
    if subject.metric is not None:
        parts.append(Figures((_dots(subject, subject.metric), *_differences(subject, leads))))
    parts.append(
        Tables(comparison(subject.results, subject.main), "Models and metrics", _how_measured(subject.results))
    )
    parts += remarks
    parts += _chance(subject, leads)
    return Section("winner", "Who wins, and could it be chance?", verdict(subject), tuple(parts))


def verdict(subject: Subject) -> str:
    """The most accurate model, by how much, and whether that could be chance, in a sentence or two."""
    metric, results = subject.metric, subject.results
    if metric is None:
        return ""
    first, second = subject.ranking[0], subject.rival
    label, value = measure(metric).label, results[first][metric]
    if second is None:
        return f"{first} reaches {label} {value:.3f}. There is no other model to compare it with."
    other = results[second][metric]
    lead = f", {text.percent(value / other - 1)} above {second} ({other:.3f})" if other > 0 else ""
    p = tests(subject).get(second)
    tested = "" if p is None else f" {_in_words(p, subject.family or len(subject.models) - 1)}"
    return f"{first} is the most accurate, with {label} {value:.3f}{lead}.{tested}"


def _in_words(p: float, family: int) -> str:
    how = "paired t-test over users" + (f", corrected for {family} tests" if family > 1 else "")
    if p < LEVEL:
        return f"The difference is unlikely to be chance ({how}, p {_p(p)})."
    return f"The difference may be chance ({how}, p {_p(p)})."


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def _leads(subject: Subject) -> dict[str, Lead]:
    """The best model minus each other one, with intervals, all from the same resamples of users."""
    values = differing(subject)
    spans = intervals(values, Bootstrap(resamples=RESAMPLES))
    return {name: Lead(values[name], spans[name]) for name in values}


def _dots(subject: Subject, metric: str) -> Figure:
    results, ranked = subject.results, subject.ranking
    series = charts.Dots("", [(results[name][metric], results[name].intervals.get(metric)) for name in ranked])
    label = measure(metric).label
    chart = charts.dots([series], ranked, x=charts.Axis(label), title=f"{label} of each model")
    lines = "; the lines are confidence intervals over users" if any(r.intervals for r in results.values()) else ""
    return Figure(f"Accuracy: {label}", f"Further to the right is better{lines}.", chart)


def _differences(subject: Subject, leads: Mapping[str, Lead]) -> list[Figure]:
    """The lead of the best model: an interval away from zero is hardly chance."""
    if not leads:
        return []
    series = charts.Dots("", [(float(lead.users.mean()), lead.interval) for lead in leads.values()])
    axis, title = charts.Axis(f"difference in {measure(subject.metric or '').label}"), f"Lead of {subject.ranking[0]}"
    caption = "Differences over the same users, with 95 % intervals. Where a line crosses zero, the lead may be chance."
    names = [f"over {name}" for name in leads]
    return [Figure(title, caption, charts.dots([series], names, x=axis, title=title, reference=0.0))]


def _chance(subject: Subject, leads: Mapping[str, Lead]) -> list[Tables]:
    """The best model against each other: the difference, its interval, p, and for how many users it is better."""
    corrected = tests(subject)
    rows = [_row(name, lead, corrected[name]) for name, lead in leads.items() if name in corrected]
    if not rows:
        return []
    first = subject.ranking[0]
    heads = [Column(f"Lead of {first}"), Column("Difference", number=True), Column("95 % interval", number=True)]
    heads += [Column("p", number=True), Column("Chance?")]
    heads += [Column(f"Users {how}", number=True) for how in ("better", "equal", "worse")]
    family, label = subject.family or len(rows), measure(subject.metric or "").label
    note = (
        f"{label} of {first} minus that of the other model, over the same users: bootstrap interval, "
        f"paired t-test{f', corrected by Holm for {family} tests' if family > 1 else ''}. "
        f"Chance is called unlikely where p is below {LEVEL:g}."
    )
    return [Tables(Table(tuple(heads), tuple(rows)), "Tests", note)]


def _row(name: str, lead: Lead, p: float) -> tuple[Cell, ...]:
    differences, (low, high) = lead
    better, worse = int((differences > 0).sum()), int((differences < 0).sum())
    said = "unlikely" if p < LEVEL else "possible"
    cells = [f"over {name}", f"{differences.mean():+.4f}", f"[{low:+.4f}, {high:+.4f}]", _p(p).removeprefix("= "), said]
    users = [text.count(better), text.count(len(differences) - better - worse), text.count(worse)]
    return tuple(map(Cell, [*cells, *users]))


def _how_measured(results: Mapping[str, Measured]) -> str:
    """Say what the means are over, and what the second number of a cell is."""
    result = next(iter(results.values()))
    part = getattr(result, "part", "test")
    users = text.count(len(result.users))
    note = f"Means over {users} users of the {part} part; the whole catalogue is ranked."
    if not result.intervals:
        return note
    return f"{note} ± is the {text.percent(getattr(result, 'confidence', 0.95))} confidence interval over users."
