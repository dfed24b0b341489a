"""A plane with two axes, for charts in which both directions mean something."""

from collections.abc import Iterable, Sequence

from corml.evaluation.charts._svg import clip, line, text, width_of
from corml.evaluation.charts.axis import Axis, Scale, fitted, wording
from corml.evaluation.charts.chart import WIDTH

__all__ = ["FOOT", "plane"]

FOOT = 44  # below the plane: ticks and the label
RIGHT = 12


def plane(
    x: Axis, y: Axis, xs: Iterable[float], ys: Iterable[float], top: float, height: float
) -> tuple[list[str], Scale, Scale]:
    """Draw grid, ticks and labels; give the scales of both directions. The label of y stands above its ticks."""
    upper, lower = top + 22, top + 22 + height
    up, y_ticks = fitted(y, ys, lower, upper, count=4)
    words = wording(y, y_ticks)
    left = max((width_of(word, 12) for word in words), default=0) + 9
    across, x_ticks = fitted(x, xs, left, WIDTH - RIGHT)
    parts = [text(0, top + 8, clip(y.label, WIDTH), "label")]
    for tick, said in zip(y_ticks, words, strict=True):
        parts.append(line(left, up(tick), WIDTH - RIGHT, up(tick), "grid"))
        parts.append(text(left - 6, up(tick), said, "tick", anchor="end"))
    parts += _below(across, x_ticks, wording(x, x_ticks), lower)
    parts.append(line(left, lower, WIDTH - RIGHT, lower, "axis"))
    parts.append(text((left + WIDTH - RIGHT) / 2, lower + 34, clip(x.label, WIDTH), "label", anchor="middle"))
    return parts, across, up


def _below(across: Scale, ticks: Sequence[float], words: Sequence[str], y: float) -> list[str]:
    """Ticks of x; one that would run over the edge ends there."""
    parts = []
    for tick, said in zip(ticks, words, strict=True):
        place = across(tick)
        over = place + width_of(said, 12) / 2 > WIDTH
        parts.append(line(place, y, place, y + 4, "axis"))
        parts.append(text(WIDTH if over else place, y + 14, said, "tick", anchor="end" if over else "middle"))
    return parts
