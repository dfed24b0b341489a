"""Accuracy against novelty: the dial as a curve, every model as a point."""

import numpy as np

from corml.evaluation import charts
from corml.report._measures import measure
from corml.report.page import Figure, Figures, Section
from corml.report.subject import Subject

__all__ = ["section"]


def section(subject: Subject) -> Section | None:
    """Where each model stands between popular and novel."""
    results = subject.results
    accurate, novel = subject.metric, subject.of_family("novelty")
    if accurate is None or novel is None or not all(np.isfinite(result[novel]) for result in results.values()):
        return None
    curve = _curve(subject, novel, accurate)
    points = [
        charts.Line(name, [(result[novel], result[accurate])], colour=subject.colours[name])
        for name, result in results.items()
    ]
    figures = [_figure("Every model", _caption(bool(curve)), [*points, *curve], novel, accurate)]
    near = _near(points, curve)
    if near is not None:
        figures.append(_figure("Close up", "The same, around the dial alone.", [*near, *curve], novel, accurate))
    return Section("novelty", "Accuracy against novelty", _intro(subject, bool(curve)), (Figures(tuple(figures)),))


def _figure(title: str, caption: str, series: list[charts.Line], novel: str, accurate: str) -> Figure:
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
    """Models near the dial, if others are so far away that it cannot be seen well beside them."""
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
    return [
        charts.Line(
            "novelty dial",
            dial.points(novel, accurate),
            marks=True,
            ends=("popular", "novel"),
            colour=len(subject.models),
        )
    ]


def _intro(subject: Subject, dial: bool) -> str:
    about = "A list is novel if few users know its items. Above and to the right is better in both."
    if not dial or subject.dial is None:
        offered = any(getattr(model, "NAME", "") == "corml" for model, _ in subject.models.values())
        return f"{about} What more novelty costs is drawn by corml report --dial." if offered else about
    return f"{about} The dial is one model at {len(subject.dial)} positions, chosen when a list is made."


def _caption(dial: bool) -> str:
    curve = " The curve is the dial, from lists of popular items to lists of rare ones." if dial else ""
    return f"Each point is a model.{curve}"
