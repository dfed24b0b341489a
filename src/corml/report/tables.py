"""The table of models and metrics."""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Literal, TypeAlias

from corml.errors import UsageError, ascii_line
from corml.evaluation import Result
from corml.experiments.grid import BEST, Grid, Value
from corml.report.subject import Measure, measure, shared_names

MAX_DIGITS, MIN_DIGITS = 4, 2

Style: TypeAlias = Literal["plus-minus", "range", "none"]


def comparison(
    results: Mapping[str, Result], metrics: Sequence[str] | None = None, *, intervals: Style = "plus-minus"
) -> Grid:
    """Models down, metrics across, the best of each column marked where a metric has a better direction.

    `intervals` shows the confidence interval of each value as "plus-minus" (±0.012), as a "range"
    ([0.301, 0.325]) or not at all ("none").
    """
    if intervals not in _INTERVALS:
        raise UsageError(f"intervals must be one of {', '.join(_INTERVALS)}; got {ascii_line(intervals)}.")
    about = [measure(name) for name in (shared_names(results.values()) if metrics is None else metrics)]
    columns = [[Value(model) for model in results], *(_column(results, one, intervals) for one in about)]
    heads, meanings = (one.label for one in about), (one.meaning for one in about)
    return Grid(("Model", *heads), tuple(zip(*columns, strict=True)), meanings=("", *meanings))


def _column(results: Mapping[str, Result], about: Measure, style: Style) -> list[Value]:
    """The values of one metric with equally many digits; equal as shown means equally good."""
    values = [float(result[about.name]) for result in results.values()]
    spans = [result.intervals.get(about.name) for result in results.values()]
    digits = _digits([(high - low) / 2 for low, high in (span for span in spans if span)])
    rounded = [round(value, digits) for value in values if math.isfinite(value)]
    best = None if not rounded or about.better == 0 else max(rounded) if about.better > 0 else min(rounded)
    return [
        Value(
            f"{value:.{digits}f}" if math.isfinite(value) else "–",
            _INTERVALS[style](value, span, digits) if span else "",
            BEST if len(values) > 1 and round(value, digits) == best else "",
        )
        for value, span in zip(values, spans, strict=True)
    ]


def _digits(half_widths: Sequence[float]) -> int:
    """Two digits of the uncertainty: more would be noise, and without an interval four are usual."""
    sizes = [half for half in half_widths if math.isfinite(half) and half > 0]
    if not sizes:
        return MAX_DIGITS
    return min(max(1 - math.floor(math.log10(median(sizes))), MIN_DIGITS), MAX_DIGITS)


_INTERVALS: dict[Style, Callable[[float, tuple[float, float], int], str]] = {
    "plus-minus": lambda value, span, digits: f"±{max(value - span[0], span[1] - value):.{digits}f}",
    "range": lambda value, span, digits: f"[{span[0]:.{digits}f}, {span[1]:.{digits}f}]",
    "none": lambda value, span, digits: "",
}
