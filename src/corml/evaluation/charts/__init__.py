"""CHARTS: numbers in, one SVG out, drawn without any other program.

    chart = charts.dots([charts.Dots("CoRML", [(0.25, (0.23, 0.27))])], ["NDCG@10"], x=charts.Axis("NDCG@10"))
    chart.save("quality.svg")

The same numbers give the same bytes. Colours are distinct with any colour vision and follow the reader's preference
for light or dark; text stays text; every chart says in words what it shows.
"""

from corml.evaluation.charts.axis import Axis
from corml.evaluation.charts.bars import Bars, bars
from corml.evaluation.charts.chart import STYLE, Chart
from corml.evaluation.charts.dots import Dots, dots
from corml.evaluation.charts.histogram import histogram
from corml.evaluation.charts.lines import Line, lines
from corml.evaluation.charts.panels import panels

__all__ = ["STYLE", "Axis", "Bars", "Chart", "Dots", "Line", "bars", "dots", "histogram", "lines", "panels"]
