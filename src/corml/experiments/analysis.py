"""From cells to a study: means over users and runs, intervals, and every entry against the best or a baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime.values import nearest
from corml.errors import UsageError, ascii_line
from corml.evaluation import Comparison, Result
from corml.evaluation.metrics import direction
from corml.evaluation.resampling import intervals
from corml.evaluation.significance import compare, corrected
from corml.experiments.cell import Cell, Cost
from corml.experiments.design import Design
from corml.experiments.study import Entry, Study

__all__ = ["assemble", "check_baseline"]

Users = NDArray[np.object_]
UNFINISHED = "It is not finished: run the study again."


def assemble(
    design: Design,
    rows: Sequence[tuple[Mapping[str, Any], Sequence[Cell | None]]],
    splits: Sequence[Mapping[str, Any]],
    provenance: Mapping[str, Any],
) -> Study:
    """A study from the rows of its plan and their cells; None is a cell that has not been run."""
    users = _common_users([cell for _, cells in rows for cell in cells if cell is not None and not cell.error])
    entries = _with_intervals([_entry(row, cells, users, design) for row, cells in rows], design)
    reference = _reference(entries, design)
    return Study(
        design=design,
        entries=entries,
        comparisons=_comparisons(entries, reference, design),
        reference=reference,
        users=users,
        splits=tuple(splits),
        provenance=provenance,
    )


def check_baseline(design: Design, labels: Sequence[str]) -> None:
    """Refuse a baseline that does not take part, before anything is fitted."""
    if design.baseline is not None and design.baseline not in labels:
        raise UsageError(
            f"The baseline {ascii_line(design.baseline)} does not take part{nearest(design.baseline, labels)}"
        )


def _common_users(cells: Sequence[Cell]) -> Users:
    """Users that every finished cell evaluated, in the order of the first; on one split these are all."""
    if not cells:
        return np.empty(0, dtype=object)
    shared: set[str] = reduce(lambda known, cell: known & set(cell.users), cells, set(cells[0].users))
    chosen: Users = cells[0].users[[user in shared for user in cells[0].users]]
    return chosen


def _entry(row: Mapping[str, Any], cells: Sequence[Cell | None], users: Users, design: Design) -> Entry:
    finished = tuple(cell for cell in cells if cell is not None)
    named = {name: row[name] for name in ("label", "contestant", "model", "tuned")} | {"cells": finished}
    errors = [cell.error for cell in finished if cell.error]
    if errors or len(finished) < len(cells):
        return Entry(**named, settings=row["settings"], error=errors[0] if errors else UNFINISHED)
    metrics = [label for label in design.metrics if label in finished[0].means]
    per_user = {m: _averaged(finished, m, users) for m in metrics if m in finished[0].per_user}
    means = {m: float(np.mean(per_user[m] if m in per_user else [c.means[m] for c in finished])) for m in metrics}
    result = Result(
        means=means,
        per_user=per_user,
        users=users,
        model=row["model"] or row["label"],
        confidence=design.confidence,
        split=finished[0].split if len({cell.split for cell in finished}) == 1 else "several",
        notes=finished[0].notes,
    )
    deviation = {m: float(np.std([c.means[m] for c in finished], ddof=1)) for m in metrics} if len(finished) > 1 else {}
    settings = finished[0].settings or row["settings"]
    return Entry(**named, settings=settings, result=result, run_deviation=deviation, cost=_cost(finished))


def _with_intervals(entries: Sequence[Entry], design: Design) -> tuple[Entry, ...]:
    """All entries at once, so that they share the draws of users."""
    values = {(entry.label, metric): array for entry in entries for metric, array in entry.per_user.items()}
    spans = intervals(values, design.bootstrap)
    finished = []
    for entry in entries:
        if entry.result is not None:
            own = {metric: spans[entry.label, metric] for metric in entry.per_user}
            entry = replace(entry, result=replace(entry.result, intervals=own))
        finished.append(entry)
    return tuple(finished)


def _averaged(cells: Sequence[Cell], metric: str, users: Users) -> NDArray[np.float64]:
    """Each user's value, averaged over runs; cells of one split have their users in one order."""
    total = np.zeros(len(users))
    for cell in cells:
        values = cell.per_user[metric]
        if not np.array_equal(cell.users, users):
            position = {user: at for at, user in enumerate(cell.users)}
            values = values[[position[user] for user in users]]
        total += values
    return total / len(cells)


def _cost(cells: Sequence[Cell]) -> Cost:
    """Fits and scoring on average; a search is shared by the seeds of a split, so each split has one."""
    searches = list({cell.split: cell.cost for cell in cells}.values())
    return replace(
        Cost(),
        fit_seconds=float(np.mean([cell.cost.fit_seconds for cell in cells])),
        fit_processor=float(np.mean([cell.cost.fit_processor for cell in cells])),
        score_processor=float(np.mean([cell.cost.score_processor for cell in cells])),
        compile_processor=sum(cell.cost.compile_processor for cell in cells),
        trials=sum(cost.trials for cost in searches),
        tuning_seconds=sum(cost.tuning_seconds for cost in searches),
        tuning_processor=sum(cost.tuning_processor for cost in searches),
    )


def _reference(entries: Sequence[Entry], design: Design) -> str | None:
    """The baseline if it has figures, else the best by the primary metric."""
    done = [entry for entry in entries if entry.done]
    if any(entry.label == design.baseline for entry in done):
        return design.baseline
    way = direction(design.primary)
    return max(done, key=lambda entry: way * entry.means[design.primary]).label if done else None


def _comparisons(entries: Sequence[Entry], reference: str | None, design: Design) -> dict[str, dict[str, Comparison]]:
    done = {entry.label: entry for entry in entries if entry.done}
    if reference is None:
        return {}
    base = done[reference].per_user
    paired = {
        (label, metric): (values, base[metric])
        for label, entry in done.items()
        if label != reference
        for metric, values in entry.per_user.items()
    }
    family = compare(paired, design.bootstrap, lambda key: key[1])
    compared: dict[str, dict[str, Comparison]] = {}
    for (label, metric), comparison in corrected(family).items():
        compared.setdefault(label, {})[metric] = comparison
    return compared
