"""Sections about accuracy: which model is best and whether that could be chance, novelty, users, and all metrics."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corml.evaluation import Result, charts
from corml.evaluation.resampling import Bootstrap, intervals
from corml.evaluation.significance import LEVEL
from corml.experiments.grid import Grid, Value
from corml.report import text
from corml.report.page import Figure, Part, Section
from corml.report.subject import Subject, measure, shared_names
from corml.report.tables import comparison

RESAMPLES = 1000
LEVELS = np.linspace(0, 1, 101)
WIDEST = 5  # columns of figures with intervals that fit a printed page


class Lead(NamedTuple):
    """The best model minus another: each user's difference, and the interval of their mean."""

    users: NDArray[np.float64]
    interval: tuple[float, float]


def winner(subject: Subject) -> Section | None:
    """The models next to each other, and a paired test of the best against every other."""
    remarks = tuple(Part("note", remark) for remark in subject.remarks)
    if not subject.models:
        return Section("winner", "No model has figures", parts=remarks) if remarks else None
    differences = subject.differences
    spans = intervals(differences, Bootstrap(resamples=RESAMPLES))  # all from the same resamples of users
    leads = {name: Lead(values, spans[name]) for name, values in differences.items()}
    parts: list[Part] = []
    if subject.metric is not None:
        parts.append(Part("figures", (_dots(subject, subject.metric), *_leads(subject, leads))))
    table, note = comparison(subject.results, subject.main), _how_measured(subject.results)
    parts.append(Part("table", table, note, label="Models and metrics"))
    parts += [*remarks, *_tests(subject, leads)]
    return Section("winner", "Who wins, and could it be chance?", verdict(subject), tuple(parts))


def verdict(subject: Subject) -> str:
    """The most accurate model, by how much, and whether that could be chance, in a sentence or two."""
    metric, results = subject.metric, subject.results
    if metric is None:
        return ""
    first, second = subject.ranking[0], subject.runner_up
    label, value = measure(metric).label, results[first][metric]
    if second is None:
        return f"{first} reaches {label} {value:.3f}. There is no other model to compare it with."
    other = results[second][metric]
    lead = f", {text.percent(value / other - 1)} above {second} ({other:.3f})" if other > 0 else ""
    p, tested = subject.p_values.get(second), ""
    if p is not None:
        family = subject.family or len(subject.models) - 1
        how = "paired t-test over users" + (f", corrected for {family} tests" if family > 1 else "")
        chance = "is unlikely to be chance" if p < LEVEL else "may be chance"
        tested = f" The difference {chance} ({how}, p {_p(p)})."
    return f"{first} is the most accurate, with {label} {value:.3f}{lead}.{tested}"


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def _dots(subject: Subject, metric: str) -> Figure:
    results, ranked, label = subject.results, subject.ranking, measure(metric).label
    series = charts.Dots("", [(results[name][metric], results[name].intervals.get(metric)) for name in ranked])
    chart = charts.dots([series], ranked, x=charts.Axis(label), title=f"{label} of each model")
    lines = "; the lines are confidence intervals over users" if any(r.intervals for r in results.values()) else ""
    return Figure(f"Accuracy: {label}", f"Further to the right is better{lines}.", chart)


def _leads(subject: Subject, leads: Mapping[str, Lead]) -> list[Figure]:
    """The lead of the best model: an interval away from zero is hardly chance."""
    if not leads:
        return []
    series = charts.Dots("", [(float(lead.users.mean()), lead.interval) for lead in leads.values()])
    axis, title = charts.Axis(f"difference in {measure(subject.metric or '').label}"), f"Lead of {subject.ranking[0]}"
    caption = "Differences over the same users, with 95 % intervals. Where a line crosses zero, the lead may be chance."
    names = [f"over {name}" for name in leads]
    return [Figure(title, caption, charts.dots([series], names, x=axis, title=title, reference=0.0))]


def _tests(subject: Subject, leads: Mapping[str, Lead]) -> list[Part]:
    """The best model against each other: the difference, its interval, p, and for how many users it is better."""
    rows = [_row(name, lead, subject.p_values[name]) for name, lead in leads.items() if name in subject.p_values]
    if not rows:
        return []
    first, family, label = subject.ranking[0], subject.family or len(rows), measure(subject.metric or "").label
    heads = (f"Lead of {first}", "Chance?", "Difference", "95 % interval", "p")
    table = Grid((*heads, "Users better", "Users equal", "Users worse"), tuple(rows), texts=2)
    note = (
        f"{label} of {first} minus that of the other model, over the same users: bootstrap interval, "
        f"paired t-test{f', corrected by Holm for {family} tests' if family > 1 else ''}. "
        f"Chance is called unlikely where p is below {LEVEL:g}."
    )
    return [Part("table", table, note, label="Tests")]


def _row(name: str, lead: Lead, p: float) -> tuple[Value, ...]:
    differences, (low, high) = lead
    better, worse = int((differences > 0).sum()), int((differences < 0).sum())
    texts = [f"over {name}", "unlikely" if p < LEVEL else "possible", f"{differences.mean():+.4f}"]
    texts += [f"[{low:+.4f}, {high:+.4f}]", _p(p).removeprefix("= ")]
    return tuple(map(Value, [*texts, *map(text.count, (better, len(differences) - better - worse, worse))]))


