"""Accuracy against novelty: the dial as a curve, every model as a point."""

import numpy as np

from corml import charts
from corml.report._measures import measure
from corml.report._results import main_names, primary, shared_names
from corml.report.page import Figure, Figures, Section
from corml.report.subject import Subject

__all__ = ["section"]


def section(subject: Subject) -> Section | None:
    """Where each model stands between popular and novel."""
    results = subject.results
    accurate = primary(results)
    shared = main_names(shared_names(results.values()))
    novel = next((n for n in shared if n.startswith("novelty@") and all(np.isfinite(r[n]) for r in results.values())), None)
    if accurate is None or novel is None:
        return None
    series = [charts.Line(name, [(result[novel], result[accurate])]) for name, result in results.items()]
    curve = _curve(subject, novel, accurate)
    accuracy, novelty = measure(accurate).label, measure(novel).label
    chart = charts.lines(
        [*series, *curve],
        x=charts.Axis(f"{novelty}: more novel →"),
        y=charts.Axis(f"{accuracy}: more accurate ↑"),
        title=f"{accuracy} against {novelty}",
        named=True,
        height=260,
    )
    return Section("novelty", "Accuracy against novelty", _intro(subject, bool(curve)), (Figures((Figure("Who stands where", _caption(bool(curve)), chart),)),))


def _curve(subject: Subject, novel: str, accurate: str) -> list[charts.Line]:
    dial = subject.dial
    if dial is None or not {novel, accurate} <= set(dial.results[0]):
        return []
    return [charts.Line("novelty dial", dial.points(novel, accurate), marks=True, ends=("popular", "novel"))]


def _intro(subject: Subject, dial: bool) -> str:
    about = "A list is novel if few users know its items. Above and to the right is better in both."
    if not dial or subject.dial is None:
        return f"{about} A novelty dial (corml report --dial) would show what more novelty costs."
    return f"{about} The dial is one model at {len(subject.dial)} positions, chosen when a list is made."


def _caption(dial: bool) -> str:
    curve = " The curve is the dial, from lists of popular items to lists of rare ones." if dial else ""
    return f"Each point is a model.{curve}"
