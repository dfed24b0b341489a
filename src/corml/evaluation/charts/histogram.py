"""How many of how much: counts in bins."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corml.evaluation.charts._plane import FOOT, plane
from corml.evaluation.charts._svg import line, rect, text
from corml.evaluation.charts.axis import Axis, Scale, nice_ticks
from corml.evaluation.charts.bars import said
from corml.evaluation.charts.chart import Chart

__all__ = ["histogram"]

HEIGHT = 170
BINS = 24


def histogram(values: ArrayLike, *, x: Axis, y: Axis, title: str = "", bins: int = BINS) -> Chart:
    """Draw how values are distributed; the dashed line is their median. A logarithmic axis has bins of equal ratio."""
    numbers = np.asarray(values, dtype=float)
    numbers = numbers[np.isfinite(numbers) & ((numbers > 0) | (not x.log))]
    edges = _edges(numbers, x, bins)
    counts, _ = np.histogram(numbers, bins=edges)
    y_axis = Axis(y.label, y.form, zero=True)
    grid, across, up = plane(x, y_axis, edges.tolist(), counts.tolist(), 0, HEIGHT)
    drawn = [
        _column(across, up, low, high, n, x) for low, high, n in zip(edges, edges[1:], counts.tolist(), strict=False)
    ]
    middle = float(np.median(numbers)) if len(numbers) else None
    if middle is not None:
        place, over = across(middle), across(middle) > 340
        drawn.append(line(place, up.end - 4, place, up.start, "reference"))
        words = f"median {said(middle, Axis('', 'count') if middle.is_integer() else x)}"
        drawn.append(
            text(place + (-5 if over else 5), up.end + 2, words, "label halo", anchor="end" if over else "start")
        )
    about = f"{x.label}: {len(numbers):,} values" + ("" if middle is None else f", median {middle:.4g}")
    return Chart(
        title, f"{about}, from {edges[0]:.4g} to {edges[-1]:.4g}.", "".join([*grid, *drawn]), 22 + HEIGHT + FOOT
    )


def _edges(numbers: NDArray[np.float64], x: Axis, bins: int) -> NDArray[np.float64]:
    if not len(numbers):
        return np.array([1.0, 10.0]) if x.log else np.array([0.0, 1.0])
    low, high = float(numbers.min()), float(numbers.max())
    if x.log and x.form == "count":  # whole numbers: no bin without any
        return np.unique(np.floor(np.geomspace(max(low, 1), high + 1, bins + 1)))
    if x.log:
        return np.geomspace(low, max(high, low * 1.5) * 1.0001, bins + 1)
    ticks: Sequence[float] = nice_ticks(low, high if high > low else low + 1, bins)
    return np.array([*ticks, 2 * ticks[-1] - ticks[-2]]) if high >= ticks[-1] else np.array(ticks)


def _column(across: Scale, up: Scale, low: float, high: float, count: int, x: Axis) -> str:
    left, right = across(low), across(high)
    hint = f"{said(low, x)} to {said(high, x)}: {count:,}"
    return rect(left + 0.5, up(count), right - left - 1, up.start - up(count), "f0", hint=hint) if count else ""
