"""From runs to a study: means over users and runs, intervals, and every model against the best or a baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from corml.evaluation import Comparison, Result
from corml.evaluation.metrics import direction
from corml.evaluation.resampling import intervals
from corml.evaluation.significance import compare, corrected
from corml.experiments.plan import Design, Plan, PlannedModel
from corml.experiments.record import Cost, Run
from corml.experiments.study import ModelResult, Study

UNFINISHED = "It is not finished: run the study again."


def assemble(plan: Plan, runs: Mapping[str, Run | None]) -> Study:
    """The study of a plan and its runs by key; None is a run that has not been made."""
    users = _common_users([run for run in runs.values() if run is not None and not run.error])
    rows = [_row(one, [runs[key] for key in one.runs], users, plan.design) for one in plan.models]
    models = _with_intervals(rows, plan.design)
    reference = _reference(models, plan.design)
    return Study(
        design=plan.design,
        models=models,
        comparisons=_comparisons(models, reference, plan.design),
        reference=reference,
        users=users,
        splits=plan.splits,
        provenance=plan.provenance,
    )


def _common_users(runs: Sequence[Run]) -> NDArray[np.object_]:
    """Users that every finished run evaluated, in the order of the first; on one split these are all."""
    if not runs:
        return np.empty(0, dtype=object)
    shared = set.intersection(*(set(run.users) for run in runs))
    chosen: NDArray[np.object_] = runs[0].users[[user in shared for user in runs[0].users]]
    return chosen


def _row(planned: PlannedModel, runs: Sequence[Run | None], users: NDArray[np.object_], design: Design) -> ModelResult:
    finished = tuple(run for run in runs if run is not None)
    row = ModelResult(
        label=planned.label,
        base=planned.base,
        model=planned.model,
        tuned=planned.tuned,
        settings=planned.settings,
        runs=finished,
    )
    errors = [run.error for run in finished if run.error]
    if errors or len(finished) < len(runs):
        return replace(row, error=errors[0] if errors else UNFINISHED)
    first = finished[0]
    metrics = [label for label in design.metrics if label in first.means]
    per_user = {m: _averaged(finished, m, users) for m in metrics if m in first.per_user}
    result = Result(
        means={m: float(np.mean(per_user[m] if m in per_user else [c.means[m] for c in finished])) for m in metrics},
        per_user=per_user,
        users=users,
        model=planned.model or planned.label,
        confidence=design.confidence,
        split=first.split if len({run.split for run in finished}) == 1 else "several",
        notes=first.notes,
    )
    several = len(finished) > 1
    deviation = {m: float(np.std([c.means[m] for c in finished], ddof=1)) for m in metrics} if several else {}
    settings = first.settings or planned.settings
    return replace(row, settings=settings, result=result, run_deviation=deviation, cost=_cost(finished))


def _with_intervals(models: Sequence[ModelResult], design: Design) -> tuple[ModelResult, ...]:
    """All models at once, so that they share the draws of users."""
    values = {(one.label, metric): array for one in models for metric, array in one.per_user.items()}
    spans = intervals(values, design.bootstrap)
    return tuple(
        one
        if one.result is None
        else replace(one, result=replace(one.result, intervals={m: spans[one.label, m] for m in one.per_user}))
        for one in models
    )


def _averaged(runs: Sequence[Run], metric: str, users: NDArray[np.object_]) -> NDArray[np.float64]:
    """Each user's value, averaged over runs; runs on one split have their users in one order."""
    total = np.zeros(len(users))
    for run in runs:
        values = run.per_user[metric]
        if not np.array_equal(run.users, users):
            position = {user: at for at, user in enumerate(run.users)}
            values = values[[position[user] for user in users]]
        total += values
    return total / len(runs)


def _cost(runs: Sequence[Run]) -> Cost:
    """Fits and scoring on average; a search is shared by the seeds of a split, so each split has one."""
    searches = list({run.split: run.cost for run in runs}.values())
    return Cost(
        fit_seconds=float(np.mean([run.cost.fit_seconds for run in runs])),
        fit_processor=float(np.mean([run.cost.fit_processor for run in runs])),
        score_processor=float(np.mean([run.cost.score_processor for run in runs])),
        compile_processor=sum(run.cost.compile_processor for run in runs),
        trials=sum(cost.trials for cost in searches),
        tuning_seconds=sum(cost.tuning_seconds for cost in searches),
        tuning_processor=sum(cost.tuning_processor for cost in searches),
    )


def _reference(models: Sequence[ModelResult], design: Design) -> str | None:
    """The baseline if it has figures, else the best by the primary metric."""
    done = [one for one in models if one.done]
    if any(one.label == design.baseline for one in done):
        return design.baseline
    way = direction(design.primary)
    return max(done, key=lambda one: way * one.means[design.primary]).label if done else None


def _comparisons(
    models: Sequence[ModelResult], reference: str | None, design: Design
) -> dict[str, dict[str, Comparison]]:
    done = {one.label: one for one in models if one.done}
    if reference is None:
        return {}
    base = done.pop(reference).per_user
    pairs = {
        (label, metric): (values, base[metric])
        for label, one in done.items()
        for metric, values in one.per_user.items()
    }
    compared: dict[str, dict[str, Comparison]] = {}
    for (label, metric), comparison in corrected(compare(pairs, design.bootstrap, lambda key: key[1])).items():
        compared.setdefault(label, {})[metric] = comparison
    return compared
