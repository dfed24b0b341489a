"""Charts of rows: for each row and series a dot with its interval, or a bar from zero."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from corml.evaluation.charts._axes import Axis, Scale
from corml.evaluation.charts._drawing import COLOURS, WIDTH, Chart, Drawing, Key, clip, width_of

Value = tuple[float, tuple[float, float] | None]  # with its interval


@dataclass(frozen=True)
class Dots:
    """A series: its name, and for each row a value and its interval (None where there is none)."""

    name: str
    values: Sequence[Value | None]
    colour: int | None = None  # its own, where a series keeps it through several charts


@dataclass(frozen=True)
class Bars:
    """A series: its name and a value for each group (None where there is none)."""

    name: str
    values: Sequence[float | None]
    colour: int | None = None  # its own, where a series keeps it through several charts


@dataclass(frozen=True)
class _Layout:
    """Heights of a row's name and of a lane, margins, and how a value is drawn in the middle of a lane and written."""

    name: int
    lane: int
    margins: tuple[float, float]
    mark: str
    missing: str
    draw: Callable[[Drawing, Scale, Axis, Value, float, int, str], None]
    written: Callable[[Axis, Value], str]


def dots(
    series: Sequence[Dots], rows: Sequence[str], *, x: Axis, title: str = "", reference: float | None = None
) -> Chart:
    """Draw a dot for each row and series, with intervals; `reference` is a value to compare with."""
    layout = _Layout(22, 17, (18, 74), "marker", "", _dot, _with_interval)
    return _rows(series, rows, x, title, None if reference is None else (reference, ""), layout)


def bars(
    series: Sequence[Bars],
    groups: Sequence[str],
    *,
    x: Axis,
    title: str = "",
    reference: tuple[float, str] | None = None,
) -> Chart:
    """Draw bars from zero; `reference` is a value to compare with, and its name."""
    pairs = [Dots(one.name, [None if v is None else (v, None) for v in one.values], one.colour) for one in series]
    layout = _Layout(25, 18, (4, 58), "box", "–", _bar, lambda axis, value: axis.written(value[0]))
    return _rows(pairs, groups, replace(x, zero=True), title, reference, layout)


def _rows(
    series: Sequence[Dots],
    rows: Sequence[str],
    x: Axis,
    title: str,
    reference: tuple[float, str] | None,
    layout: _Layout,
) -> Chart:
    drawn, colours = Drawing(), [at if one.colour is None else one.colour for at, one in enumerate(series)]
    keys = [Key(one.name, layout.mark, colour) for one, colour in zip(series, colours, strict=True)]
    named = [Key(reference[1], "reference")] if reference and reference[1] else []
    top = max(drawn.legend([*(keys if len(series) > 1 else []), *named]), 4.0)
    height = layout.name + layout.lane * len(series) + 6
    bottom = top + height * len(rows)
    ends = [end for one in series for value in one.values if value for end in (value[0], *(value[1] or ()))]
    left, right = layout.margins
    scale, ticks = x.fitted([*ends, *([reference[0]] if reference else [])], left, WIDTH - right, count=4)
    for tick, words in zip(ticks, x.wording(ticks), strict=True):
        drawn.line(scale(tick), top, scale(tick), bottom, "axis" if x.zero and tick == 0 else "grid")
        at_edge = scale(tick) < width_of(words) / 2
        drawn.text(scale(tick), bottom + 12, words, "tick", "start" if at_edge else "middle")
    if reference:
        drawn.line(scale(reference[0]), top, scale(reference[0]), bottom, "reference")
    drawn.text(WIDTH / 2, bottom + 32, clip(x.label, WIDTH), "label", "middle")
    sentences = []
    for at, row in enumerate(rows):
        y = top + at * height
        drawn.text(0, y + layout.name / 2 + 2, clip(row, WIDTH, bold=True), "name halo")
        said = []
        for lane, one in enumerate(series):
            value, middle = one.values[at], y + layout.name + layout.lane * (lane + 0.5)
            written = None if value is None else layout.written(x, value)
            if written:
                said.append(f"{one.name} {written}")
            if value is not None and math.isfinite(value[0]):
                layout.draw(drawn, scale, x, value, middle, colours[lane], f"{one.name}, {row}: {written}")
            elif layout.missing:
                drawn.text(scale(0) + 4, middle, layout.missing, "value")
        sentences.append(f"{row}: {', '.join(said)}")
    return drawn.chart(title, f"{x.label}. {'; '.join(sentences)}.", bottom + 44)


def _dot(drawn: Drawing, scale: Scale, _: Axis, value: Value, y: float, colour: int, hint: str) -> None:
    mean, interval = value
    low, high = interval or (mean, mean)
    if interval:
        drawn.line(scale(low), y, scale(high), y, f"span s{colour % COLOURS}")
    drawn.marker(scale(mean), y, colour, hint)
    drawn.text(max(scale(high), scale(mean) + 6) + 6, y, f"{mean:.3f}", "value halo")


def _bar(drawn: Drawing, scale: Scale, axis: Axis, value: Value, y: float, colour: int, hint: str) -> None:
    start, end = sorted((scale(0), scale(value[0])))
    drawn.rect(start, y - 7.5, end - start, 15, colour, hint)
    drawn.text(end + 5, y, axis.written(value[0]), "value halo")


def _with_interval(_: Axis, value: Value) -> str:
    mean, interval = value
    return f"{mean:.4g}" + (f" ({interval[0]:.4g} to {interval[1]:.4g})" if interval else "")
