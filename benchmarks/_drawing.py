"""Figures of the benchmarks: SVG files for the documentation, the same bytes for the same numbers."""

from pathlib import Path
from typing import Any

# Okabe and Ito's palette: told apart with any colour vision.
BLUE, RED, GREEN, PINK, YELLOW, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#8a8a8a"
IMAGES = Path(__file__).parents[1] / "docs" / "images"


def panels(count: int, *, width: float = 7.6, height: float = 2.6) -> tuple[Any, Any]:
    """A figure with axes side by side, without frames."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams["svg.hashsalt"] = "corml"
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(1, count, squeeze=False)[0]
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
    return figure, axes


def save(figure: Any, name: str) -> None:
    """Write a figure beside the others."""
    figure.savefig(IMAGES / f"{name}.svg", metadata={"Date": None})
