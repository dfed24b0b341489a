"""The facts in the files of a study, checked when they are read: tables and pages rely on every one of them."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from corml.errors import DataError, ModelFileError
from corml.experiments.cell import Cell
from corml.experiments.design import Design
from corml.persistence.facts import from_plain, is_deep

__all__ = ["check_cell", "check_figures", "check_manifest", "is_outcome"]

KEY = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")  # of a cell, which is the name of its file
ENTRY: dict[str, type] = {
    **{"label": str, "contestant": str, "model": str},
    **{"tuned": bool, "settings": dict, "cells": list},
}
SPLIT: dict[str, type] = {"fingerprint": str, "procedure": dict, "counts": dict}
PROVENANCE: dict[str, type] = {"command": str, "data": dict, "environment": dict}
CELL: dict[str, type] = {
    **dict.fromkeys(("key", "label", "model", "split", "error", "finished", "command"), str),
    **dict.fromkeys(("settings", "means", "per_user", "notes", "environment"), Mapping),
    "tuned": bool,
}


def check_manifest(manifest: Mapping[str, Any]) -> None:
    """Refuse the plan of a study if a fact has another form than a study writes, by a TypeError."""
    _check(not is_deep(manifest))
    for name, form in (("entries", ENTRY), ("splits", SPLIT)):
        _check(isinstance(manifest.get(name), list) and all(_has(one, form) for one in manifest[name]))
    _check(_has(manifest.get("provenance"), PROVENANCE))
    for one in manifest["entries"]:
        _check(all(isinstance(key, str) and KEY.fullmatch(key) for key in one["cells"]) and len(one["cells"]) > 0)
    _check(len({one["label"] for one in manifest["entries"]}) == len(manifest["entries"]))
    _check_design(manifest.get("design"))


def _check_design(plain: object) -> None:
    """Check the design that a manifest records as a new one is."""
    try:
        design = from_plain(Design, plain)
    except ModelFileError:
        raise TypeError("design") from None
    more = {name: value for name, value in vars(design).items() if name not in ("metrics", "primary")}
    Design.of(design.metrics, design.primary, **more)


def check_figures(cells: Sequence[Cell], metrics: Sequence[str]) -> None:
    """Refuse cells that have not failed and do not have figures of all metrics of their study."""
    for cell in cells:
        if not cell.error and not set(metrics) <= set(cell.means):
            raise DataError(f"The cell {cell.key} of the study lacks a metric: delete it, and run again.")


def is_outcome(kept: Mapping[str, Any]) -> bool:
    """Whether what is kept of a search has the form that a search gives it."""
    spent: list[Any] = [kept.get("seconds"), kept.get("processor_seconds")]
    return (
        isinstance(kept.get("settings"), dict)
        and not is_deep(kept)
        and type(kept.get("trials")) is int
        and all(type(one) in (int, float) and math.isfinite(one) for one in spent)
    )


def check_cell(cell: Cell) -> None:
    """Refuse a cell with facts of another form, by a TypeError."""
    _check(_has(vars(cell), CELL) and not is_deep(vars(cell) | {"users": (), "per_user": ()}))
    _check(cell.seed is None or type(cell.seed) is int)
    _all_are(lambda text: isinstance(text, str), cell.users.tolist(), cell.warnings, cell.means, cell.per_user)
    _all_are(lambda count: type(count) is int, cell.notes.values())
    _all_are(lambda cost: type(cost) in (int, float) and math.isfinite(cost), vars(cell.cost).values())
    _all_are(lambda mean: not math.isinf(mean), cell.means.values())
    _check(not any(np.isinf(values).any() for values in cell.per_user.values()))
    _check(type(cell.cost.trials) is int)
    _check(len(set(cell.users.tolist())) == len(cell.users))


def _has(value: Any, form: Mapping[str, type]) -> bool:
    return isinstance(value, Mapping) and all(isinstance(value.get(name), kind) for name, kind in form.items())


def _all_are(holds: Callable[[Any], bool], *groups: Any) -> None:
    _check(all(holds(one) for group in groups for one in group))


def _check(fine: bool) -> None:
    if not fine:
        raise TypeError("a fact of another form")
