"""A page about a comparison: the rows of a study as models, its tests, its budget and its failures."""

from collections.abc import Mapping

from corml.data.interactions import Interactions
from corml.experiments import ModelResult, Study
from corml.report.subject import Cost, Subject
from corml.splits import Split


def of_study(
    study: Study, name: str, *, data: Interactions | None = None, split: Split | None = None, when: str = ""
) -> Subject:
    """What the page of a study is made from; with its data and its split there is more to show."""
    done = {row.label: row for row in study.ranking}
    best = study.best
    against_best = best is not None and study.reference == best.label
    primary = study.design.primary
    provenance = study.provenance
    return Subject(
        name=name,
        data=data,
        models={label: (None, row.result) for label, row in done.items() if row.result is not None},
        split=split,
        primary=primary,
        bases={label: row.base for label, row in done.items()},
        corrected=_corrected(study, primary) if against_best else {},
        family=study.family if against_best else 0,
        costs={label: _cost(row) for label, row in done.items()},
        versions=dict(provenance.environment),
        remarks=_remarks(study),
        more={"Design": _design(study), **_splits(study, split), **_settings(done)},
        command=provenance.command,
        when=when,
    )


def _corrected(study: Study, metric: str) -> dict[str, float]:
    """The p of each row against the best, as the study corrected it over all rows and metrics."""
    return {label: compared[metric].p for label, compared in study.comparisons.items() if metric in compared}


def _cost(row: ModelResult) -> Cost:
    return Cost(
        fit_seconds=row.cost.fit_seconds or None,
        fit_processor=row.cost.fit_processor or None,
        trials=row.cost.trials or None,
        tuning_seconds=row.cost.tuning_processor or None,
    )


def _remarks(study: Study) -> tuple[str, ...]:
    """Which models failed and why, and how far means move with the seed."""
    failed = [f"{row.label} has no figures: {row.error}" for row in study.failed]
    primary = study.design.primary
    spread = {row.label: row.run_deviation[primary] for row in study.ranking if primary in row.run_deviation}
    if spread:
        text = ", ".join(f"{label} {value:.4f}" for label, value in spread.items())
        failed.append(f"Standard deviation of {primary} over runs (seeds and splits), apart from users: {text}.")
    return tuple(failed)


def _design(study: Study) -> dict[str, object]:
    design = study.design
    budget = {"trials of each model": design.trials or None, "CPU seconds of each model": design.seconds}
    facts = {"primary metric": design.primary, "baseline": design.baseline, "seeds": design.seeds, **budget}
    return {name: value for name, value in facts.items() if value is not None}


def _splits(study: Study, split: Split | None) -> dict[str, Mapping[str, object]]:
    """The records of the splits, unless the page shows the split itself."""
    if split is not None and len(study.splits) == 1:
        return {}
    several = len(study.splits) > 1
    return {
        f"Split {at}" if several else "Split": {**one.procedure, "fingerprint": one.fingerprint}
        for at, one in enumerate(study.splits, start=1)
    }


def _settings(done: Mapping[str, ModelResult]) -> dict[str, Mapping[str, object]]:
    return {f"Settings of {label}": row.settings for label, row in done.items() if row.settings}
