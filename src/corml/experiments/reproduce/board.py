"""Leaderboards: published rows and ours in one table, the best first; LightGCN's splits, and new users."""

from collections.abc import Mapping, Sequence
from typing import Any

from corml.experiments.grid import BEST, Grid, Value
from corml.experiments.record import Run
from corml.experiments.reproduce.outcome import Outcome
from corml.experiments.reproduce.published import Row, changed
from corml.experiments.reproduce.request import Request
from corml.experiments.reproduce.table import verdict
from corml.splits import Split

OURS = "ours"
FOLDERS = {"leaderboard": "lightgcn-{}", "strong": "strong-{}"}
NOTES = {
    "leaderboard": "These splits have no validation set, so published rows may have been selected on the test set.",
    "strong": "capped_recall divides by min(K, relevant), as the papers do. Users and items are drawn by `new-users` "
    "with seed 2026, not as the papers drew them: equal models agree up to chance.",
}

Line = Mapping[str, Any]


def add(outcome: Outcome, request: Request, data: str, split: Split) -> None:
    """One leaderboard."""
    rows, settings = request.rows(data), request.section.get("settings", {})
    models = {row.name: changed(row.model, settings.get(row.name, {})) for row in rows}
    runs = request.runs(data, split, models, request["metrics"], name=FOLDERS[outcome.name].format(data))
    board = _board(request, outcome.name, data, rows, runs)
    outcome.rows += map(dict, board)
    outcome.notes += _ranks(request, data, board)
    outcome.tables[data] = _grid(request, board)


def notes(request: Request, outcome: Outcome) -> list[str]:
    """How to read the board, after the ranks."""
    return [*outcome.notes, NOTES[outcome.name]]


def _board(request: Request, name: str, data: str, rows: Sequence[Row], runs: Mapping[str, Run]) -> list[Line]:
    """All rows, the best by the primary metric first; a row without it comes last."""
    metrics, primary = request["metrics"], request["primary"]
    published = {row.model: row for row in request.published.board(name, data)}
    board: list[Line] = [
        {"data": data, "model": row.model, "from": row.source, **dict(zip(metrics, row.figures, strict=True))}
        for row in published.values()
    ]
    for row in rows:
        run, theirs = runs[row.name], published.get(row.title)
        paper = dict(zip(metrics, theirs.figures, strict=True)).get(primary) if theirs else None
        facts = {"data": data, "model": row.title, "from": OURS, **{one: run.means.get(one) for one in metrics}}
        facts["verdict"] = "" if theirs is None else verdict(paper, run.means.get(primary), 0.02)
        board.append({**facts, "fit processor seconds": run.cost.fit_processor, "error": run.error})
    return sorted(board, key=lambda one: -(one[primary] or 0))


def _ranks(request: Request, data: str, board: Sequence[Line]) -> list[str]:
    """The rank of CoRML among the published rows, by each metric."""
    published = [one for one in board if one["from"] != OURS]
    lines = []
    for own in (one for one in board if published and one["from"] == OURS and one["model"].startswith("CoRML")):
        ranks = [
            f"{1 + sum(one[metric] > own[metric] for one in published if one[metric] is not None)} by {metric}"
            for metric in request["metrics"]
            if own[metric] is not None
        ]
        lines.append(f"{data}: {own['model']} would have rank {', '.join(ranks)} of {len(published) + 1}.")
    return lines


def _grid(request: Request, board: Sequence[Line]) -> Grid:
    metrics = request["metrics"]
    best = {metric: max((one[metric] or 0 for one in board), default=0) for metric in metrics}
    lines = []
    for one in board:
        source = Value(one["from"] + (f", {one['verdict']}" if one.get("verdict") else ""))
        values = (
            Value("–" if one[m] is None else f"{one[m]:.4f}", mark=BEST if one[m] == best[m] else "") for m in metrics
        )
        lines.append((Value(one["model"]), source, *values))
    return Grid(("model", "from", *metrics), tuple(lines), texts=2)
