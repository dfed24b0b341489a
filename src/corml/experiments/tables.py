"""A study as tables: scores with their cost, each entry against the reference, and how to read them."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from corml.evaluation.significance import LEVEL, Comparison
from corml.experiments.grid import BEST, SECOND, Grid, Value, clean

if TYPE_CHECKING:
    import polars

    from corml.experiments.study import Entry, Study

__all__ = ["frame", "in_short", "record", "remarks", "scores", "tests"]

NONE = Value("–")
SMALLEST = 1e-4  # p below this is not written out


def scores(study: "Study") -> Grid:
    """Means with intervals over users, the spread over runs, and trials and processor seconds beside them."""
    primary, metrics = study.design.primary, study.design.metrics
    several = any(len(entry.cells) > 1 for entry in study)
    heads = ["model", *metrics]
    heads += ["runs", f"sd of {primary} over runs"] if several else []
    heads += ["trials", "tuning, processor s"] if study.design.tunes else []
    marks = {metric: _marks(study, metric) for metric in metrics}
    rows = []
    for entry in study:
        row = [Value(entry.label), *(_score(entry, metric, marks[metric]) for metric in metrics)]
        if several:
            row += [Value(str(len(entry.cells))), _number(entry.run_deviation.get(primary), 4)]
        if study.design.tunes:
            tuned = entry.tuned and entry.done
            row += (
                [Value(f"{entry.cost.trials:,}"), Value(_seconds(entry.cost.tuning_processor))] if tuned else [NONE] * 2
            )
        fit = Value(_seconds(entry.cost.fit_processor)) if entry.done and entry.model else NONE
        rows.append((*row, fit))
    return Grid((*heads, "fit, processor s"), tuple(rows))


def tests(study: "Study") -> Grid:
    """Each entry minus the reference over the same users: interval, corrected p of three tests, and effect sizes."""
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
        f"Primary metric, named beforehand: {design.primary}. {len(study.users):,} users of the test part"
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
        lines.append(f"Tuned: {_budget(study)} for every model, on the valid part; seconds are what was used.")
    if study.comparisons:
        lines.append(
            f"Differences are those to {study.reference}, over the same users; p is two-sided, corrected by Holm's "
            f"method over {study.family} {'test' if study.family == 1 else 'tests'} of each kind. {_verdict(study)}"
        )
    lines += [f"Failed: {entry.label}: {entry.error}" for entry in study.failed]
    lines += _notes(study)
    versions = {str(cell.environment.get("corml")) for entry in study for cell in entry.cells}
    if len(versions) > 1:
        lines.append(f"The cells were made with different versions of corml: {', '.join(sorted(versions))}.")
    return [clean(line) for line in lines]


def in_short(study: "Study") -> list[str]:
    """What a person needs to read the scores: which metric decides, who is best and whether that may be chance."""
    design = study.design
    lines = [
        f"{design.primary} decides; {len(study.users):,} users; ±: {design.confidence:.0%} interval; "
        "* best, † runner-up"
    ]
    if study.best and study.comparisons:
        lines.append(f"{study.best.label} is best. {_verdict(study)}")
    lines += [f"Failed: {entry.label}: {entry.error}" for entry in study.failed]
    return [clean(line) for line in [*lines, *_notes(study)]]


def _notes(study: "Study") -> list[str]:
    """What was left out and warnings, each once, with the entries it is about."""
    labels: dict[str, list[str]] = {}
    for entry in study:
        for note in entry.notes:
            labels.setdefault(note, []).append(entry.label)
    done = sum(entry.done for entry in study)
    return [
        f"{'all models' if len(about) >= max(done, 2) else ', '.join(about)}: {note}" for note, about in labels.items()
    ]


def frame(study: "Study") -> "polars.DataFrame":
    """One row for each entry and metric, with everything that is known of it."""
    from corml._runtime.lazy_polars import polars

    rows = [_facts(study, entry, metric) for entry in study for metric in study.design.metrics]
    kinds = {"text": polars.String, "flag": polars.Boolean, "number": polars.Float64, "count": polars.Int64}
    return polars.DataFrame(rows, schema={name: kinds[kind] for name, kind in _COLUMNS.items()})


def record(study: "Study") -> dict[str, Any]:
    """Everything but the users' values, ready for JSON."""
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
        "entries": [_entry(study, entry) for entry in study],
        "splits": [dict(split) for split in study.splits],
        "provenance": dict(study.provenance),
    }


