"""The paper's figure 3: what fitting takes, on the data that are at hand. Times are those of the table's cells."""

from collections.abc import Mapping, Sequence
from typing import Any

from corml.experiments.cell import Cell
from corml.experiments.grid import Grid, Value
from corml.experiments.reproduce.data import missing, paper_split
from corml.experiments.reproduce.outcome import Curve, Outcome, Panel, Shown
from corml.experiments.reproduce.request import Request, failures
from corml.experiments.reproduce.rows import Row

__all__ = ["run"]


def run(request: Request) -> Outcome:
    """Seconds of every model on every data set that is at hand."""
    names, absent = request.names(missing)
    table = request.published["table"]
    rows: list[dict[str, Any]] = []
    panels, tables, failed, splits = [], [], [], {}
    for name in names:
        splits[name] = parts = paper_split(request.published, name)
        everyone = request.rows(name)
        models = {row.name: row.model for row in everyone}
        cells = request.bench.cells(name, parts, models, [*table["metrics"], *table["also"]])
        failed += failures(name, cells)
        times = [_time(request, name, row, cells[row.name]) for row in everyone if not cells[row.name].error]
        rows += times
        title = request.published["data"][name]["title"]
        tables.append(Shown(title, _grid(times)))
        panels.append(_panel(name, title, times))
    return request.outcome(
        "speed",
        splits,
        rows=tuple(rows),
        tables=tuple(tables),
        panels=tuple(panels),
        notes=(
            f"The paper's times are of ML-20M, on another machine ({request['machine']}), and published as a drawing: "
            "they are given in the words that describe it. Ours are without compiling and without tuning.",
        ),
        missing=absent,
        failed=tuple(failed),
    )


def _time(request: Request, data: str, row: Row, cell: Cell) -> dict[str, Any]:
    return {
        "data": data,
        "model": row.name,
        "title": row.title,
        "paper, ML-20M": request["published"].get(row.column),
        "seconds": cell.cost.fit_seconds,
        "processor seconds": cell.cost.fit_processor,
        "threads": cell.environment.get("threads"),
        "finished": cell.finished,
    }


def _grid(times: Sequence[Mapping[str, Any]]) -> Grid:
    lines = [
        (
            Value(one["title"]),
            Value(one["paper, ML-20M"] or "–"),
            Value(f"{one['seconds']:,.1f}"),
            Value(f"{one['processor seconds']:,.1f}"),
        )
        for one in times
    ]
    return Grid(("model", "paper, on ML-20M", "ours, seconds", "processor seconds"), tuple(lines), texts=2)


def _panel(name: str, title: str, times: Sequence[Mapping[str, Any]]) -> Panel:
    points = tuple((str(one["title"]), float(one["seconds"])) for one in times)
    return Panel(
        name=f"speed-{name}",
        title=f"{title}: seconds of fitting",
        x="model",
        y="seconds",
        curves=(Curve("ours", points),),
        bars=True,
    )
