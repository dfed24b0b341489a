"""CHARTS: numbers in, one SVG out, drawn without any other program.

    chart = charts.dots([charts.Dots("CoRML", [(0.25, (0.23, 0.27))])], ["NDCG@10"], x=charts.Axis("NDCG@10"))
    chart.save("quality.svg")

The same numbers give the same bytes. Colours are distinct with any colour vision and follow the reader's preference
for light or dark; text stays text; every chart has a description in words.
"""

from corml.evaluation.charts._axes import Axis
from corml.evaluation.charts._drawing import STYLE, Chart, panels
from corml.evaluation.charts._plane import Line, histogram, lines
from corml.evaluation.charts._rows import Bars, Dots, bars, dots

__all__ = ["STYLE", "Axis", "Bars", "Chart", "Dots", "Line", "bars", "dots", "histogram", "lines", "panels"]
