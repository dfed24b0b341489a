"""Appendix: how accuracy is distributed over users."""

import numpy as np

from corml.evaluation import charts
from corml.report._measures import measure
from corml.report.page import Figure, Figures, Section
from corml.report.subject import Subject

__all__ = ["section"]

LEVELS = np.linspace(0, 1, 101)


def section(subject: Subject) -> Section | None:
    """The share of users above each value of the primary metric."""
    metric = subject.metric
    if metric is None:
        return None
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
    return Section(
        "users",
        "Accuracy across users",
        parts=(Figures((Figure(f"Users above each {label}", caption, chart),)),),
        appendix=True,
    )
