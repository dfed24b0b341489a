"""A study as tables: scores with their cost, each model against the reference, and how to read them."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from corml.evaluation.significance import LEVEL, Comparison
from corml.experiments.grid import BEST, SECOND, Grid, Value, clean

if TYPE_CHECKING:
    import polars

    from corml.experiments.study import ModelResult, Study

NONE = Value("–")
SMALLEST = 1e-4  # p below this is not written out


def scores(study: "Study") -> Grid:
    """Means with intervals over users, the spread over runs, and the trials and CPU seconds they took."""
    primary, metrics = study.design.primary, study.design.metrics
    marks = {metric: _marks(study, metric) for metric in metrics}
    columns = {"model": [Value(row.label) for row in study]}
    columns |= {metric: [_score(row, metric, marks[metric]) for row in study] for metric in metrics}
    if any(len(row.runs) > 1 for row in study):
        columns["runs"] = [Value(str(len(row.runs))) for row in study]
        columns[f"sd of {primary} over runs"] = [_deviation(row.run_deviation.get(primary)) for row in study]
    if study.design.tunes:
        tuned = [row.tuned and row.done for row in study]
        trials = [(Value(f"{row.cost.trials:,}"), Value(_seconds(row.cost.tuning_processor))) for row in study]
        columns["trials"], columns["tuning, CPU s"] = (
            [pair[at] if was else NONE for pair, was in zip(trials, tuned, strict=True)] for at in (0, 1)
        )
    columns["fit, CPU s"] = [
        Value(_seconds(row.cost.fit_processor)) if row.done and row.model else NONE for row in study
    ]
    return Grid(tuple(columns), tuple(zip(*columns.values(), strict=True)))


def tests(study: "Study") -> Grid:
    """Each model minus the reference over the same users: interval, corrected p of three tests, and effect sizes."""
    heads = ("model", "metric", "difference", "interval", "p (t)", "p (Wilcoxon)", "p (sign flips)")
    rows = [
        (
            Value(label),
            Value(metric),
            Value(_signed(one.difference)),
            Value(f"[{_signed(one.interval[0])}, {_signed(one.interval[1])}]"),
            *(Value(_p(p)) for p in _corrected(one)),
            Value(_signed(one.effect.d_z, 2)),
            Value(_signed(one.effect.rank_biserial, 2)),
            Value(f"{one.effect.wins:.0%}/{one.effect.ties:.0%}/{one.effect.losses:.0%}"),
        )
        for label, compared in study.comparisons.items()
        for metric, one in compared.items()
    ]
    return Grid((*heads, "d_z", "rank-biserial", "users won/tied/lost"), tuple(rows), texts=2)


def remarks(study: "Study") -> list[str]:
    """What the tables are about, in sentences."""
    design = study.design
    lines = [
        f"Primary metric, named beforehand: {design.primary}. {len(study.users):,} users of the test set"
        f"{'' if len(study.splits) == 1 else f' of {len(study.splits)} splits'}; ±: {design.confidence:.0%} interval "
        f"over users ({design.resamples:,} bootstrap resamples); best and runner-up are marked.",
    ]
    if study.best and study.runner_up:
        best, second = study.best, study.runner_up
        lines.append(
            f"Best: {best.label}, {best.means[design.primary]:.4f}. "
            f"Runner-up: {second.label}, {second.means[design.primary]:.4f}."
        )
    if design.tunes:
        lines.append(f"Tuned: {_budget(study)} for every model, on the validation set; seconds are what was used.")
    if study.comparisons:
        lines.append(
            f"Differences are those to {study.reference}, over the same users; p is two-sided, corrected by Holm's "
            f"method over {study.family} {'test' if study.family == 1 else 'tests'} of each kind. {_verdict(study)}"
        )
    lines += [f"Failed: {row.label}: {row.error}" for row in study.failed]
    lines += _notes(study)
    versions = {str(run.environment.get("corml")) for row in study for run in row.runs}
    if len(versions) > 1:
        lines.append(f"The runs were made with different versions of corml: {', '.join(sorted(versions))}.")
    return [clean(line) for line in lines]


def in_short(study: "Study") -> list[str]:
    """How to read the scores: which metric decides, which model is best and whether that may be chance."""
    design = study.design
    lines = [
        f"{design.primary} decides; {len(study.users):,} users; ±: {design.confidence:.0%} interval; "
        "* best, † runner-up"
    ]
    if study.best and study.comparisons:
        lines.append(f"{study.best.label} is best. {_verdict(study)}")
    lines += [f"Failed: {row.label}: {row.error}" for row in study.failed]
    return [clean(line) for line in [*lines, *_notes(study)]]


def _notes(study: "Study") -> list[str]:
    """What was left out and warnings, each once, with the models it is about."""
    labels: dict[str, list[str]] = {}
    for row in study:
        for note in row.notes:
            labels.setdefault(note, []).append(row.label)
    done = sum(row.done for row in study)
    return [
        f"{'all models' if len(about) >= max(done, 2) else ', '.join(about)}: {note}" for note, about in labels.items()
    ]


def frame(study: "Study") -> "polars.DataFrame":
    """One row for each model and metric, with all its figures."""
    from corml._runtime.lazy_polars import polars

    rows = [_facts(study, row, metric) for row in study for metric in study.design.metrics]
    return polars.DataFrame(rows, schema=_COLUMNS)


def record(study: "Study") -> dict[str, object]:
    """Everything except the users' values, ready for JSON."""
    design = study.design
    return {
        "primary": design.primary,
        "metrics": list(design.metrics),
        "reference": study.reference,
        "best": study.best.label if study.best else None,
        "runner_up": study.runner_up.label if study.runner_up else None,
        "users": len(study.users),
        "seeds": design.seeds,
        "budget": {"trials": design.trials, "seconds": design.seconds} if design.tunes else None,
        "intervals": {"confidence": design.confidence, "resamples": design.resamples, "seed": design.seed},
        "tests": {"level": LEVEL, "correction": "holm", "family": study.family},
        "models": [_row(study, row) for row in study],
        "splits": [dict(vars(split)) for split in study.splits],
        "provenance": dict(vars(study.provenance)),
    }


