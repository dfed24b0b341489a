"""Elements of a drawing as text; whatever comes from data is escaped here."""

import unicodedata
from collections.abc import Mapping

from corml._runtime.html import clean
from corml._runtime.html import escaped as escape

__all__ = ["COLOURS", "clip", "element", "escape", "line", "marker", "polyline", "rect", "text", "width_of"]

COLOURS = 7
SIZE = 13


def element(name: str, attributes: Mapping[str, object], content: str = "") -> str:
    """One element; the content is markup already."""
    given = "".join(f' {key}="{_plain(value)}"' for key, value in attributes.items() if value is not None)
    return f"<{name}{given}>{content}</{name}>" if content else f"<{name}{given}/>"


def text(x: float, y: float, words: str, kind: str = "", *, anchor: str = "start", turned: bool = False) -> str:
    """Words at a point, vertically centred on it."""
    turn = f"rotate(-90 {_plain(x)} {_plain(y)})" if turned else None
    place = {"x": x, "y": y, "class": kind or None, "text-anchor": anchor, "dominant-baseline": "central"}
    return element("text", {**place, "transform": turn}, escape(words) or " ")


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return element("line", {"x1": x1, "y1": y1, "x2": x2, "y2": y2, "class": kind})


def rect(x: float, y: float, width: float, height: float, kind: str, *, hint: str = "") -> str:
    """A rectangle, with words for who points at it."""
    place = {"x": x, "y": y, "width": max(width, 0), "height": height, "rx": 2, "class": kind}
    return element("rect", place, element("title", {}, escape(hint)) if hint else "")


def polyline(points: list[tuple[float, float]], kind: str) -> str:
    """Connected points."""
    return element("polyline", {"points": " ".join(f"{_plain(x)},{_plain(y)}" for x, y in points), "class": kind})


_SHAPES = (
    "M{x} {y}m-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0Z",  # circle
    "M{x} {y}m-4.5 -4.5h9v9h-9Z",  # square
    "M{x} {y}m0 -6l5.5 10h-11Z",  # triangle
    "M{x} {y}m0 -6l6 6l-6 6l-6 -6Z",  # diamond
    "M{x} {y}m0 6l5.5 -10h-11Z",  # triangle upside down
    "M{x} {y}m-2 -6h4v4h4v4h-4v4h-4v-4h-4v-4h4Z",  # plus
    "M{x} {y}m-6 -2h12v4h-12Z",  # bar
)


def marker(x: float, y: float, series: int, *, hint: str = "") -> str:
    """A point; series differ by shape as well as by colour."""
    turn = series + 3 * (series // COLOURS)  # when colours come again, they have other shapes
    shape = _SHAPES[turn % len(_SHAPES)].format(x=_plain(x), y=_plain(y))
    title = element("title", {}, escape(hint)) if hint else ""
    return element("path", {"d": shape, "class": f"edge f{series % COLOURS}"}, title)


def width_of(words: str, size: float = SIZE, *, bold: bool = False) -> float:
    """About how wide a text will be; the reader's font is not known, so rather too wide than too narrow."""
    units = sum(_units(character) for character in clean(words))
    return units * size * (1.17 if bold else 1.0)


def clip(words: str, room: float, size: float = SIZE, *, bold: bool = False) -> str:
    """The text, or as much of its beginning as there is room for."""
    shown = clean(words)
    if width_of(shown, size, bold=bold) <= room:
        return shown
    while shown and width_of(shown + "…", size, bold=bold) > room:
        shown = shown[:-1]
    return shown.rstrip() + "…"


def _units(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    if character in "ijl.,:;|!'()[] ":
        return 0.32
    return 0.72 if character.isupper() or character in "mwMW@%" else 0.57


def _plain(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
