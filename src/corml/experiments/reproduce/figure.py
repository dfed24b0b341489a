"""The paper's figures 2, 4 and 5: CoRML with one hyperparameter changed, and whether the claims of the paper hold."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from corml.evaluation import charts
from corml.experiments.grid import Grid, Value
from corml.experiments.reproduce.outcome import Check, Outcome
from corml.experiments.reproduce.published import OURS, changed
from corml.experiments.reproduce.request import Request
from corml.models.recommender import Recommender
from corml.splits import Split

ROUNDING = 1e-9


class Point(NamedTuple):
    """One fit of a figure: its row of figures so far, and its model."""

    facts: dict[str, object]
    model: Recommender


@dataclass(frozen=True)
class Series:
    """One curve of a metric; `by` is the value of a second hyperparameter, if there is one."""

    title: str
    by: float | None
    symbol: str
    metric: str
    points: tuple[tuple[float, float], ...]

    @property
    def name(self) -> str:
        """Its name in a legend."""
        return self.title if self.by is None else f"{self.title}, {self.symbol} = {self.by:g}"

    @property
    def peak(self) -> float:
        """Where it is highest."""
        return max(self.points, key=lambda point: point[1])[0]


def add(outcome: Outcome, request: Request, data: str, split: Split) -> None:
    """One figure on a data set."""
    metrics, symbol = request["metrics"], request["symbol"]
    points = _points(request, data)
    runs = request.runs(data, split, {label: point.model for label, point in points.items()}, metrics)
    rows = [
        {**point.facts, "metric": metric, "ours": runs[label].means.get(metric)}
        for label, point in points.items()
        for metric in metrics
    ]
    flat = _others(request, data, split)
    outcome.rows += [*rows, *flat]
    series = _series(request, rows)
    outcome.checks += checked(request["claims"], data, series, symbol)
    title = request.published["data"][data]["title"]
    for metric in metrics:
        name = f"{outcome.name}-{data}-{metric.replace('@', '-')}"
        outcome.charts[name] = _chart(request, data, metric, series, [one for one in flat if one["metric"] == metric])
    outcome.tables[title] = _grid(request, [*rows, *flat])


def _points(request: Request, data: str) -> dict[str, Point]:
    seconds: list[float | None] = request.section.get("by_values", [None])
    points = {}
    for base in (row for row in request.rows(data) if row.ours):
        for by in seconds:
            for value in request["values"]:
                settings = {} if by is None else {request["by"]: by}
                settings[request["setting"]] = value
                label = f"{base.name}{'' if by is None else f' {by:g}'} {value:g}"
                facts = {"data": data, "model": base.name, "title": base.title, **settings}
                points[label] = Point(facts, changed(base.model, settings))
    return points


def _others(request: Request, data: str, split: Split) -> list[dict[str, object]]:
    """Other models of the figure, without this hyperparameter; as in the table, whose runs they share."""
    named = request.section.get("beside", {}).get(data, [])
    wanted = [name for name in named if name not in request.skipped and name in (request.models or named)]
    rows = [one for name in wanted if (one := request.published.row(name, data)) is not None]
    table = request.published["table"]
    runs = request.runs(data, split, {one.name: one.model for one in rows}, [*table["metrics"], *table["also"]])
    return [
        {"data": data, "model": one.name, "title": one.title, "metric": metric, "ours": runs[one.name].means[metric]}
        for one in rows
        if not runs[one.name].error
        for metric in request["metrics"]
    ]


def _series(request: Request, rows: Sequence[Mapping[str, Any]]) -> list[Series]:
    """Curves, one for each model, value of the second hyperparameter, and metric."""
    curves: dict[tuple[str, float | None, str], list[tuple[float, float]]] = {}
    for one in rows:
        if one["ours"] is not None:
            key = one["title"], one.get(request.section.get("by", "")), one["metric"]
            curves.setdefault(key, []).append((one[request["setting"]], one["ours"]))
    symbol = request.section.get("by_symbol", "")
    return [Series(title, by, symbol, metric, tuple(points)) for (title, by, metric), points in curves.items()]


def _chart(
    request: Request, data: str, metric: str, series: Sequence[Series], flat: Sequence[Mapping[str, Any]]
) -> charts.Chart:
    """A line for each model; a published value is a dashed line."""
    values, symbol = request["values"], request["symbol"]
    paper = request.published.paper(data, OURS).get(metric)
    lines = [charts.Line(one.name, one.points, marks=len(one.points) > 2) for one in series if one.metric == metric]
    lines += [charts.Line(one["title"], [(values[0], one["ours"]), (values[-1], one["ours"])]) for one in flat]
    return charts.lines(
        lines,
        x=charts.Axis(f"{symbol} ({request['setting']})", log=request.section.get("log", False)),
        y=charts.Axis(metric),
        title=f"{request.published['data'][data]['title']}: {metric} over {symbol}",
        reference=None if paper is None else (paper, "CoRML in the paper's table"),
    )


def _grid(request: Request, rows: Sequence[Mapping[str, Any]]) -> Grid:
    """Values down, models and metrics across."""
    second, metrics = request.section.get("by"), request["metrics"]
    names = [*([second] if second else []), request["setting"]]
    groups: dict[tuple[str, ...], dict[str, float | None]] = {}
    for one in rows:
        texts = [f"{one[name]:g}" if name in one else "–" if name == request["setting"] else "" for name in names]
        groups.setdefault((one["title"], *texts), {})[one["metric"]] = one["ours"]
    heads = ("model", *([request["by_symbol"]] if second else []), request["symbol"], *metrics)
    lines = [
        (*map(Value, key), *(Value("failed" if (v := figures.get(m)) is None else f"{v:.4f}") for m in metrics))
        for key, figures in groups.items()
    ]
    return Grid(heads, tuple(lines))


# --- claims ----------------------------------------------------------------------------------------------------------

Claim: TypeAlias = Mapping[str, Any]  # TOML


def checked(claims: Sequence[Claim], data: str, series: Sequence[Series], symbol: str) -> list[Check]:
    """Every claim about these data, on every curve it is about."""
    checks: list[Check] = []
    for claim in claims:
        if data in claim.get("data", [data]):
            about = [one for one in series if one.metric in claim["metrics"] and len(one.points) > 1]
            checks += _KINDS[claim["kind"]](claim, data, about, symbol)
    return checks


def _falls(claim: Claim, data: str, series: Sequence[Series], symbol: str) -> list[Check]:
    checks = []
    for one in series:
        points = sorted(one.points)
        rises = [(a, b) for a, b in pairwise(points) if b[1] >= a[1]]
        text = "".join(f", rises from {symbol} = {a[0]:g} to {b[0]:g}" for a, b in rises)
        checks.append(_check(claim, data, one, not rises, f"{points[0][1]:.4f} to {points[-1][1]:.4f}{text}"))
    return checks


def _peak(claim: Claim, data: str, series: Sequence[Series], symbol: str) -> list[Check]:
    low, high = claim["between"]
    return [
        _check(claim, data, one, low - ROUNDING <= one.peak <= high + ROUNDING, f"best at {symbol} = {one.peak:g}")
        for one in series
    ]


def _peaks_fall(claim: Claim, data: str, series: Sequence[Series], symbol: str) -> list[Check]:
    """Along the second hyperparameter, for each model and metric."""
    groups: dict[tuple[str, str], list[Series]] = {}
    for one in sorted(series, key=lambda one: one.by or 0.0):
        groups.setdefault((one.title, one.metric), []).append(one)
    checks = []
    for (title, metric), group in groups.items():
        peaks = [one.peak for one in group]
        text = ", ".join(f"{symbol} = {one.peak:g} for {one.symbol} = {one.by:g}" for one in group)
        holds = all(a >= b for a, b in pairwise(peaks)) and peaks[0] > peaks[-1]
        checks.append(Check(claim["says"], f"{data}, {title}, {metric}", holds, f"best at {text}"))
    return checks


def _check(claim: Claim, data: str, one: Series, holds: bool, measured: str) -> Check:
    return Check(claim["says"], f"{data}, {one.name}, {one.metric}", holds, measured)


_KINDS: dict[str, Callable[[Claim, str, Sequence[Series], str], list[Check]]] = {
    "falls": _falls,
    "peak": _peak,
    "peaks fall": _peaks_fall,
}
