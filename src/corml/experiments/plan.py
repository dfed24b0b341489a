"""Which cells a study needs: a row for each contestant as it is and, if there is a budget, a tuned one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from corml.errors import UsageError
from corml.experiments.cell import key_of
from corml.experiments.contestants import Contestant
from corml.experiments.design import Design
from corml.experiments.tuning import space_of
from corml.splits import Split

__all__ = ["Planned", "PlannedCell", "plan"]

TUNED = "{} (tuned)"


@dataclass(frozen=True, kw_only=True, eq=False)
class PlannedCell:
    """One fit to make: `search` is the key of the search that finds its settings, none where they are given."""

    key: str
    label: str
    contestant: Contestant
    split: Split
    seed: int | None = None
    search: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Planned:
    """A row of the table and its cells, one for each split and seed."""

    label: str
    contestant: Contestant
    tuned: bool
    cells: tuple[PlannedCell, ...]

    def record(self) -> dict[str, Any]:
        """Plain facts for the manifest."""
        facts = {
            "label": self.label,
            "contestant": self.contestant.label,
            "model": self.contestant.name,
            "tuned": self.tuned,
        }
        return {**facts, "settings": self.contestant.settings, "cells": [cell.key for cell in self.cells]}


def plan(everyone: Sequence[Contestant], splits: Sequence[Split], design: Design) -> tuple[Planned, ...]:
    """All rows, each contestant's own settings first."""
    if len(splits) > 1 and any(one.model is None for one in everyone):
        raise UsageError("Lists are made for one split: compare on that split alone, or leave the lists out.")
    rows = []
    for one in everyone:
        rows.append(_row(one, splits, design, tuned=False))
        if design.tunes and _searchable(one):
            rows.append(_row(one, splits, design, tuned=True))
    return tuple(rows)


def _searchable(one: Contestant) -> bool:
    """Whether there is anything to tune: lists have nothing, nor have models whose settings are all given."""
    return one.model is not None and bool(space_of(type(one.model), fixed=one.changed))


def _row(one: Contestant, splits: Sequence[Split], design: Design, *, tuned: bool) -> Planned:
    label = TUNED.format(one.label) if tuned else one.label
    first = one.settings["seed"] if one.seeded else None
    seeds = [None] if first is None else [first + number for number in range(design.seeds)]
    cells = tuple(_cell(label, one, split, seed, design, tuned=tuned) for split in splits for seed in seeds)
    return Planned(label=label, contestant=one, tuned=tuned, cells=cells)


def _cell(label: str, one: Contestant, split: Split, seed: int | None, design: Design, *, tuned: bool) -> PlannedCell:
    subject = {"model": one.name, "settings": one.settings, "lists": one.digest, "split": split.fingerprint}
    search = None
    if tuned:
        budget = {"trials": design.trials, "seconds": design.seconds, "metric": design.primary, "seed": design.seed}
        search = key_of(one.name, {**subject, "tuning": budget})
    key = key_of(
        "-".join([one.name or "lists", *(["tuned"] if tuned else []), *([] if seed is None else [f"seed{seed}"])]),
        {**subject, "seed": seed, "search": search, "metrics": design.metrics},
    )
    return PlannedCell(key=key, label=label, contestant=one, split=split, seed=seed, search=search)
