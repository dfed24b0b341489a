"""From a study to a page: which sections there are, in which order, and in which words."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from corml.evaluation.significance import verdict
from corml.report import _text as text
from corml.report._measures import measure
from corml.report._provenance import details
from corml.report._results import Measured, main_names, shared_names, significantly_different
from corml.report.figures import gallery
from corml.report.page import Comparison, Fact, Facts, Finding, Findings, Page, Samples, Section
from corml.report.study import Study
from corml.report.tables import Column, comparison

__all__ = ["build_page", "headline"]

MAX_NAMED = 5  # models in the subtitle
_ON_TILES = ("users", "items", "interactions", "density")


def build_page(study: Study) -> Page:
    """Lay out everything the study has."""
    return Page(
        title=f"Recommendations for {study.name}",
        subtitle=_subtitle(study),
        sections=tuple(_sections(study)),
        footer="Made with corml, Collaborative Residual Metric Learning for top-N recommendation.",
    )


def headline(results: Mapping[str, Measured]) -> str:
    """The most accurate model, by how much, and whether that could be chance, in a sentence or two."""
    accurate = [name for name in main_names(shared_names(results.values())) if measure(name).better > 0]
    if not accurate:
        return ""
    metric, label = accurate[0], measure(accurate[0]).label
    first, *others = sorted(results, key=lambda name: -results[name][metric])
    value = results[first][metric]
    if not others:
        return f"{first} reaches {label} {value:.3f}."
    second = results[others[0]][metric]
    lead = f", {text.percent(value / second - 1)} above {others[0]} ({second:.3f})" if second > 0 else ""
    significant = significantly_different(results[first], results[others[0]], metric)
    tested = "" if significant is None else f" {verdict(significant=significant)}"
    return f"{first} is the most accurate, with {label} {value:.3f}{lead}.{tested}"


def _subtitle(study: Study) -> str:
    models = list(study.models)
    named = _listed(models)
    size = f"{text.count(len(study.data))} interaction{'' if len(study.data) == 1 else 's'}"
    return (f"{named} on {size}" if named else size) + (f" · {study.when}" if study.when else "")


def _listed(models: list[str]) -> str:
    if len(models) > MAX_NAMED:
        return f"{len(models)} models compared"
    return " and ".join([", ".join(models[:-1]), models[-1]]) + " compared" if len(models) > 1 else "".join(models)


def _sections(study: Study) -> Iterator[Section]:
    yield _facts(study)
    if study.doctor is not None:
        yield _findings(study)
    if study.models:
        yield _comparison(study)
    yield gallery(study)
    if study.samples:
        yield _samples(study)
    yield details(study)


def _facts(study: Study) -> Facts:
    users, items = study.data.shape
    tiles = [
        Fact("users", text.count(users)),
        Fact("items", text.count(items)),
        Fact("interactions", text.count(len(study.data))),
        Fact("density", text.percent(len(study.data) / max(users * items, 1))),
    ]
    known = study.doctor.facts if study.doctor else ()
    more = tuple((label, _value(label, value)) for label, value in known if label not in _ON_TILES)
    return Facts("The data", tiles=tuple(tiles), more=more)


def _value(label: str, value: Any) -> str:
    if isinstance(value, Mapping):
        if {"min", "median", "max"} <= value.keys():
            low, middle, high = (text.plain(value[key]) for key in ("min", "median", "max"))
            return f"{low} to {high}, median {middle}"
        return ", ".join(f"{key} {text.plain(inner)}" for key, inner in value.items())
    if label.startswith("share") and isinstance(value, float) and math.isfinite(value):
        return text.percent(value)
    day = re.match(r"(\d{4}-\d\d-\d\d)T", str(value))  # the day of a timestamp is enough here
    return day[1] if day else text.plain(value)


def _findings(study: Study) -> Findings:
    findings = study.doctor.findings if study.doctor else ()
    intro = "" if findings else "No problems found."
    return Findings("Data checks", intro, tuple(Finding(f.severity, f.what, f.advice) for f in findings))


def _comparison(study: Study) -> Comparison:
    results = {name: result for name, (_, result) in study.models.items()}
    names = shared_names(results.values())
    main = main_names(names)
    table = comparison(results, main)
    if study.timings:
        seconds = [text.duration(study.timings[name]) if name in study.timings else "–" for name in results]
        table = table.with_column(Column("Fit", number=True, meaning="Time to fit the model."), seconds)
    return Comparison(
        "Model comparison",
        headline(results),
        table=table,
        whole=comparison(results, names, intervals="range") if len(names) > len(main) else None,
        note=_how_measured(results),
        meanings=tuple((measure(name).label, measure(name).meaning) for name in main if measure(name).meaning),
    )


def _how_measured(results: Mapping[str, Measured]) -> str:
    """Say what the means are over, and what the second number of a cell is."""
    result = next(iter(results.values()))
    part = getattr(result, "part", "test")
    note = f"Means over {text.count(len(result.users))} users of the {part} part; the whole catalogue is ranked."
    if not result.intervals:
        return note
    return f"{note} ± is the {text.percent(getattr(result, 'confidence', 0.95))} confidence interval over users."


def _samples(study: Study) -> Samples:
    about = next(iter(study.models), "the model")
    intro = (
        f"What {about} recommends to a few users with histories of typical length. Percentages are each history "
        "item's share of the positive contributions to a score; ✓ marks held-out items, which the user did choose."
    )
    return Samples("Sample recommendations", intro, study.samples)
