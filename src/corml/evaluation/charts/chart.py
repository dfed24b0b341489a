"""A finished drawing: markup with a title and a description for those who do not see it."""

import os
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from corml.errors import UsageError, ascii_line
from corml.evaluation.charts._svg import element, escape
from corml.persistence import atomic

__all__ = ["STYLE", "WIDTH", "Chart"]

WIDTH = 460  # units of the drawing: on a phone of 390 pixels its text of 13 is still read
STYLE = files("corml.evaluation.charts").joinpath("style.css").read_text("utf-8")


@dataclass(frozen=True)
class Chart:
    """An SVG drawing. A notebook shows it; `save` writes a file; a page that has the style takes `svg(style=False)`."""

    title: str
    description: str
    body: str
    height: float
    width: float = WIDTH

    def svg(self, *, style: bool = True) -> str:
        """The drawing as one svg element; with its style it stands alone, on paper of its own."""
        size = f"0 0 {self.width:g} {self.height:g}"
        words = element("title", {}, escape(self.title)) + element("desc", {}, escape(self.description))
        alone = f"<style>{STYLE}</style>" + '<rect class="paper" width="100%" height="100%"/>' if style else ""
        attributes = {"xmlns": "http://www.w3.org/2000/svg", "class": "corml-chart", "role": "img", "viewBox": size}
        if style:
            attributes |= {"width": f"{self.width:g}", "height": f"{self.height:g}"}
        return element("svg", attributes, words + alone + self.body)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an .svg file, atomically."""
        if Path(path).suffix.lower() != ".svg":
            raise UsageError(f"A chart is written as .svg; got {ascii_line(path, 200)}.")
        atomic.replace(path, (self.svg() + "\n").encode("utf-8"))

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return f"Chart({self.title!r}): .save('chart.svg') writes it"