# --- scores ----------------------------------------------------------------------------------------------------------


def _marks(study: "Study", metric: str) -> dict[str, str]:
    """Best and runner-up of a metric that has a better direction; what is equal as shown is equally good."""
    ranked, rival = study.ranked(metric), study.rival(metric)
    if len(ranked) < 2:
        return {}
    shown = {entry.label: f"{entry.means[metric]:.4f}" for entry in ranked}
    second = shown[rival.label] if rival else ""
    best = shown[ranked[0].label]
    return {label: BEST if text == best else SECOND if text == second else "" for label, text in shown.items()}


def _score(entry: "Entry", metric: str, marks: dict[str, str]) -> Value:
    if metric not in entry.means:
        return Value("failed" if entry.error else "–")
    mean, span = entry.means[metric], entry.intervals.get(metric)
    extra = f"±{max(mean - span[0], span[1] - mean):.4f}" if span else ""
    return Value(f"{mean:.4f}", extra, marks.get(entry.label, ""))


def _budget(study: "Study") -> str:
    trials, seconds = study.design.trials, study.design.seconds
    limits = [f"{trials:,} trials"] if trials else []
    limits += [] if seconds is None else [f"{seconds:g} processor seconds"]
    return "at most " + " and ".join(limits)


# --- comparisons -----------------------------------------------------------------------------------------------------


def _verdict(study: "Study") -> str:
    """Whether anybody comes near the reference by the primary metric."""
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


def _number(value: float | None, digits: int) -> Value:
    return NONE if value is None else Value(f"{value:.{digits}f}")


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


# --- facts -----------------------------------------------------------------------------------------------------------

_TESTS = ("t", "wilcoxon", "permutation")
_COLUMNS = (
    dict.fromkeys(("entry", "model"), "text")
    | {"tuned": "flag", "metric": "text"}
    | dict.fromkeys(("mean", "low", "high", "run_deviation"), "number")
    | {"runs": "count", "users": "count", "reference": "text"}
    | dict.fromkeys(("difference", "difference_low", "difference_high"), "number")
    | dict.fromkeys([f"p_{test}" for test in _TESTS] + [f"holm_{test}" for test in _TESTS], "number")
    | dict.fromkeys(("d_z", "rank_biserial", "wins", "ties", "losses"), "number")
    | {"fit_processor": "number", "fit_seconds": "number", "trials": "count", "tuning_processor": "number"}
    | {"tuning_seconds": "number", "error": "text"}
)


def _facts(study: "Study", entry: "Entry", metric: str) -> dict[str, Any]:
    low, high = entry.intervals.get(metric, (None, None))
    one = study.comparisons.get(entry.label, {}).get(metric)
    known = {
        "entry": entry.label,
        "model": entry.model,
        "tuned": entry.tuned,
        "metric": metric,
        "mean": entry.means.get(metric),
        "low": low,
        "high": high,
        "run_deviation": entry.run_deviation.get(metric),
        "runs": len(entry.cells),
        "users": len(study.users),
        "fit_processor": entry.cost.fit_processor,
        "fit_seconds": entry.cost.fit_seconds,
        "trials": entry.cost.trials,
        "tuning_processor": entry.cost.tuning_processor,
        "tuning_seconds": entry.cost.tuning_seconds,
        "error": entry.error,
    }
    return dict.fromkeys(_COLUMNS) | known | ({} if one is None else _compared(study, one))


def _compared(study: "Study", one: Comparison) -> dict[str, Any]:
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


def _entry(study: "Study", entry: "Entry") -> dict[str, Any]:
    return {
        "label": entry.label,
        "model": entry.model,
        "tuned": entry.tuned,
        "settings": dict(entry.settings),
        "error": entry.error or None,
        "means": dict(entry.means),
        "intervals": {metric: list(ends) for metric, ends in entry.intervals.items()},
        "run_deviation": dict(entry.run_deviation),
        "runs": [{"key": cell.key, "seed": cell.seed, "means": dict(cell.means)} for cell in entry.cells],
        "cost": dict(vars(entry.cost)),
        "notes": entry.notes,
        "comparisons": {
            metric: {"users": one.users, **_compared(study, one)}
            for metric, one in study.comparisons.get(entry.label, {}).items()
        },
    }
