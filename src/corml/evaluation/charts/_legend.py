"""The key to the series of a chart: a mark and a name each, in as many rows as they need."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from corml.evaluation.charts._svg import COLOURS, clip, line, marker, rect, text, width_of

__all__ = ["Key", "legend", "tint"]

ROW = 20
GAP = 16


class Key(NamedTuple):
    """A name and its mark: "marker", "box" or "reference"."""

    name: str
    mark: str
    colour: int = 0


class Coloured(Protocol):
    """A series, which may have a colour of its own."""

    @property
    def colour(self) -> int | None:
        """Its number among the colours, or None."""


def tint(series: Coloured, at: int) -> int:
    """The colour of a series: its own, or that of its place."""
    return at if series.colour is None else series.colour


def legend(keys: Sequence[Key], width: float) -> tuple[str, float]:
    """Draw the keys from the top; give how high that is."""
    x, y, parts = 0.0, ROW / 2, []
    for key in keys:
        shown = clip(key.name, width - 20)
        needed = 18 + width_of(shown) + GAP
        if x > 0 and x + needed - GAP > width:
            x, y = 0.0, y + ROW
        parts.append(_mark(x, y, key) + text(x + 18, y, shown, "label"))
        x += needed
    return "".join(parts), y + ROW / 2 + 6 if keys else 0.0


def _mark(x: float, y: float, key: Key) -> str:
    if key.mark == "reference":
        return line(x, y, x + 13, y, "reference")
    if key.mark == "box":
        return rect(x, y - 5, 11, 10, f"f{key.colour % COLOURS}")
    return marker(x + 6, y, key.colour)
