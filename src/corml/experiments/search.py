"""Best settings of one model within the budget of a study, found on the valid part and kept for all its seeds."""

from typing import Any

from corml._runtime.progress import Progress
from corml.experiments.design import Design
from corml.experiments.plan import PlannedCell
from corml.experiments.store import Store

__all__ = ["best_settings", "require"]

ANY_NUMBER = 10_000  # of trials, where only seconds are limited


def require() -> None:
    """Say that tuning is not possible before anything is fitted."""
    from corml.experiments.tuning import lazy_optuna

    lazy_optuna.require()


def best_settings(cell: PlannedCell, design: Design, store: Store, progress: Progress | None) -> dict[str, Any]:
    """Settings, the score on the valid part, trials and seconds of the search; made once, then read."""
    assert cell.search is not None
    kept = store.tuning(cell.search)
    if kept is None:
        kept = _search(cell, design, store, progress)
        store.keep_tuning(cell.search, kept)
    return kept


def _search(cell: PlannedCell, design: Design, store: Store, progress: Progress | None) -> dict[str, Any]:
    from corml.experiments.tuning import tune

    assert cell.contestant.model is not None
    assert cell.search is not None
    tuned = tune(
        cell.contestant.model,
        cell.split,
        metric=design.primary,
        trials=design.trials or ANY_NUMBER,
        processor_seconds=design.seconds,
        seed=design.seed,
        journal=store.journal(cell.search),
        progress=progress,
    )
    return {
        "settings": dict(tuned.best),
        "score": tuned.score,
        "metric": design.primary,
        "trials": len(tuned.trials),
        "seconds": tuned.seconds,
        "processor_seconds": tuned.processor_seconds,
    }
