"""A page about a comparison: the rows of a study as models, its tests, its budget and its failures."""

from collections.abc import Mapping
from typing import Any

from corml.data.interactions import Interactions
from corml.experiments import ModelResult, Study
from corml.report.subject import Cost, Parts, Subject

__all__ = ["of_study"]


def of_study(
    study: Study, name: str, *, data: Interactions | None = None, split: Parts | None = None, when: str = ""
) -> Subject:
    """What the page of a study is made from; with its data and its split at hand there is more to show."""
    done = {entry.label: entry for entry in study.ranking}
    best = study.best
    against_best = best is not None and study.reference == best.label
    primary = study.design.primary
    provenance = study.provenance
    return Subject(
        name=name,
        data=data,
        models={label: (None, entry.result) for label, entry in done.items() if entry.result is not None},
        split=split,
        primary=primary,
        contestants={label: entry.base for label, entry in done.items()},
        corrected=_corrected(study, primary) if against_best else {},
        family=study.family if against_best else 0,
        costs={label: _cost(entry) for label, entry in done.items()},
        versions=dict(provenance.environment),
        remarks=_remarks(study),
        more={"Design": _design(study), **_splits(study, split), **_settings(done)},
        command=provenance.command,
        when=when,
    )


def _corrected(study: Study, metric: str) -> dict[str, float]:
    """The p of each row against the best, as the study corrected it over all rows and metrics."""
    return {label: compared[metric].p for label, compared in study.comparisons.items() if metric in compared}


def _cost(entry: ModelResult) -> Cost:
    return Cost(
        fit_seconds=entry.cost.fit_seconds or None,
        fit_processor=entry.cost.fit_processor or None,
        trials=entry.cost.trials or None,
        tuning_seconds=entry.cost.tuning_processor or None,
    )


def _remarks(study: Study) -> tuple[str, ...]:
    """Who failed and why, and how far means move with the seed."""
    failed = [f"{entry.label} has no figures: {entry.error}" for entry in study.failed]
    primary = study.design.primary
    spread = {entry.label: entry.run_deviation[primary] for entry in study.ranking if primary in entry.run_deviation}
    if spread:
        said = ", ".join(f"{label} {value:.4f}" for label, value in spread.items())
        failed.append(f"Standard deviation of {primary} over runs (seeds and splits), apart from users: {said}.")
    return tuple(failed)


def _design(study: Study) -> dict[str, Any]:
    design = study.design
    budget = {"trials of each model": design.trials or None, "processor seconds of each model": design.seconds}
    facts = {"primary metric": design.primary, "baseline": design.baseline, "seeds": design.seeds, **budget}
    return {name: value for name, value in facts.items() if value is not None}


def _splits(study: Study, split: Parts | None) -> dict[str, Mapping[str, Any]]:
    """The records of the splits, unless the split itself is at hand and shows them."""
    if split is not None and len(study.splits) == 1:
        return {}
    several = len(study.splits) > 1
    return {
        f"Split {at}" if several else "Split": {**one.procedure, "fingerprint": one.fingerprint}
        for at, one in enumerate(study.splits, start=1)
    }


def _settings(done: Mapping[str, ModelResult]) -> dict[str, Mapping[str, Any]]:
    return {f"Settings of {label}": entry.settings for label, entry in done.items() if entry.settings}
