"""Several charts as one, from the top, each with its name above it."""

from collections.abc import Mapping

from corml.evaluation.charts._svg import clip, element, text
from corml.evaluation.charts.chart import WIDTH, Chart

__all__ = ["panels"]

NAME = 26  # height of a name
GAP = 14


def panels(parts: Mapping[str, Chart], *, title: str = "") -> Chart:
    """Draw charts below each other."""
    drawn, y = [], 0.0
    for name, chart in parts.items():
        drawn.append(text(0, y + NAME / 2, clip(name, WIDTH, bold=True), "name"))
        drawn.append(element("g", {"transform": f"translate(0 {y + NAME:g})"}, chart.body))
        y += NAME + chart.height + GAP
    description = " ".join(f"{name}: {chart.description}" for name, chart in parts.items())
    return Chart(title, description, "".join(drawn), max(y - GAP, 0.0))
