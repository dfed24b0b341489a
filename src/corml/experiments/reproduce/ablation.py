"""What makes the lists of CoRML() better than those of the published problem: one change at a time, and all together.

Each change is applied alone to the paper's hyperparameters, and removed alone from ours. The validation set takes the
place of the test set, which is not opened.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from corml._runtime.settings import values_of
from corml.experiments.grid import Grid, Value
from corml.experiments.record import Run
from corml.experiments.reproduce.outcome import Outcome
from corml.experiments.reproduce.published import OURS, Row, changed
from corml.experiments.reproduce.request import Request
from corml.models.recommender import Recommender
from corml.splits import Split


class Variant(NamedTuple):
    """A model, the label of the one it is compared with, and what was changed."""

    base: str
    change: str
    model: Recommender


def add(outcome: Outcome, request: Request, data: str, split: Split) -> None:
    """The ablation on a data set."""
    variants = _variants(request, data)
    models = {label: one.model for label, one in variants.items()}
    runs = request.runs(data, split, models, request["metrics"], name=f"{data}-valid")
    rows = {label: _figures(request, data, label, one, runs) for label, one in variants.items()}
    outcome.rows += rows.values()
    outcome.tables[f"{request.published['data'][data]['title']}, validation set"] = _grid(request, rows)


def notes(request: Request, outcome: Outcome) -> list[str]:
    """How to read the figures."""
    return [
        f"Changes of {request['primary']} in per cent, ± the standard error over users. Validation set: the test set "
        "is not opened."
    ]


def _variants(request: Request, data: str) -> dict[str, Variant]:
    """Models by label."""
    start, end = (_row(request, request[which], data) for which in ("from", "to"))
    paper = values_of(start.model)
    variants = {start.name: Variant(start.name, "", start.model)}
    for name in _others(request):
        other = _row(request, name, data)
        variants[other.name] = Variant(start.name, other.title, other.model)
    for change in request["changes"]:
        model = changed(start.model, change["settings"])
        variants[f"with {change['name']}"] = Variant(start.name, change["name"], model)
    variants[end.name] = Variant(start.name, "all together", end.model)
    for change in request["changes"]:
        model = changed(end.model, {setting: paper[setting] for setting in change["settings"]})
        variants[f"without {change['name']}"] = Variant(end.name, change["name"], model)
    for change in request["extra"]:
        model = changed(end.model, change["settings"])
        variants[f"ours, {change['name']}"] = Variant(end.name, change["name"], model)
    return variants


def _others(request: Request) -> list[str]:
    """Models that are no change, such as the slow fixed steps; `--models` may leave them out."""
    return [name for name in request["beside"] if request.models is None or {name, OURS} & set(request.models)]


def _row(request: Request, name: str, data: str) -> Row:
    row = request.published.row(name, data)
    assert row is not None
    return row


def _figures(request: Request, data: str, label: str, variant: Variant, runs: Mapping[str, Run]) -> dict[str, object]:
    own, base = runs[label], runs[variant.base]
    figures: dict[str, object] = {"data": data, "variant": label, "compared with": variant.base}
    figures |= {"change": variant.change, **{metric: own.means.get(metric) for metric in request["metrics"]}}
    if not own.error and not base.error:
        metric = request["primary"]
        difference = 100 * (own.per_user[metric] - base.per_user[metric]) / base.means[metric]
        error = float(difference.std(ddof=1)) / np.sqrt(len(difference))
        figures |= {"gain %": float(difference.mean()), "standard error %": float(error)}
    return figures | {"fit processor seconds": own.cost.fit_processor, "error": own.error}


def _grid(request: Request, rows: Mapping[str, Mapping[str, object]]) -> Grid:
    """One line for each change: applied to the paper's hyperparameters, and removed from ours."""
    primary, changes = request["primary"], [change["name"] for change in request["changes"]]
    lines = [
        ("paper's settings, converged", request["from"], None),
        *((str(rows[name]["change"]), name, None) for name in _others(request)),
        *((name, f"with {name}", f"without {name}") for name in changes),
        ("all together: CoRML()", request["to"], None),
        *((change["name"], None, f"ours, {change['name']}") for change in request["extra"]),
    ]
    heads = ("change", f"{primary}, on the paper's", "gain", f"{primary}, taken from ours", "loss")
    cells = [
        (Value(name), *_pair(rows, first, primary), *_pair(rows, second, primary)) for name, first, second in lines
    ]
    return Grid(heads, tuple(cells))


def _pair(rows: Mapping[str, Mapping[str, object]], label: str | None, metric: str) -> tuple[Value, Value]:
    """Score and change of a variant."""
    if label is None:
        return Value(""), Value("")
    figures = rows[label]
    if figures.get(metric) is None:
        return Value("failed"), Value("")
    score = Value(f"{figures[metric]:.4f}")
    if "gain %" not in figures or label == figures["compared with"]:
        return score, Value("")
    return score, Value(f"{figures['gain %']:+.2f} %".replace("-", "−"), f"±{figures['standard error %']:.2f}")
