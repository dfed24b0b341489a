"""The style of figures: colours, sizes, and as little ink beside the data as possible."""

from typing import Any

__all__ = ["COLOURS", "FAINT", "HALF", "HEIGHT", "INK", "MARKERS", "STYLE", "WIDE"]

# Okabe and Ito's palette: distinct with any colour vision, and on paper by its lightness.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
INK, FAINT, GRID = "#333333", "#8a8a8a", "#e6e6e6"
WIDE, HALF, HEIGHT = 950, 456, 300  # CSS pixels: drawn at 72 to the inch, so a font size is in pixels too

STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "corml",
    "text.parse_math": False,  # a $ in a name is a $
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that layouts do not depend on the machine
    "font.size": 12,
    "axes.titlesize": 12.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 12,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#b5b5b5",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "grid.color": GRID,
    "grid.linewidth": 1,
    "text.color": INK,
    "xtick.color": "#b5b5b5",
    "ytick.color": "#b5b5b5",
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
    "legend.fontsize": 11.5,
    "legend.frameon": False,
    "lines.linewidth": 2,
    "figure.dpi": 72,
    "savefig.transparent": True,
}
