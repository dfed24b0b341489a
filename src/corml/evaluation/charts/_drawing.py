"""Elements of a drawing as text, and the finished chart; whatever comes from data is escaped here."""

import os
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from corml._runtime.html import clean, escaped
from corml.errors import UsageError, ascii_line
from corml.persistence import atomic

WIDTH = 460.0  # units of the drawing: its text of 13 is still readable on a phone of 390 pixels
COLOURS = 7
STYLE = files("corml.evaluation.charts").joinpath("style.css").read_text("utf-8")
SHAPES = (
    "M{x} {y}m-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0Z",  # circle
    "M{x} {y}m-4.5 -4.5h9v9h-9Z",  # square
    "M{x} {y}m0 -6l5.5 10h-11Z",  # triangle
    "M{x} {y}m0 -6l6 6l-6 6l-6 -6Z",  # diamond
    "M{x} {y}m0 6l5.5 -10h-11Z",  # triangle upside down
    "M{x} {y}m-2 -6h4v4h4v4h-4v4h-4v-4h-4v-4h4Z",  # plus
    "M{x} {y}m-6 -2h12v4h-12Z",  # bar
)


@dataclass(frozen=True)
class Chart:
    """An SVG drawing. A notebook shows it; `save` writes a file; a page that has the style takes `svg(style=False)`."""

    title: str
    description: str
    body: str
    height: float
    width: float = WIDTH

    def svg(self, *, style: bool = True) -> str:
        """The drawing as one svg element; with its style it is complete, on a background of its own."""
        words = element("title", {}, escaped(self.title)) + element("desc", {}, escaped(self.description))
        paper = f"<style>{STYLE}</style>" + '<rect class="paper" width="100%" height="100%"/>' if style else ""
        size = {"width": f"{self.width:g}", "height": f"{self.height:g}"} if style else {}
        box = {"class": "corml-chart", "role": "img", "viewBox": f"0 0 {self.width:g} {self.height:g}"}
        return element("svg", {"xmlns": "http://www.w3.org/2000/svg", **box, **size}, words + paper + self.body)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an .svg file, atomically."""
        if Path(path).suffix.lower() != ".svg":
            raise UsageError(f"A chart is written as .svg; got {ascii_line(path, 200)}.")
        atomic.replace(path, (self.svg() + "\n").encode("utf-8"))

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return f"Chart({self.title!r}): .save('chart.svg') writes it"


class Key(NamedTuple):
    """An entry of a legend: a name and its mark, "marker", "box" or "reference"."""

    name: str
    mark: str
    colour: int = 0


@dataclass
class Drawing:
    """A chart in progress: each method adds marks."""

    parts: list[str] = field(default_factory=list)

    def add(self, name: str, hint: str = "", **attributes: object) -> None:
        """An element, with a tooltip."""
        self.parts.append(element(name, attributes, element("title", {}, escaped(hint)) if hint else ""))

    def text(self, x: float, y: float, words: str, kind: str, anchor: str = "start") -> None:
        """Words at a point, vertically centred on it."""
        place = {"x": x, "y": y, "class": kind, "text-anchor": anchor, "dominant-baseline": "central"}
        self.parts.append(element("text", place, escaped(words) or " "))

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        """A straight line."""
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, **{"class": kind})

    def rect(self, x: float, y: float, width: float, height: float, colour: int, hint: str = "") -> None:
        """A bar."""
        size = {"width": max(width, 0), "height": height, "rx": 2}
        self.add("rect", hint, x=x, y=y, **size, **{"class": f"f{colour % COLOURS}"})

    def marker(self, x: float, y: float, colour: int, hint: str = "") -> None:
        """A point; series differ by shape as well as by colour."""
        turn = colour + 3 * (colour // COLOURS)  # repeated colours have other shapes
        shape = SHAPES[turn % len(SHAPES)].format(x=plain(x), y=plain(y))
        self.add("path", hint, d=shape, **{"class": f"edge f{colour % COLOURS}"})

    def legend(self, keys: Sequence[Key]) -> float:
        """Marks and names from the top, in as many rows as they need; the height of that."""
        x, y = 0.0, 10.0
        for key in keys:
            shown = clip(key.name, WIDTH - 20)
            needed = 18 + width_of(shown)
            if x > 0 and x + needed > WIDTH:
                x, y = 0.0, y + 20
            if key.mark == "reference":
                self.line(x, y, x + 13, y, "reference")
            elif key.mark == "box":
                self.rect(x, y - 5, 11, 10, key.colour)
            else:
                self.marker(x + 6, y, key.colour)
            self.text(x + 18, y, shown, "label")
            x += needed + 16
        return y + 16 if keys else 0.0

    def chart(self, title: str, description: str, height: float) -> Chart:
        """The finished chart."""
        return Chart(title, description, "".join(self.parts), height)


def panels(parts: Mapping[str, Chart], *, title: str = "") -> Chart:
    """Several charts as one, below each other, each with its name above it."""
    drawn, y = Drawing(), 0.0
    for name, chart in parts.items():
        drawn.text(0, y + 13, clip(name, WIDTH, bold=True), "name")
        drawn.parts.append(element("g", {"transform": f"translate(0 {y + 26:g})"}, chart.body))
        y += 26 + chart.height + 14
    return drawn.chart(title, " ".join(f"{name}: {chart.description}" for name, chart in parts.items()), max(y - 14, 0))


def element(name: str, attributes: Mapping[str, object], content: str = "") -> str:
    """One element; the content is markup already."""
    given = "".join(f' {key}="{plain(value)}"' for key, value in attributes.items())
    return f"<{name}{given}>{content}</{name}>" if content else f"<{name}{given}/>"


def width_of(words: str, size: float = 13, *, bold: bool = False) -> float:
    """About how wide a text will be; the reader's font is unknown, so rather too wide than too narrow."""
    return sum(_units(character) for character in clean(words)) * size * (1.17 if bold else 1.0)


def clip(words: str, room: float, *, bold: bool = False) -> str:
    """The text, or as much of its beginning as fits."""
    shown = clean(words)
    if width_of(shown, bold=bold) <= room:
        return shown
    while shown and width_of(shown + "…", bold=bold) > room:
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


def plain(value: object) -> str:
    """The value of an attribute."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else escaped(value)