# --- scores ----------------------------------------------------------------------------------------------------------


def _marks(study: "Study", metric: str) -> dict[str, str]:
    """Best and runner-up of a metric that has a better direction; what is equal as shown is equally good."""
    ranked, runner_up = study.ranked(metric), study.runner_up_by(metric)
    if len(ranked) < 2:
        return {}
    shown = {row.label: f"{row.means[metric]:.4f}" for row in ranked}
    second = shown[runner_up.label] if runner_up else ""
    best = shown[ranked[0].label]
    return {label: BEST if text == best else SECOND if text == second else "" for label, text in shown.items()}


def _score(row: "ModelResult", metric: str, marks: dict[str, str]) -> Value:
    if metric not in row.means:
        return Value("failed" if row.error else "–")
    mean, span = row.means[metric], row.intervals.get(metric)
    extra = f"±{max(mean - span[0], span[1] - mean):.4f}" if span else ""
    return Value(f"{mean:.4f}", extra, marks.get(row.label, ""))


def _budget(study: "Study") -> str:
    trials, seconds = study.design.trials, study.design.seconds
    limits = [f"{trials:,} trials"] if trials else []
    limits += [] if seconds is None else [f"{seconds:g} CPU seconds"]
    return "at most " + " and ".join(limits)


# --- comparisons -----------------------------------------------------------------------------------------------------


def _verdict(study: "Study") -> str:
    """Whether any model comes near the reference by the primary metric."""
    primary = study.design.primary
    near = [label for label, compared in study.comparisons.items() if not compared[primary].significant]
    if not near:
        return f"By {primary} all others differ from it (paired t-test, corrected p < {LEVEL:g})."
    return f"By {primary} the difference may be chance for {', '.join(near)} (paired t-test, corrected p ≥ {LEVEL:g})."


def _corrected(one: Comparison) -> Iterator[float]:
    tests = one.holm or one.tests
    return iter((tests.t, tests.wilcoxon, tests.permutation))


def _p(p: float) -> str:
    return f"<{SMALLEST:g}" if p < SMALLEST else f"{p:.4f}"


def _signed(value: float, digits: int = 4) -> str:
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "−∞" if value < 0 else "∞"
    return f"{value:.{digits}f}".replace("-", "−")


def _deviation(value: float | None) -> Value:
    return NONE if value is None else Value(f"{value:.4f}")


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


# --- facts -----------------------------------------------------------------------------------------------------------

_TESTS = ("t", "wilcoxon", "permutation")
_COLUMNS: dict[str, type] = {
    **dict.fromkeys(("label", "model"), str),
    **{"tuned": bool, "metric": str},
    **dict.fromkeys(("mean", "low", "high", "run_deviation"), float),
    **{"runs": int, "users": int, "reference": str},
    **dict.fromkeys(("difference", "difference_low", "difference_high"), float),
    **dict.fromkeys([f"p_{test}" for test in _TESTS] + [f"holm_{test}" for test in _TESTS], float),
    **dict.fromkeys(("d_z", "rank_biserial", "wins", "ties", "losses", "fit_processor", "fit_seconds"), float),
    **{"trials": int, "tuning_processor": float, "tuning_seconds": float, "error": str},
}


def _facts(study: "Study", row: "ModelResult", metric: str) -> dict[str, object]:
    low, high = row.intervals.get(metric, (None, None))
    one = study.comparisons.get(row.label, {}).get(metric)
    cost = {name: value for name, value in vars(row.cost).items() if name in _COLUMNS}
    facts = {"label": row.label, "model": row.model, "tuned": row.tuned, "metric": metric, "error": row.error}
    facts |= {"mean": row.means.get(metric), "low": low, "high": high, "run_deviation": row.run_deviation.get(metric)}
    facts |= {"runs": len(row.runs), "users": len(study.users), **cost}
    return dict.fromkeys(_COLUMNS) | facts | ({} if one is None else _compared(study, one))


def _compared(study: "Study", one: Comparison) -> dict[str, object]:
    assert one.holm is not None
    return {
        "reference": study.reference,
        "difference": one.difference,
        "difference_low": one.interval[0],
        "difference_high": one.interval[1],
        **{f"p_{test}": getattr(one.tests, test) for test in _TESTS},
        **{f"holm_{test}": getattr(one.holm, test) for test in _TESTS},
        **vars(one.effect),
    }


def _row(study: "Study", row: "ModelResult") -> dict[str, object]:
    return {
        "label": row.label,
        "model": row.model,
        "tuned": row.tuned,
        "settings": dict(row.settings),
        "error": row.error or None,
        "means": dict(row.means),
        "intervals": {metric: list(ends) for metric, ends in row.intervals.items()},
        "run_deviation": dict(row.run_deviation),
        "runs": [{"key": run.key, "seed": run.seed, "means": dict(run.means)} for run in row.runs],
        "cost": dict(vars(row.cost)),
        "notes": row.notes,
        "comparisons": {
            metric: {"users": one.users, **_compared(study, one)}
            for metric, one in study.comparisons.get(row.label, {}).items()
        },
    }
