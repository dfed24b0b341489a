"""Curves and points on a plane: trade-offs, shares, and how a solver converges."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from corml.evaluation.charts._labels import Named, labels
from corml.evaluation.charts._legend import Key, legend, tint
from corml.evaluation.charts._plane import FOOT, plane
from corml.evaluation.charts._svg import COLOURS, line, marker, polyline
from corml.evaluation.charts.axis import Axis, Scale
from corml.evaluation.charts.chart import WIDTH, Chart

__all__ = ["Line", "lines"]

HEIGHT = 210
MARGIN = 0.08  # around points, of what they span


@dataclass(frozen=True)
class Line:
    """A series of (x, y) points, connected if they are `joined`; a single one is a point. `marks` draws markers."""

    name: str
    points: Sequence[tuple[float, float]]
    marks: bool = False
    joined: bool = True
    ends: tuple[str, str] = ("", "")  # words at the first and at the last point
    colour: int | None = None  # its own, where a series keeps it through several charts


def lines(
    series: Sequence[Line],
    *,
    x: Axis,
    y: Axis,
    title: str = "",
    reference: tuple[float, str] | None = None,
    named: bool = False,
    height: float = HEIGHT,
) -> Chart:
    """Draw series; `named` writes names beside the points instead of a key; `reference` is a value of y with a name."""
    usable = [_finite(one, x, y) for one in series]
    keys = [] if named or len(usable) < 2 else [Key(one.name, "marker", tint(one, at)) for at, one in enumerate(usable)]
    head, top = legend([*keys, *([Key(reference[1], "reference")] if reference else [])], WIDTH)
    xs = _with_margin([p[0] for one in usable for p in one.points], x, wide=named)
    ys = _with_margin([p[1] for one in usable for p in one.points], y, wide=named)
    grid, across, up = plane(x, y, xs, [*ys, *([reference[0]] if reference else [])], top, height)
    parts = [head, *grid]
    if reference:
        parts.append(line(across.start, up(reference[0]), across.end, up(reference[0]), "reference"))
    curves_first = sorted(enumerate(usable), key=lambda pair: len(pair[1].points) == 1)
    parts += [_drawn(one, tint(one, at), across, up) for at, one in curves_first]
    if named:
        parts.append(
            labels([name for at, one in enumerate(usable) for name in _names(one, tint(one, at), across, up)], top + 22)
        )
    return Chart(title, _described(series, x, y), "".join(parts), top + 22 + height + FOOT)


def _finite(one: Line, x: Axis, y: Axis) -> Line:
    """Without points that an axis cannot show."""
    points = [(float(a), float(b)) for a, b in one.points if _shown(a, x) and _shown(b, y)]
    return replace(one, points=points)


def _shown(value: float, axis: Axis) -> bool:
    return math.isfinite(value) and (value > 0 or not axis.log)


def _with_margin(values: list[float], axis: Axis, *, wide: bool) -> list[float]:
    if not values or axis.log or not wide:
        return values
    margin = MARGIN * (max(values) - min(values))
    return [min(values) - margin, max(values) + margin]


def _drawn(one: Line, at: int, across: Scale, up: Scale) -> str:
    points = [(across(a), up(b)) for a, b in one.points]
    dashed = " dashed" if at >= COLOURS else ""
    drawn = polyline(points, f"line s{at % COLOURS}{dashed}") if len(points) > 1 and one.joined else ""
    if not one.marks and drawn:
        return drawn
    return drawn + "".join(
        marker(*place, at, hint=f"{one.name}: {value[0]:.4g}, {value[1]:.4g}")
        for place, value in zip(points, one.points, strict=True)
    )


def _names(one: Line, at: int, across: Scale, up: Scale) -> list[Named]:
    """The name of a series and the words at its ends, with the points they belong to."""
    points = [(across(a), up(b)) for a, b in one.points]
    if not points:
        return []
    named = [Named(one.name, f"name halo f{at % COLOURS}", points)] if one.name else [Named("", "", points)]
    if any(one.ends) and len(points) > 1:
        named += [
            Named(word, "label halo", [point]) for word, point in zip(one.ends, (points[0], points[-1]), strict=True)
        ]
    return named


def _described(series: Sequence[Line], x: Axis, y: Axis) -> str:
    """Short series point by point, long ones by their ends."""
    said = []
    for one in series:
        points = list(one.points) if len(one.points) <= 6 else [one.points[0], one.points[-1]]
        way = "" if len(points) == len(one.points) else "from "
        said.append(f"{one.name}: {way}" + (" to " if way else ", ").join(f"({a:.4g}, {b:.4g})" for a, b in points))
    return f"{x.label} against {y.label}. " + "; ".join(said) + "."
