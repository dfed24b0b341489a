"""Bars to the right: groups from the top, in each a bar for every series."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from corml.evaluation.charts._legend import Key, legend, tint
from corml.evaluation.charts._svg import COLOURS, clip, line, rect, text, width_of
from corml.evaluation.charts.axis import Axis, Scale, fitted, wording
from corml.evaluation.charts.chart import WIDTH, Chart

__all__ = ["Bars", "bars"]

BAR = 15
NAME = 27  # height of a group's name above its bars
GAP = 3
LEFT = 4.0


@dataclass(frozen=True)
class Bars:
    """A series: its name and a value for each group (None where there is none)."""

    name: str
    values: Sequence[float | None]
    colour: int | None = None  # its own, where a series keeps it through several charts


def bars(
    series: Sequence[Bars],
    groups: Sequence[str],
    *,
    x: Axis,
    title: str = "",
    reference: tuple[float, str] | None = None,
) -> Chart:
    """Draw bars from zero; `reference` is a value to compare with, and its name."""
    keys = [Key(one.name, "box", tint(one, at)) for at, one in enumerate(series)] if len(series) > 1 else []
    head, top = legend([*keys, *([Key(reference[1], "reference")] if reference else [])], WIDTH)
    known = [value for one in series for value in one.values if value is not None]
    axis = Axis(x.label, x.form, x.log, zero=True)
    scale, ticks = fitted(axis, [*known, *([reference[0]] if reference else [])], LEFT, WIDTH - 58, count=4)
    height = NAME + (BAR + GAP) * len(series) + 6
    bottom = top + height * len(groups)
    parts = [head, *_grid(scale, ticks, wording(axis, ticks), top, bottom)]
    if reference:
        parts.append(line(scale(reference[0]), top, scale(reference[0]), bottom, "reference"))
    for at, group in enumerate(groups):
        y = top + at * height
        parts.append(text(0, y + NAME / 2, clip(group, WIDTH, bold=True), "name halo"))
        for lane, one in enumerate(series):
            place = y + NAME + lane * (BAR + GAP)
            parts.append(_bar(scale, one.values[at], place, tint(one, lane), axis, f"{one.name}, {group}"))
    parts.append(text(WIDTH / 2, bottom + 32, clip(x.label, WIDTH), "label", anchor="middle"))
    return Chart(title, _described(series, groups, axis), "".join(parts), bottom + 44)


def _grid(scale: Scale, ticks: Sequence[float], words: Sequence[str], top: float, bottom: float) -> list[str]:
    parts = [line(scale(tick), top, scale(tick), bottom, "axis" if tick == 0 else "grid") for tick in ticks]
    return parts + [
        text(scale(t), bottom + 12, w, "tick", anchor="start" if scale(t) < width_of(w) / 2 else "middle")
        for t, w in zip(ticks, words, strict=True)
    ]


def _bar(scale: Scale, value: float | None, y: float, colour: int, axis: Axis, hint: str) -> str:
    if value is None or not math.isfinite(value):
        return text(scale(0) + 4, y + BAR / 2, "–", "value")
    written = said(value, axis)
    start, end = sorted((scale(0), scale(value)))
    kind = f"f{colour % COLOURS}"
    return rect(start, y, end - start, BAR, kind, hint=f"{hint}: {written}") + text(
        end + 5, y + BAR / 2, written, "value halo"
    )


def said(value: float, axis: Axis) -> str:
    """A value as its axis writes it."""
    if axis.form == "percent":
        return f"{100 * value:.{0 if abs(value) >= 0.0995 or value == 0 else 1 if abs(value) > 0.00995 else 2}f} %"
    return f"{value:,.0f}" if axis.form == "count" else f"{value:.3f}"


def _described(series: Sequence[Bars], groups: Sequence[str], axis: Axis) -> str:
    lines = [
        f"{group}: " + ", ".join(f"{one.name} {said(v, axis)}" for one in series if (v := one.values[at]) is not None)
        for at, group in enumerate(groups)
    ]
    return f"{axis.label}. " + "; ".join(lines) + "."
