"""The paper's table against ours: every figure, its difference, and the star recomputed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corml.evaluation.significance import paired_t_test
from corml.experiments.cell import Cell
from corml.experiments.grid import Grid, Value
from corml.experiments.reproduce.data import missing, paper_split, sizes
from corml.experiments.reproduce.outcome import Outcome, Shown
from corml.experiments.reproduce.request import Request, failures
from corml.experiments.reproduce.rows import Row

__all__ = ["run", "verdict"]


@dataclass(frozen=True)
class Star:
    """CoRML against the best other model by one metric: who that is, and p of the paired t-test over users."""

    runner_up: str
    p: float
    ahead: bool


def run(request: Request) -> Outcome:
    """All models on all data sets that are at hand."""
    names, absent = request.names(missing)
    rows: list[dict[str, Any]] = []
    tables, details, notes, failed, splits = [], [], [], [], {}
    for name in names:
        splits[name] = parts = paper_split(request.published, name)
        notes += [said] if (said := sizes(request.published, name, parts)) else []
        everyone = request.rows(name)
        models = {row.name: row.model for row in everyone}
        cells = request.bench.cells(name, parts, models, [*request["metrics"], *request["also"]])
        failed += failures(name, cells)
        figures = _figures(request, name, everyone, cells)
        rows += figures
        title = request.published["data"][name]["title"]
        tables.append(Shown(title, _grid(figures, request["primary"], published=not request.quick)))
        others = [metric for metric in request["metrics"] if metric != request["primary"]]
        details += [
            Shown(f"{title}, {metric}", _grid(figures, metric, published=not request.quick)) for metric in others
        ]
    return request.outcome(
        "table",
        splits,
        rows=tuple(rows),
        tables=tuple(tables),
        details=tuple(details),
        notes=(*_legend(request), *_reasons(request, rows), *notes),
        missing=absent,
        failed=tuple(failed),
    )


def verdict(paper: float | None, ours: float | None, tolerance: float) -> str:
    """Whether a figure agrees with the published one."""
    if ours is None:
        return "failed"
    if paper is None:
        return "not published"
    difference = ours / paper - 1
    return "agrees" if abs(difference) <= tolerance else "higher" if difference > 0 else "lower"


# --- figures ---------------------------------------------------------------------------------------------------------


def _figures(request: Request, data: str, everyone: Sequence[Row], cells: Mapping[str, Cell]) -> list[dict[str, Any]]:
    return [
        _figure(request, data, row, cells[row.name], metric, _star(row, everyone, cells, metric))
        for metric in request["metrics"]
        for row in everyone
    ]


def _figure(request: Request, data: str, row: Row, cell: Cell, metric: str, star: Star | None) -> dict[str, Any]:
    paper = request.published.paper(data, row.column).get(metric)
    ours = cell.means.get(metric)
    said = verdict(paper, ours, request["tolerance"])
    return {
        "data": data,
        "model": row.name,
        "title": row.title,
        "metric": metric,
        "paper": paper,
        "ours": ours,
        "difference": None if paper is None or ours is None else ours / paper - 1,
        "verdict": said,
        "reason": row.differs if said in ("higher", "lower") else "",
        "paper's star": paper is not None and row.column in request["starred"],
        "star": star is not None and star.ahead and star.p < request["level"],
        "runner-up": star.runner_up if star else None,
        "p": star.p if star else None,
        "fit processor seconds": cell.cost.fit_processor if ours is not None else None,
        "settings": dict(cell.settings),
        "error": cell.error,
    }


def _star(row: Row, everyone: Sequence[Row], cells: Mapping[str, Cell], metric: str) -> Star | None:
    """A row of CoRML against the best of the other models; none without another model."""
    own = cells[row.name]
    others = [cells[one.name] for one in everyone if not one.ours and not cells[one.name].error]
    if not row.ours or own.error or not others:
        return None
    best = max(others, key=lambda cell: cell.means[metric])
    difference = _paired(own, best, metric)
    return Star(best.label, paired_t_test(difference), bool(difference.mean() > 0))


def _paired(first: Cell, second: Cell, metric: str) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Differences over the users of both, in the order of the first."""
    if np.array_equal(first.users, second.users):
        return first.per_user[metric] - second.per_user[metric]
    known = {user: value for user, value in zip(second.users, second.per_user[metric], strict=True)}
    both = [(value, known[user]) for user, value in zip(first.users, first.per_user[metric], strict=True)
            if user in known]  # fmt: skip
    return np.array([a - b for a, b in both])


# --- words -----------------------------------------------------------------------------------------------------------


def _grid(figures: Sequence[Mapping[str, Any]], metric: str, *, published: bool) -> Grid:
    """All models by one metric; of data that the paper does not have, our figures alone."""
    figures = [figure for figure in figures if figure["metric"] == metric]
    if not published:
        ours = [(Value(one["title"]), Value(_number(one["ours"], star=one["star"]))) for one in figures]
        return Grid(("model", metric), tuple(ours))
    heads = ("model", f"paper {metric}", "ours", "difference", "verdict")
    lines = [
        (
            Value(figure["title"]),
            Value(_number(figure["paper"], star=figure["paper's star"])),
            Value(_number(figure["ours"], star=figure["star"])),
            Value("–" if figure["difference"] is None else f"{100 * figure['difference']:+.1f} %".replace("-", "−")),
            Value(figure["verdict"]),
        )
        for figure in figures
    ]
    return Grid(heads, tuple(lines))


def _number(value: float | None, *, star: bool) -> str:
    return "–" if value is None else f"{'*' if star else ''}{value:.4f}"


def _legend(request: Request) -> list[str]:
    others = ", ".join(metric for metric in request["metrics"] if metric != request["primary"])
    star = f"*: better than the best other model that was run, paired t-test over users, p < {request['level']:g}"
    agrees = (
        f"agrees: within {request['tolerance']:.0%} of the paper. {star}; in the column of the paper, its own star."
    )
    alone = f"The paper has no figures of the sample. {star}."
    return [f"Shown: {request['primary']}; {others} are in the files.", alone if request.quick else agrees]


def _reasons(request: Request, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is known to differ, for models that are off by more than the tolerance."""
    known = {row["title"]: row["reason"] for row in rows if row["metric"] == request["primary"] and row["reason"]}
    return [f"{title}: {reason}." for title, reason in known.items()]
