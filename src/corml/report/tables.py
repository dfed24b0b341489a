"""Tables for a terminal, for a README and for a page, from one description."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Self

from corml.errors import UsageError, ascii_line
from corml.report._measures import Measure, measure
from corml.report._results import Measured, shared_names
from corml.report._text import clean, pad, width

__all__ = ["Cell", "Column", "Table", "comparison"]

MAX_DIGITS, MIN_DIGITS = 4, 2
MARK = "*"


@dataclass(frozen=True)
class Cell:
    """One entry: its text, a smaller addition such as ±0.012, and whether it is the best of its column."""

    text: str
    extra: str = ""
    best: bool = False

    @property
    def whole(self) -> str:
        """Text and addition on one line."""
        return clean(f"{self.text} {self.extra}".strip())


@dataclass(frozen=True)
class Column:
    """The head of a column; numbers stand to the right, `meaning` is shown where there is room for it."""

    label: str
    number: bool = False
    meaning: str = ""


@dataclass(frozen=True)
class Table:
    """Columns and rows of text; the first column names the rows."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.columns) for row in self.rows)

    def __str__(self) -> str:
        return self.text()

    def with_column(self, column: Column, cells: Sequence[str]) -> Self:
        """Make the same table with one more column at its right."""
        rows = tuple((*row, Cell(text)) for row, text in zip(self.rows, cells, strict=True))
        return replace(self, columns=(*self.columns, column), rows=rows)

    def text(self) -> str:
        """Aligned for a terminal; the best of each column carries a star."""
        marks = [any(row[at].best for row in self.rows) for at in range(len(self.columns))]
        body = [[_marked(cell, mark) for cell, mark in zip(row, marks, strict=True)] for row in self.rows]
        heads = [clean(c.label) + (" " if mark else "") for c, mark in zip(self.columns, marks, strict=True)]
        widths = [max(map(width, column)) for column in zip(heads, *body, strict=True)]
        rule = ["─" * columns for columns in widths]
        lines = ["  ".join(self._aligned(line, widths)).rstrip() for line in (heads, rule, *body)]
        if any(marks):
            lines.append(f"{MARK} most accurate")
        return "\n".join([*([clean(self.caption)] if self.caption else []), *lines])

    def markdown(self) -> str:
        """Write a table for a README or an issue; the best of each column is bold."""
        heads = [_markdown(column.label) for column in self.columns]
        rules = ["---:" if column.number else "---" for column in self.columns]
        body = [[f"**{_markdown(c.whole)}**" if c.best else _markdown(c.whole) for c in row] for row in self.rows]
        lines = ["| " + " | ".join(line) + " |" for line in (heads, rules, *body)]
        return "\n".join([*([_markdown(self.caption), ""] if self.caption else []), *lines])

    def _aligned(self, line: Sequence[str], widths: Sequence[int]) -> list[str]:
        return [pad(t, w, right=c.number) for t, w, c in zip(line, widths, self.columns, strict=True)]


def comparison(
    results: Mapping[str, Measured], metrics: Sequence[str] | None = None, *, intervals: str = "plus-minus"
) -> Table:
    """Models down, metrics across, the best of each column marked where a metric has a better direction.

    `intervals` shows the confidence interval of each value as "plus-minus" (±0.012), as a "range"
    ([0.301, 0.325]) or not at all ("none").
    """
    if intervals not in _INTERVALS:
        raise UsageError(f"intervals must be one of {', '.join(_INTERVALS)}; got {ascii_line(intervals)}.")
    names = list(metrics) if metrics is not None else shared_names(results.values())
    cells = {name: _metric_column(results, measure(name), intervals) for name in names}
    columns = [Column(measure(name).label, number=True, meaning=measure(name).meaning) for name in names]
    rows = (tuple([Cell(model), *(cells[name][at] for name in names)]) for at, model in enumerate(results))
    return Table((Column("Model"), *columns), tuple(rows))


def _metric_column(results: Mapping[str, Measured], about: Measure, style: str) -> list[Cell]:
    """Write the values of one metric with equally many digits; equal as shown means equally good."""
    values = [float(result[about.name]) for result in results.values()]
    spans = [result.intervals.get(about.name) for result in results.values()]
    digits = _digits([(high - low) / 2 for low, high in (span for span in spans if span)])
    rounded = [round(value, digits) for value in values if math.isfinite(value)]
    best = None if not rounded or about.better == 0 else max(rounded) if about.better > 0 else min(rounded)
    return [
        Cell(
            f"{value:.{digits}f}" if math.isfinite(value) else "–",
            _INTERVALS[style](value, span, digits) if span else "",
            best=len(values) > 1 and round(value, digits) == best,
        )
        for value, span in zip(values, spans, strict=True)
    ]


def _digits(half_widths: Sequence[float]) -> int:
    """Two digits of the uncertainty: more would be noise, and without an interval four are usual."""
    sizes = [half for half in half_widths if math.isfinite(half) and half > 0]
    if not sizes:
        return MAX_DIGITS
    return min(max(1 - math.floor(math.log10(median(sizes))), MIN_DIGITS), MAX_DIGITS)


def _plus_minus(value: float, span: tuple[float, float], digits: int) -> str:
    return f"±{max(value - span[0], span[1] - value):.{digits}f}"


def _range(value: float, span: tuple[float, float], digits: int) -> str:
    return f"[{span[0]:.{digits}f}, {span[1]:.{digits}f}]"


def _nothing(value: float, span: tuple[float, float], digits: int) -> str:
    return ""


_INTERVALS = {"plus-minus": _plus_minus, "range": _range, "none": _nothing}


def _marked(cell: Cell, column_has_best: bool) -> str:
    return cell.whole + (MARK if cell.best else " " if column_has_best else "")


def _markdown(text: str) -> str:
    safe = clean(text).replace("&", "&amp;").replace("<", "&lt;")
    return "".join("\\" + c if c in "\\|*`[]>" else c for c in safe)
