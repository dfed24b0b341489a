"""The paper's figures 2, 4 and 5: CoRML with one setting changed, and whether what the paper says of it holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from corml.experiments.grid import Grid, Value
from corml.experiments.reproduce.checks import Series, checked
from corml.experiments.reproduce.data import missing, paper_split
from corml.experiments.reproduce.outcome import Curve, Outcome, Panel, Shown
from corml.experiments.reproduce.request import Request, failures
from corml.experiments.reproduce.rows import OURS, Row, changed, row
from corml.models.recommender import Recommender
from corml.splits import Split

__all__ = ["run"]


@dataclass(frozen=True, eq=False)
class Point:
    """One fit of a figure: whose settings, the value of the second setting if there is one, and that of the first."""

    base: Row
    by: float | None
    value: float
    model: Recommender

    @property
    def label(self) -> str:
        """Its label among the cells."""
        second = "" if self.by is None else f" {self.by:g}"
        return f"{self.base.name}{second} {self.value:g}"


def run(request: Request, name: str) -> Outcome:
    """One figure on all data sets that are at hand."""
    names, absent = request.names(missing)
    rows: list[dict[str, Any]] = []
    panels, tables, checks, failed, splits = [], [], [], [], {}
    for data in names:
        splits[data] = parts = paper_split(request.published, data)
        points = _points(request, data)
        cells = request.bench.cells(data, parts, {one.label: one.model for one in points}, request["metrics"])
        failed += failures(data, cells)
        measured = [_figure(request, data, one, cells[one.label].means) for one in points]
        flat, beside = _beside(request, data, parts)
        failed += flat
        rows += [figure for figures in measured for figure in figures] + beside
        series = _series(request, data, rows)
        checks += checked(request["claims"], data, series, request["symbol"])
        panels += [_panel(request, name, data, metric, series, beside) for metric in request["metrics"]]
        tables.append(Shown(request.published["data"][data]["title"], _grid(request, data, rows)))
    return request.outcome(
        name,
        splits,
        rows=tuple(rows),
        tables=tuple(tables),
        panels=tuple(panels),
        checks=tuple(checks),
        missing=absent,
        failed=tuple(failed),
    )


def _points(request: Request, data: str) -> list[Point]:
    seconds: list[float | None] = request.section.get("by_values", [None])
    return [
        Point(base, by, value, changed(base.model, {request["setting"]: value} | _second(request, by)))
        for base in request.rows(data)
        if base.ours
        for by in seconds
        for value in request["values"]
    ]


def _second(request: Request, by: float | None) -> dict[str, float]:
    return {} if by is None else {request["by"]: by}


def _figure(request: Request, data: str, point: Point, means: Mapping[str, float]) -> list[dict[str, Any]]:
    return [
        {
            "data": data,
            "model": point.base.name,
            "title": point.base.title,
            **_second(request, point.by),
            request["setting"]: point.value,
            "metric": metric,
            "ours": means.get(metric),
        }
        for metric in request["metrics"]
    ]


def _beside(request: Request, data: str, parts: Split) -> tuple[list[str], list[dict[str, Any]]]:
    """Other models of the figure, which have no such setting; as in the table, whose cells they share."""
    named = request.section.get("beside", {}).get(data, [])
    wanted = [name for name in named if name not in request.skipped and name in (request.models or named)]
    rows = [one for name in wanted if (one := row(request.published, name, data)) is not None]
    table = request.published["table"]
    cells = request.bench.cells(data, parts, {one.name: one.model for one in rows}, [*table["metrics"], *table["also"]])
    figures = [
        {"data": data, "model": one.name, "title": one.title, "metric": metric, "ours": cells[one.name].means[metric]}
        for one in rows
        if not cells[one.name].error
        for metric in request["metrics"]
    ]
    return failures(data, cells), figures


def _series(request: Request, data: str, rows: Sequence[Mapping[str, Any]]) -> list[Series]:
    """Curves of the data, one for each model, value of the second setting, and metric."""
    setting, second = request["setting"], request.section.get("by")
    curves: dict[tuple[str, float | None, str], list[tuple[float, float]]] = {}
    for one in rows:
        if one["data"] == data and setting in one and one["ours"] is not None:
            key = one["title"], one.get(second) if second else None, one["metric"]
            curves.setdefault(key, []).append((one[setting], one["ours"]))
    symbol = request.section.get("by_symbol", "")
    return [Series(title, by, symbol, metric, tuple(points)) for (title, by, metric), points in curves.items()]


def _panel(
    request: Request,
    name: str,
    data: str,
    metric: str,
    series: Sequence[Series],
    beside: Sequence[Mapping[str, Any]],
) -> Panel:
    values = request["values"]
    paper = request.published.paper(data, OURS).get(metric)
    flat = [
        Curve(one["title"], ((values[0], one["ours"]), (values[-1], one["ours"])))
        for one in beside
        if one["metric"] == metric
    ]
    title = request.published["data"][data]["title"]
    return Panel(
        name=f"{name}-{data}-{metric.replace('@', '-')}",
        title=f"{title}: {metric} over {request['symbol']}",
        x=f"{request['symbol']} ({request['setting']})",
        y=metric,
        curves=(*(Curve(one.name, one.points) for one in series if one.metric == metric), *flat),
        log=request.section.get("log", False),
        reference=None if paper is None else (paper, "CoRML in the paper's table"),
    )


def _grid(request: Request, data: str, rows: Sequence[Mapping[str, Any]]) -> Grid:
    """Values down, models and metrics across."""
    setting, metrics = request["setting"], request["metrics"]
    own = [one for one in rows if one["data"] == data]
    groups: dict[tuple[str, ...], dict[str, float | None]] = {}
    for one in own:
        second = request.section.get("by")
        by = f"{one[second]:g}" if second and second in one else ""
        value = f"{one[setting]:g}" if setting in one else "–"
        key = (one["title"], *([by] if second else []), value)
        groups.setdefault(key, {})[one["metric"]] = one["ours"]
    heads = ("model", *([request["by_symbol"]] if request.section.get("by") else []), request["symbol"], *metrics)
    lines = [(*map(Value, key), *(Value(_number(figures.get(m))) for m in metrics)) for key, figures in groups.items()]
    return Grid(heads, tuple(lines))


def _number(value: float | None) -> str:
    return "failed" if value is None else f"{value:.4f}"
