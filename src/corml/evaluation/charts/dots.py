"""Dot plot: one row per thing, one dot per series, with intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from corml.evaluation.charts._legend import Key, legend, tint
from corml.evaluation.charts._svg import COLOURS, clip, line, marker, text
from corml.evaluation.charts.axis import Axis, Scale, fitted, wording
from corml.evaluation.charts.chart import WIDTH, Chart

__all__ = ["Dots", "dots"]

Interval = tuple[float, float] | None

LANE = 17  # height of a dot's own lane
NAME = 22  # height of a row's name above its dots
RIGHT = 14


@dataclass(frozen=True)
class Dots:
    """A series: its name, and for each row a value and its interval (None where there is none)."""

    name: str
    values: Sequence[tuple[float, Interval] | None]
    colour: int | None = None  # its own, where a series keeps it through several charts


def dots(
    series: Sequence[Dots], rows: Sequence[str], *, x: Axis, title: str = "", reference: float | None = None
) -> Chart:
    """Draw rows from the top; with a single series the name and the value of a row stand beside its dot."""
    keys = [Key(one.name, "marker", tint(one, at)) for at, one in enumerate(series)]
    head, top = legend(keys, WIDTH) if len(series) > 1 else ("", 4.0)
    height = NAME + LANE * len(series) + 6
    ends = [end for one in series for value in one.values if value for end in (value[0], *(value[1] or ()))]
    room = 60.0  # for the value to the right of a dot
    scale, ticks = fitted(x, [*ends, *([reference] if reference is not None else [])], 18, WIDTH - RIGHT - room)
    bottom = top + height * len(rows)
    parts = [head]
    for tick, words in zip(ticks, wording(x, ticks), strict=True):
        parts.append(line(scale(tick), top, scale(tick), bottom, "grid"))
        parts.append(text(scale(tick), bottom + 12, words, "tick", anchor="middle"))
    if reference is not None:
        parts.append(line(scale(reference), top, scale(reference), bottom, "reference"))
    parts.append(text(WIDTH / 2, bottom + 32, clip(x.label, WIDTH), "label", anchor="middle"))
    for at, row in enumerate(rows):
        y = top + at * height
        if at:
            parts.append(line(0, y, WIDTH, y, "grid"))
        parts.append(text(0, y + NAME / 2 + 3, clip(row, WIDTH, bold=True), "name halo"))
        for lane, one in enumerate(series):
            value = one.values[at]
            if value is not None and math.isfinite(value[0]):
                middle = y + NAME + LANE * (lane + 0.5)
                parts.append(_dot(scale, value, middle, tint(one, lane), f"{one.name}, {row}"))
    return Chart(title, _described(series, rows, x), "".join(parts), bottom + 44)


def _dot(scale: Scale, value: tuple[float, Interval], y: float, colour: int, about: str) -> str:
    mean, span = value
    low, high = span if span else (mean, mean)
    right = max(scale(high), scale(mean) + 6) + 6
    drawn = line(scale(low), y, scale(high), y, f"span s{colour % COLOURS}") if span else ""
    return (
        drawn
        + marker(scale(mean), y, colour, hint=f"{about}: {_said(value)}")
        + text(right, y, f"{mean:.3f}", "value halo")
    )


def _said(value: tuple[float, Interval]) -> str:
    mean, span = value
    return f"{mean:.4g}" + (f" ({span[0]:.4g} to {span[1]:.4g})" if span else "")


def _described(series: Sequence[Dots], rows: Sequence[str], x: Axis) -> str:
    lines = [
        f"{row}: " + ", ".join(f"{one.name} {_said(v)}" for one in series if (v := one.values[at]) is not None)
        for at, row in enumerate(rows)
    ]
    return f"{x.label}. " + "; ".join(lines) + "."
