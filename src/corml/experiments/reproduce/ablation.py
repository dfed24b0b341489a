"""What makes the lists of CoRML() better than those of the published problem: one change at a time, and all together.

Each change is put alone on the paper's settings, and taken alone from ours. The valid part stands in the place of the
test part, which is not opened.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from corml._runtime.settings import values_of
from corml.experiments.cell import Cell
from corml.experiments.grid import Grid, Value
from corml.experiments.reproduce.data import missing, paper_split, valid
from corml.experiments.reproduce.outcome import Outcome, Shown
from corml.experiments.reproduce.request import Request, failures
from corml.experiments.reproduce.rows import OURS, Row, changed, row
from corml.models.recommender import Recommender

__all__ = ["run"]


def run(request: Request) -> Outcome:
    """The ablation on all data sets that are at hand."""
    names, absent = request.names(missing)
    rows: list[dict[str, Any]] = []
    tables, failed, splits = [], [], {}
    for name in names:
        splits[f"{name}, valid"] = parts = valid(paper_split(request.published, name))
        variants = _variants(request, name)
        models = {label: model for label, (_, _, model) in variants.items()}
        cells = request.bench.cells(f"{name}-valid", parts, models, request["metrics"])
        failed += failures(name, cells)
        rows += [_figure(request, name, label, *variants[label][:2], cells) for label in variants]
        tables.append(Shown(f"{request.published['data'][name]['title']}, valid part", _grid(request, name, rows)))
    return request.outcome(
        "ablation",
        splits,
        rows=tuple(rows),
        tables=tuple(tables),
        notes=(
            f"Changes of {request['primary']} in per cent, ± the standard error over users. Valid part: the test part "
            "is not opened.",
        ),
        missing=absent,
        failed=tuple(failed),
    )


def _variants(request: Request, data: str) -> dict[str, tuple[str, str, Recommender]]:
    """Models by label, each with the label it is compared with and what was changed."""
    start, end = (_row(request, request[which], data) for which in ("from", "to"))
    everything = values_of(start.model)
    variants = {start.name: (start.name, "", start.model)}
    for name in _beside(request):
        beside = _row(request, name, data)
        variants[beside.name] = (start.name, beside.title, beside.model)
    for change in request["changes"]:
        settings = change["settings"]
        variants[f"with {change['name']}"] = (start.name, change["name"], changed(start.model, settings))
    variants[end.name] = (start.name, "all together", end.model)
    for change in request["changes"]:
        back = {setting: everything[setting] for setting in change["settings"]}
        variants[f"without {change['name']}"] = (end.name, change["name"], changed(end.model, back))
    for change in request["extra"]:
        variants[f"ours, {change['name']}"] = (end.name, change["name"], changed(end.model, change["settings"]))
    return variants


def _beside(request: Request) -> list[str]:
    """Rows that are no change, such as the slow fixed steps; `--models` may leave them out."""
    return [name for name in request["beside"] if request.models is None or {name, OURS} & set(request.models)]


def _row(request: Request, name: str, data: str) -> Row:
    found = row(request.published, name, data)
    assert found is not None
    return found


def _figure(
    request: Request, data: str, label: str, base: str, change: str, cells: Mapping[str, Cell]
) -> dict[str, Any]:
    own, other = cells[label], cells[base]
    figures: dict[str, Any] = {"data": data, "variant": label, "compared with": base, "change": change}
    figures |= {metric: own.means.get(metric) for metric in request["metrics"]}
    if not own.error and not other.error:
        metric = request["primary"]
        difference, mean = own.per_user[metric] - other.per_user[metric], other.means[metric]
        error = float(difference.std(ddof=1)) / np.sqrt(len(difference))
        figures |= {"gain %": 100 * float(difference.mean()) / mean, "standard error %": 100 * float(error) / mean}
    return figures | {"fit processor seconds": own.cost.fit_processor, "error": own.error}


def _grid(request: Request, data: str, rows: list[dict[str, Any]]) -> Grid:
    """One line for each change: put on the paper's settings, and taken from ours."""
    own = {one["variant"]: one for one in rows if one["data"] == data}
    start, end = own[request["from"]], own[request["to"]]
    primary = request["primary"]
    heads = ("change", f"{primary}, on the paper's", "gain", f"{primary}, taken from ours", "loss")
    lines = [_line("paper's settings, converged", start, None)]
    lines += [_line(own[name]["change"], own[name], None) for name in _beside(request)]
    for change in request["changes"]:
        lines.append(_line(change["name"], own[f"with {change['name']}"], own[f"without {change['name']}"]))
    lines.append(_line("all together: CoRML()", end, None))
    lines += [_line(change["name"], None, own[f"ours, {change['name']}"]) for change in request["extra"]]
    return Grid(heads, tuple((line[0], *(value for pair in line[1:] for value in pair(primary))) for line in lines))


def _line(name: str, first: Mapping[str, Any] | None, second: Mapping[str, Any] | None) -> tuple[Any, ...]:
    return Value(name), _pair(first), _pair(second)


def _pair(figures: Mapping[str, Any] | None) -> Any:
    """Score and change of one variant, for the metric that is shown."""

    def shown(metric: str) -> tuple[Value, Value]:
        if figures is None:
            return Value(""), Value("")
        if figures.get(metric) is None:
            return Value("failed"), Value("")
        gain = figures.get("gain %")
        if gain is None or figures["variant"] == figures["compared with"]:
            return Value(f"{figures[metric]:.4f}"), Value("")
        text = f"{gain:+.2f} %".replace("-", "−")
        return Value(f"{figures[metric]:.4f}"), Value(text, f"±{figures['standard error %']:.2f}")

    return shown
