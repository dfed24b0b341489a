"""Charts of a plane, in which both directions mean something: lines, points and histograms."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corml.evaluation.charts._axes import Axis, Scale, nice_ticks
from corml.evaluation.charts._drawing import COLOURS, WIDTH, Chart, Drawing, Key, clip, plain, width_of

HEAD, FOOT, RIGHT = 22, 44, WIDTH - 12  # above the plane the label of y, below it ticks and the label of x
MARGIN = 0.08  # around points, of what they span
LONGEST = 170  # of a name next to a point

Point = tuple[float, float]
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Line:
    """A series of (x, y) points, connected if they are `joined`; a single one is a point. `marks` draws markers."""

    name: str
    points: Sequence[Point]
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
    height: float = 210,
) -> Chart:
    """Draw series; `named` writes names next to the points instead of a legend; `reference` is a named value of y."""
    usable = [
        replace(one, points=[(float(a), float(b)) for a, b in one.points if x.shows(a) and y.shows(b)])
        for one in series
    ]
    colours = [at if one.colour is None else one.colour for at, one in enumerate(series)]
    keys = [] if named or len(usable) < 2 else [Key(one.name, "marker", colours[n]) for n, one in enumerate(usable)]
    drawn = Drawing()
    top = drawn.legend([*keys, *([Key(reference[1], "reference")] if reference else [])])
    xs, ys = (_with_margin([p[at] for one in usable for p in one.points], (x, y)[at], wide=named) for at in (0, 1))
    across, up = _plane(drawn, x, y, xs, [*ys, *([reference[0]] if reference else [])], top, height)
    if reference:
        drawn.line(across.start, up(reference[0]), across.end, up(reference[0]), "reference")
    for at, one in sorted(enumerate(usable), key=lambda pair: len(pair[1].points) == 1):  # points above curves
        _draw(drawn, one, colours[at], across, up)
    if named:
        _label(drawn, usable, colours, across, up, top + HEAD)
    description = f"{x.label} against {y.label}. {'; '.join(map(_described, series))}."
    return drawn.chart(title, description, top + HEAD + height + FOOT)


def histogram(values: ArrayLike, *, x: Axis, y: Axis, title: str = "", bins: int = 24) -> Chart:
    """Draw how values are distributed; the dashed line is their median. A logarithmic axis has bins of equal ratio."""
    numbers, height, drawn = np.asarray(values, dtype=float), 170, Drawing()
    numbers = numbers[np.isfinite(numbers) & ((numbers > 0) | (not x.log))]
    edges = _edges(numbers, x, bins)
    counts, _ = np.histogram(numbers, bins=edges)
    across, up = _plane(drawn, x, replace(y, zero=True, log=False), edges.tolist(), counts.tolist(), 0, height)
    for low, high, count in zip(edges, edges[1:], counts.tolist(), strict=False):
        if count:
            hint, left = f"{x.written(low)} to {x.written(high)}: {count:,}", across(low) + 0.5
            drawn.rect(left, up(count), across(high) - left - 0.5, up.start - up(count), 0, hint)
    about = f"{x.label}: {len(numbers):,} values"
    if len(numbers):
        middle = float(np.median(numbers))
        place, words = across(middle), replace(x, form="count" if middle.is_integer() else x.form).written(middle)
        drawn.line(place, up.end - 4, place, up.start, "reference")
        shift, anchor = (-5, "end") if place > 340 else (5, "start")
        drawn.text(place + shift, up.end + 2, f"median {words}", "label halo", anchor)
        about += f", median {middle:.4g}"
    return drawn.chart(title, f"{about}, from {edges[0]:.4g} to {edges[-1]:.4g}.", HEAD + height + FOOT)


def _plane(
    drawn: Drawing, x: Axis, y: Axis, xs: Iterable[float], ys: Iterable[float], top: float, height: float
) -> tuple[Scale, Scale]:
    """Draw grid, ticks and labels, that of y above its ticks; the scales of both directions."""
    upper, lower = top + HEAD, top + HEAD + height
    up, y_ticks = y.fitted(ys, lower, upper, count=4)
    words = y.wording(y_ticks)
    left = max((width_of(word, 12) for word in words), default=0) + 9
    across, x_ticks = x.fitted(xs, left, RIGHT)
    drawn.text(0, top + 8, clip(y.label, WIDTH), "label")
    for tick, word in zip(y_ticks, words, strict=True):
        drawn.line(left, up(tick), RIGHT, up(tick), "grid")
        drawn.text(left - 6, up(tick), word, "tick", "end")
    for tick, word in zip(x_ticks, x.wording(x_ticks), strict=True):
        place = across(tick)
        drawn.line(place, lower, place, lower + 4, "axis")
        over = place + width_of(word, 12) / 2 > WIDTH  # it would run over the edge, and ends there
        drawn.text(WIDTH if over else place, lower + 14, word, "tick", "end" if over else "middle")
    drawn.line(left, lower, RIGHT, lower, "axis")
    drawn.text((left + RIGHT) / 2, lower + 34, clip(x.label, WIDTH), "label", "middle")
    return across, up


def _with_margin(values: list[float], axis: Axis, *, wide: bool) -> list[float]:
    if not values or axis.log or not wide:
        return values
    margin = MARGIN * (max(values) - min(values))
    return [min(values) - margin, max(values) + margin]


def _draw(drawn: Drawing, one: Line, colour: int, across: Scale, up: Scale) -> None:
    curve = one.joined and len(one.points) > 1
    if curve:
        kind = f"line s{colour % COLOURS}" + (" dashed" if colour >= COLOURS else "")
        points = " ".join(f"{plain(across(a))},{plain(up(b))}" for a, b in one.points)
        drawn.add("polyline", points=points, **{"class": kind})
    if one.marks or not curve:
        for a, b in one.points:
            drawn.marker(across(a), up(b), colour, f"{one.name}: {a:.4g}, {b:.4g}")


def _described(one: Line) -> str:
    """Short series point by point, long ones by their ends."""
    if len(one.points) <= 6:
        return f"{one.name}: " + ", ".join(f"({a:.4g}, {b:.4g})" for a, b in one.points)
    return f"{one.name}: from " + " to ".join(f"({a:.4g}, {b:.4g})" for a, b in (one.points[0], one.points[-1]))


def _edges(numbers: NDArray[np.float64], x: Axis, bins: int) -> NDArray[np.float64]:
    if not len(numbers):
        return np.array([1.0, 10.0]) if x.log else np.array([0.0, 1.0])
    low, high = float(numbers.min()), float(numbers.max())
    if x.log and x.form == "count":  # whole numbers: every bin holds at least one
        return np.unique(np.floor(np.geomspace(max(low, 1), high + 1, bins + 1)))
    if x.log:
        return np.geomspace(low, max(high, low * 1.5) * 1.0001, bins + 1)
    ticks: Sequence[float] = nice_ticks(low, high if high > low else low + 1, bins)
    return np.array([*ticks, 2 * ticks[-1] - ticks[-2]]) if high >= ticks[-1] else np.array(ticks)


# --- names next to points --------------------------------------------------------------------------------------------


def _label(drawn: Drawing, series: Sequence[Line], colours: list[int], across: Scale, up: Scale, top: float) -> None:
    """Write the name of each series and the words at its ends at the freest place around their points."""
    placed = [[(across(a), up(b)) for a, b in one.points] for one in series]
    taken = [(x - 7, y - 7, x + 7, y + 7) for points in placed for x, y in _along(points)]
    for one, points, colour in zip(series, placed, colours, strict=True):
        names = [(one.name, f"name halo f{colour % COLOURS}", points)]
        if len(points) > 1:
            names += [(word, "label halo", [points[at]]) for word, at in zip(one.ends, (0, -1), strict=True)]
        for words, kind, around in names:
            if words and around:
                shown = clip(words, LONGEST, bold=True)
                box, anchor = _free_place(around, width_of(shown, bold=True), taken, top)
                taken.append(box)
                drawn.text(box[0] if anchor == "start" else box[2], (box[1] + box[3]) / 2, shown, kind, anchor)


def _along(points: Sequence[Point]) -> list[Point]:
    """The points and, between each two, some of the line that connects them."""
    between = [
        (a + (c - a) * step / 8, b + (d - b) * step / 8) for (a, b), (c, d) in pairwise(points) for step in range(1, 8)
    ]
    return [*points, *between]


def _free_place(points: Sequence[Point], wide: float, taken: Sequence[Box], top: float) -> tuple[Box, str]:
    """The box that overlaps least: right, left, above or below a point, the middle one first, then further away."""
    best: tuple[float, Box, str] = (np.inf, (0, 0, 0, 0), "start")
    for x, y in (points[len(points) // 2], *points):
        rank = 0
        for away in (0, 14, 28):
            right, left, centre = (x + 11, "start"), (x - 11 - wide, "end"), (x - wide / 2, "start")
            places = [(right, -away), (left, -away), (centre, -16 - away)]
            places += [(centre, 18 + away), (right, away), (left, away)]
            for (start, anchor), down in places:
                box = (start, y + down - 7.5, start + wide, y + down + 7.5)
                outside = max(0.0, -box[0]) + max(0.0, box[2] - WIDTH) + max(0.0, top - box[1])
                cost = 50 * outside + sum(_overlap(box, other) for other in taken) + rank
                best = min(best, (cost, box, anchor), key=lambda one: one[0])
                rank += 1
    return best[1], best[2]


def _overlap(one: Box, other: Box) -> float:
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    return across * down if across > 0 and down > 0 else 0.0