def _how_measured(results: Mapping[str, Result]) -> str:
    """What the means are over, and what the second number of a value is."""
    result = next(iter(results.values()))
    name = {"valid": "validation"}.get(result.part, result.part)
    note = f"Means over {text.count(len(result.users))} users of the {name} set; the whole catalogue is ranked."
    if not result.intervals:
        return note
    return f"{note} ± is the {text.percent(result.confidence)} confidence interval over users."


# --- accuracy against novelty ----------------------------------------------------------------------------------------


def novelty(subject: Subject) -> Section | None:
    """Where each model stands between popular and novel: the dial as a curve, every model as a point."""
    results = subject.results
    accurate, novel = subject.metric, subject.of_family("novelty")
    if accurate is None or novel is None or not all(np.isfinite(result[novel]) for result in results.values()):
        return None
    curve = _curve(subject, novel, accurate)
    points = [
        charts.Line(name, [(result[novel], result[accurate])], colour=subject.colours[name])
        for name, result in results.items()
    ]
    caption = "Each point is a model."
    if curve:
        caption += " The curve is the dial, from lists of popular items to lists of rare ones."
    figures = [_scatter("Every model", caption, [*points, *curve], novel, accurate)]
    near = _near(points, curve)
    if near is not None:
        figures.append(_scatter("Close up", "The same, around the dial alone.", [*near, *curve], novel, accurate))
    intro = "A list is novel if few users know its items. Above and to the right is better in both."
    if curve and subject.dial is not None:
        intro += f" The dial is one model at {len(subject.dial)} operating points, chosen when a list is made."
    elif any(getattr(model, "NAME", "") == "corml" for model, _ in subject.models.values()):
        intro += " What more novelty costs is drawn by corml report --dial."
    return Section("novelty", "Accuracy against novelty", intro, (Part("figures", tuple(figures)),))


def _scatter(title: str, caption: str, series: list[charts.Line], novel: str, accurate: str) -> Figure:
    accuracy, novelty = measure(accurate).label, measure(novel).label
    chart = charts.lines(
        series,
        x=charts.Axis(f"{novelty}: more novel →"),
        y=charts.Axis(f"{accuracy}: more accurate ↑"),
        title=f"{accuracy} against {novelty}: {title.lower()}",
        named=True,
    )
    return Figure(title, caption, chart)


def _near(points: list[charts.Line], curve: list[charts.Line]) -> list[charts.Line] | None:
    """Models near the dial, if others are so far away that it would be hard to see."""
    if not curve:
        return None
    xs, ys = zip(*curve[0].points, strict=True)
    wide, high = max(xs) - min(xs), max(ys) - min(ys)
    near = [
        one
        for one in points
        for x, y in one.points
        if min(xs) - wide <= x <= max(xs) + wide and min(ys) - 2 * high <= y <= max(ys) + 2 * high
    ]
    return near if len(near) < len(points) else None


def _curve(subject: Subject, novel: str, accurate: str) -> list[charts.Line]:
    dial = subject.dial
    if dial is None or not {novel, accurate} <= set(dial.results[0]):
        return []
    points, ends = dial.points(novel, accurate), ("popular", "novel")
    return [charts.Line("novelty dial", points, marks=True, ends=ends, colour=len(subject.models))]


# --- appendix: users, and all metrics --------------------------------------------------------------------------------


def users(subject: Subject) -> Section | None:
    """The share of users above each value of the primary metric."""
    metric = subject.metric or ""
    values = {name: result.per_user[metric] for name, result in subject.results.items() if metric in result.per_user}
    if not values:
        return None
    label = measure(metric).label
    series = [
        charts.Line(
            name,
            [(float(level), float(np.mean(np.asarray(one) > level))) for level in LEVELS],
            colour=subject.colours[name],
        )
        for name, one in values.items()
    ]
    chart = charts.lines(
        series,
        x=charts.Axis(f"{label} above …"),
        y=charts.Axis("share of users", "percent", zero=True),
        title=f"{label} across users",
    )
    caption = "Higher curves are better. The left end is the share of users with a hit."
    part = Part("figures", (Figure(f"Users above each {label}", caption, chart),))
    return Section("users", "Accuracy across users", parts=(part,), appendix=True)


def metrics(subject: Subject) -> Section | None:
    """What the metrics mean, and all of them at all list lengths; folded, because only some readers ask for it."""
    names = shared_names(subject.results.values())
    if not names:
        return None
    meanings = tuple((measure(name).label, measure(name).meaning) for name in subject.main)
    explained = tuple((label, meaning) for label, meaning in meanings if meaning)
    parts = [Part("facts", explained, folded="What the metrics mean")] if explained else []
    whole = comparison(subject.results, names, intervals="range")
    folded = "All metrics at all list lengths, with intervals"
    tables = [whole] if len(names) <= WIDEST else _turned(whole)
    parts += [Part("table", table, folded=folded, label="All metrics") for table in tables]
    return Section("metrics", "All metrics", parts=tuple(parts), appendix=True)


def _turned(table: Grid) -> Iterator[Grid]:
    """Metrics down, models across, as many as a printed page has room for: many metrics fit it that way."""
    for first in range(0, len(table.rows), WIDEST):
        some = table.rows[first : first + WIDEST]
        rows = ((Value(head), *(row[at] for row in some)) for at, head in enumerate(table.heads) if at)
        yield Grid(("Metric", *(row[0].text for row in some)), tuple(rows))
