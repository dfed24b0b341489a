"""Names beside points, where they hide neither each other nor a marker."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from corml.evaluation.charts._svg import clip, text, width_of
from corml.evaluation.charts.chart import WIDTH

__all__ = ["Named", "labels"]

Point = tuple[float, float]
Box = tuple[float, float, float, float]

LONGEST = 170
HIGH = 15


class Named(NamedTuple):
    """Words, their class, and the points beside one of which they may stand."""

    words: str
    kind: str
    points: Sequence[Point]


def labels(names: Sequence[Named], top: float) -> str:
    """Write each name at the freest place around its points."""
    taken: list[Box] = [(x - 7, y - 7, x + 7, y + 7) for one in names for x, y in _along(one.points)]
    parts = []
    for one in names:
        if not one.words:  # only its points are in the way
            continue
        shown = clip(one.words, LONGEST, bold=True)
        box, anchor = _free_place(one.points, width_of(shown, bold=True), taken, top)
        taken.append(box)
        x = box[0] if anchor == "start" else box[2]
        parts.append(text(x, (box[1] + box[3]) / 2, shown, one.kind, anchor=anchor))
    return "".join(parts)


def _along(points: Sequence[Point]) -> list[Point]:
    """The points and, between each two, some of the line that connects them."""
    between = [
        (a + (c - a) * step / 8, b + (d - b) * step / 8) for (a, b), (c, d) in pairwise(points) for step in range(1, 8)
    ]
    return [*points, *between]


def _free_place(points: Sequence[Point], wide: float, taken: Sequence[Box], top: float) -> tuple[Box, str]:
    middle = points[len(points) // 2]
    best: tuple[float, Box, str] | None = None
    for x, y in (middle, *points):
        for rank, (left, middle_y, anchor) in enumerate(_around(x, y, wide)):
            box = (left, middle_y - HIGH / 2, left + wide, middle_y + HIGH / 2)
            outside = max(0.0, -box[0]) + max(0.0, box[2] - WIDTH) + max(0.0, top - box[1])
            cost = 50 * outside + sum(_overlap(box, other) for other in taken) + rank
            if best is None or cost < best[0]:
                best = cost, box, anchor
    assert best is not None
    return best[1], best[2]


def _around(x: float, y: float, wide: float) -> list[tuple[float, float, str]]:
    """Places in the order of preference: right, left, above, below, and a little further away."""
    places = []
    for away in (0, 14, 28):
        places += [
            (x + 11, y - away, "start"),
            (x - 11 - wide, y - away, "end"),
            (x - wide / 2, y - 16 - away, "start"),
            (x - wide / 2, y + 18 + away, "start"),
            (x + 11, y + away, "start"),
            (x - 11 - wide, y + away, "end"),
        ]
    return places


def _overlap(one: Box, other: Box) -> float:
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    return across * down if across > 0 and down > 0 else 0.0
