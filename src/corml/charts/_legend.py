"""The key to the series of a chart: a mark and a name each, in as many rows as they need."""

from collections.abc import Sequence

from corml.charts._svg import COLOURS, clip, line, marker, rect, text, width_of

__all__ = ["ROW", "legend"]

ROW = 20
GAP = 16


def legend(names: Sequence[tuple[str, str]], width: float, *, left: float = 0) -> tuple[str, float]:
    """Draw the key from the top; `names` are (name, kind) with kind "marker", "box" or "reference"."""
    x, y, parts, series = left, ROW / 2, [], 0
    for name, kind in names:
        shown = clip(name, width - left - 20)
        needed = 18 + width_of(shown) + GAP
        if x > left and x + needed - GAP > width:
            x, y = left, y + ROW
        parts.append(_mark(x, y, kind, series) + text(x + 18, y, shown, "label"))
        series += kind != "reference"
        x += needed
    return "".join(parts), y + ROW / 2 + 6 if names else 0


def _mark(x: float, y: float, kind: str, series: int) -> str:
    if kind == "reference":
        return line(x, y, x + 13, y, "reference")
    if kind == "box":
        return rect(x, y - 5, 11, 10, f"f{series % COLOURS}")
    return marker(x + 6, y, series)
