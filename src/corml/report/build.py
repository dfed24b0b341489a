"""From a subject to a page, and from a page to one HTML file that needs nothing else: no network, no script, no file.

Jinja escapes everything that is put into a template; only our own charts and style go in as they are.
"""

import os
from collections.abc import Callable
from functools import cache
from importlib.resources import files as resources
from typing import TYPE_CHECKING

from corml._runtime.html import clean
from corml._runtime.values import counted
from corml.evaluation.charts import STYLE
from corml.evaluation.significance import LEVEL
from corml.persistence import atomic
from corml.report import accuracy, appendix, groups, text
from corml.report.page import Number, Page, Section
from corml.report.subject import Subject, measure

if TYPE_CHECKING:
    from jinja2 import Environment

MAX_NAMED = 5  # models in the subtitle
WORDS = {"5": "five", "10": "ten", "20": "twenty"}

# What a page is best made from: the first decides which model is best.
METRICS = tuple(
    f"{name}@{k}" for name in ("ndcg", "mrr", "recall", "hit_rate", "novelty", "coverage", "gini") for k in (5, 10, 20)
)

SECTIONS: tuple[Callable[[Subject], Section | None], ...] = (
    accuracy.winner,
    accuracy.novelty,
    groups.popularity,
    groups.section,
    appendix.cost,
    appendix.examples,
    appendix.data,
    accuracy.users,
    accuracy.metrics,
    appendix.solver,
    appendix.provenance,
)

# Even if something slipped through, the browser would neither run nor fetch it.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def build_page(subject: Subject) -> Page:
    """Lay out everything the subject has."""
    made = (section(subject) for section in SECTIONS)
    return Page(
        title=f"Recommendations for {subject.name}",
        subtitle=_subtitle(subject),
        sentence=_sentence(subject),
        numbers=_numbers(subject),
        sections=tuple(section for section in made if section is not None),
        footer="Made with corml, Collaborative Residual Metric Learning for top-N recommendation.",
    )


def write_report(path: str | os.PathLike[str], page: Page) -> None:
    """Write a page as one HTML file, atomically: the old file stays until the new one is complete."""
    atomic.replace(path, render(page).encode("utf-8"))


def render(page: Page) -> str:
    """Write the page as HTML; the same page gives the same text."""
    from markupsafe import Markup

    style = resources("corml.report").joinpath("style.css").read_text("utf-8")
    return _templates().get_template("page.html").render(page=page, policy=Markup(POLICY), style=Markup(STYLE + style))


@cache
def _templates() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("corml.report"),
        autoescape=True,
        undefined=StrictUndefined,
        # text from data on one line, without control characters; escaping comes after this
        finalize=lambda value: value if isinstance(value, Markup) else clean(value),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["drawn"] = lambda chart: Markup(chart.svg(style=False))
    return environment


# --- the top of the page ---------------------------------------------------------------------------------------------


def _subtitle(subject: Subject) -> str:
    models = list(subject.models)
    named = " and ".join([", ".join(models[:-1]), models[-1]]) if len(models) > 1 else "".join(models)
    if len(models) > 1:
        named = f"{len(models)} models compared" if len(models) > MAX_NAMED else f"{named} compared"
    size = "" if subject.data is None else counted(len(subject.data), "interaction")
    return " · ".join(filter(None, (" on ".join(filter(None, (named, size))), subject.when)))


def _sentence(subject: Subject) -> str:
    """The most accurate model by the deciding metric, if that is more than chance, and what it does for users."""
    metric, hits, second = subject.metric, subject.of_family("hit_rate"), subject.runner_up
    if metric is None:
        return ""
    first, label = subject.ranking[0], measure(metric).label
    value, hit = subject.results[first][metric], _hit(subject, hits) if hits else ""
    if second is None:
        return hit or f"{first} reaches {label} {value:.3f}."
    other = subject.results[second][metric]
    models = len({subject.bases.get(name, name) for name in subject.models})  # tuned and default versions are one
    if _clear(subject):
        rank = "the more accurate of two models" if models == 2 else f"the most accurate of {models} models"
        compared = f"{first} is {rank}, with {label} {value:.3f} against {other:.3f} for {second}."
    else:
        best = "" if models == 2 else f", the best of {models} models"
        compared = f"No clear difference between {first} and {second}{best}: {label} {value:.3f} and {other:.3f}."
    return f"{compared} {hit}".strip()


def _numbers(subject: Subject) -> tuple[Number, ...]:
    """Users with a hit, the lead in accuracy, and how much of the catalogue is recommended; or what there is."""
    metric, hits = subject.metric, subject.of_family("hit_rate")
    if metric is None:
        return ()
    numbers = [_number(subject, hits, "of users get a hit")] if hits else []
    numbers.append(_lead(subject, metric))
    for family in ("coverage", "novelty", "recall", "mrr"):
        name = subject.of_family(family)
        if name is not None and name != metric:
            label = "of the catalogue is recommended" if family == "coverage" else measure(name).label
            numbers.append(_number(subject, name, label))
    return tuple(numbers[:3])


def _clear(subject: Subject) -> bool:
    """Whether the lead over the runner-up is unlikely to be chance, or was not tested."""
    p = subject.p_values.get(subject.runner_up or "")
    return p is None or p < LEVEL


def _hit(subject: Subject, hits: str) -> str:
    """The share of users with a hit, in words."""
    first, k = subject.ranking[0], hits.partition("@")[2]
    types = " or ".join((subject.split.procedure if subject.split else {}).get("targets", ()))
    item = f"with a hidden event of type {types}" if types else "that the user chose and that was hidden from the model"
    return (
        f"With {first}, for {100 * subject.results[first][hits]:.0f} of 100 users the first {WORDS.get(k, k)} "
        f"recommendations hold at least one item {item}."
    )


def _number(subject: Subject, name: str, label: str) -> Number:
    second = subject.runner_up
    shown = text.percent if name.startswith(("hit_rate", "coverage")) else "{:.3f}".format
    note = f"{second}: {shown(subject.results[second][name])}" if second else ""
    return Number(shown(subject.results[subject.ranking[0]][name]), label, note)


def _lead(subject: Subject, metric: str) -> Number:
    """The lead over the runner-up where there is one; else the value itself."""
    first, second = subject.ranking[0], subject.runner_up
    label, value = measure(metric).label, subject.results[first][metric]
    if second is None or subject.results[second][metric] <= 0:
        span = subject.results[first].intervals.get(metric)
        return Number(f"{value:.3f}", label, f"between {span[0]:.3f} and {span[1]:.3f}" if span else "")
    other = subject.results[second][metric]
    words = f"more accurate than {second}" if _clear(subject) else f"above {second}, no clear difference"
    return Number(f"+{text.percent(value / other - 1)}", words, f"{label}: {value:.3f} against {other:.3f}")
