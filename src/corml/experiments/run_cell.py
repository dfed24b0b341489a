"""Run one cell: find its settings if they are to be tuned, fit on train, evaluate on test, and write down the cost."""

import datetime
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corml._runtime import memory
from corml._runtime.progress import Progress
from corml.errors import CormlError, ascii_line
from corml.evaluation import Result, evaluate, evaluate_lists
from corml.evaluation.task import early_stopping
from corml.experiments.cell import Cell, Cost
from corml.experiments.clock import measured
from corml.experiments.design import Design
from corml.experiments.plan import PlannedCell
from corml.experiments.search import best_settings
from corml.experiments.store import Store
from corml.models.saved.model_file import environment

__all__ = ["Runner"]


@dataclass(frozen=True, kw_only=True)
class Runner:
    """What all cells of a run share."""

    design: Design
    store: Store
    command: str = ""
    progress: Progress | None = None

    def run(self, planned: PlannedCell) -> Cell:
        """The finished cell, or one that says why it failed: a study goes on without it."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                cell = self._model(planned) if planned.contestant.model is not None else self._lists(planned)
            except Exception as fault:  # whatever a model does wrong, the others are to finish
                cell = replace(self._blank(planned), error=_sentence(fault))
        said = tuple(dict.fromkeys(f"{entry.category.__name__}: {entry.message}" for entry in caught))
        return replace(cell, warnings=said, finished=_now(), command=self.command, environment=environment())

    def _blank(self, planned: PlannedCell) -> Cell:
        return Cell(
            key=planned.key,
            label=planned.label,
            model=planned.contestant.name,
            tuned=planned.search is not None,
            seed=planned.seed,
            split=planned.split.fingerprint,
        )

    def _model(self, planned: PlannedCell) -> Cell:
        found: dict[str, Any] = {}
        if planned.search is not None:
            found = best_settings(planned, self.design, self.store, self.progress)
        chosen = {**found.get("settings", {}), **({} if planned.seed is None else {"seed": planned.seed})}
        model = planned.contestant.build(chosen)
        with measured() as fitting:
            model.fit(planned.split.train, progress=self.progress, **early_stopping(model, planned.split))
        with measured() as scoring:
            result = evaluate(model, planned.split, self.design.metrics, intervals=False, progress=self.progress)
        cost = Cost(
            fit_seconds=fitting.seconds,
            fit_processor=fitting.processor,
            score_processor=scoring.processor,
            compile_processor=fitting.compile_processor + scoring.compile_processor,
            trials=found.get("trials", 0),
            tuning_seconds=found.get("seconds", 0.0),
            tuning_processor=found.get("processor_seconds", 0.0),
        )
        return self._done(planned, result, cost, dict(model.settings_))

    def _lists(self, planned: PlannedCell) -> Cell:
        lists = planned.contestant.lists
        assert lists is not None
        result = evaluate_lists(lists, planned.split, self.design.metrics, intervals=False, mask=True)
        return self._done(planned, result, Cost(), {})

    def _done(self, planned: PlannedCell, result: Result, cost: Cost, settings: dict[str, Any]) -> Cell:
        per_user = {label: np.asarray(values, dtype=np.float64) for label, values in result.per_user.items()}
        return replace(
            self._blank(planned),
            settings=settings,
            means=dict(result.means),
            users=result.users,
            per_user=per_user,
            notes=dict(result.notes),
            cost=cost,
        )


def _sentence(fault: Exception) -> str:
    if isinstance(fault, CormlError):
        return " ".join(str(fault).split())
    if memory.is_shortage(fault):
        return memory.SHORT
    return f"{type(fault).__name__}: {ascii_line(fault, 200)}"


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
