"""Leaderboards: published rows and ours in one table, the best first; LightGCN's splits, and new users."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from corml.experiments.cell import Cell
from corml.experiments.grid import BEST, Grid, Value
from corml.experiments.reproduce.data import board_split, missing_board, missing_strong, strong_split
from corml.experiments.reproduce.outcome import Outcome, Shown
from corml.experiments.reproduce.published import Published
from corml.experiments.reproduce.request import Request, failures
from corml.experiments.reproduce.rows import Row, changed
from corml.experiments.reproduce.table import verdict
from corml.splits import Split

__all__ = ["leaderboard", "strong"]

OURS = "ours"


def leaderboard(request: Request) -> Outcome:
    """Recall@20 and NDCG@20 on the splits that come with LightGCN."""
    notes = ("These splits have no validation part, so published rows may have been selected on the test part.",)
    return _run(request, "leaderboard", missing_board, board_split, "lightgcn-{}", notes)


def strong(request: Request) -> Outcome:
    """Users held out whole, 80 % of a history given."""
    notes = (
        "capped_recall divides by min(K, relevant), as the papers do. Users and items are drawn by `new-users` with "
        "seed 2026, not as the papers drew them: equal models agree up to chance.",
    )
    return _run(request, "strong", missing_strong, strong_split, "strong-{}", notes)


def _run(
    request: Request,
    name: str,
    missing: Callable[[Published, str], str],
    split: Callable[[Published, str], Split],
    place: str,
    notes: tuple[str, ...],
) -> Outcome:
    names, absent = request.names(missing)
    rows: list[dict[str, Any]] = []
    tables, places, failed, splits = [], [], [], {}
    for data in names:
        where = place.format(data)
        splits[where] = parts = split(request.published, data)
        everyone = request.rows(data)
        given = request.section.get("settings", {})
        models = {row.name: changed(row.model, given.get(row.name, {})) for row in everyone}
        cells = request.bench.cells(where, parts, models, request["metrics"])
        failed += failures(data, cells)
        board = _board(request, name, data, everyone, cells)
        rows += board
        places += _place(request, data, board)
        tables.append(Shown(data, _grid(request, board)))
    return request.outcome(
        name,
        splits,
        rows=tuple(rows),
        tables=tuple(tables),
        notes=(*places, *notes),
        missing=absent,
        failed=tuple(failed),
    )


def _board(
    request: Request, name: str, data: str, everyone: Sequence[Row], cells: Mapping[str, Cell]
) -> list[dict[str, Any]]:
    """All rows, the best by the primary metric first; a row without it comes last."""
    metrics, primary = request["metrics"], request["primary"]
    published = {row.model: row for row in request.published.board(name, data)}
    board = [
        {"data": data, "model": row.model, "from": row.source, **dict(zip(metrics, row.figures, strict=True))}
        for row in published.values()
    ]
    for row in everyone:
        means = cells[row.name].means
        theirs = published.get(row.title)
        paper = dict(zip(metrics, theirs.figures, strict=True)).get(primary) if theirs else None
        board.append(
            {
                "data": data,
                "model": row.title,
                "from": OURS,
                **{metric: means.get(metric) for metric in metrics},
                "verdict": "" if theirs is None else verdict(paper, means.get(primary), 0.02),
                "fit processor seconds": cells[row.name].cost.fit_processor,
                "error": cells[row.name].error,
            }
        )
    return sorted(board, key=lambda one: -(one[primary] or 0))


def _place(request: Request, data: str, board: Sequence[Mapping[str, Any]]) -> list[str]:
    """Where CoRML stands among the published rows, by each metric."""
    published = [one for one in board if one["from"] != OURS]
    if not published:
        return []
    said = []
    for own in (one for one in board if one["from"] == OURS and one["model"].startswith("CoRML")):
        places = [
            f"{1 + sum(one[metric] > own[metric] for one in published if one[metric] is not None)} by {metric}"
            for metric in request["metrics"]
            if own[metric] is not None
        ]
        said.append(f"{data}: {own['model']} would stand at place {', '.join(places)} of {len(published) + 1}.")
    return said


def _grid(request: Request, board: Sequence[Mapping[str, Any]]) -> Grid:
    metrics = request["metrics"]
    best = {metric: max((one[metric] or 0 for one in board), default=0) for metric in metrics}
    lines = [
        (
            Value(one["model"]),
            Value(one["from"] + (f", {one['verdict']}" if one.get("verdict") else "")),
            *(
                Value("–" if one[m] is None else f"{one[m]:.4f}", mark=BEST if one[m] == best[m] else "")
                for m in metrics
            ),
        )
        for one in board
    ]
    return Grid(("model", "from", *metrics), tuple(lines), texts=2)
