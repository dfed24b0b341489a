"""From a subject to a page: which sections there are, and in which order."""

from collections.abc import Callable

from corml.report import _text as text
from corml.report.headline import numbers, sentence
from corml.report.page import Page, Section
from corml.report.sections import (
    cost,
    data,
    examples,
    groups,
    metrics,
    novelty,
    popularity,
    provenance,
    solver,
    users,
    winner,
)
from corml.report.subject import Subject

__all__ = ["METRICS", "build_page"]

MAX_NAMED = 5  # models in the subtitle

# What a page is best made from: the first decides who wins.
METRICS = tuple(
    f"{name}@{k}" for name in ("ndcg", "mrr", "recall", "hit_rate", "novelty", "coverage", "gini") for k in (5, 10, 20)
)

ORDER: tuple[Callable[[Subject], Section | None], ...] = (
    winner.section,
    novelty.section,
    popularity.section,
    groups.section,
    cost.section,
    examples.section,
    data.section,
    users.section,
    metrics.section,
    solver.section,
    provenance.section,
)


def build_page(subject: Subject) -> Page:
    """Lay out everything the subject has."""
    made = (section(subject) for section in ORDER)
    return Page(
        title=f"Recommendations for {subject.name}",
        subtitle=_subtitle(subject),
        sentence=sentence(subject),
        numbers=numbers(subject),
        sections=tuple(section for section in made if section is not None),
        footer="Made with corml, Collaborative Residual Metric Learning for top-N recommendation.",
    )


def _subtitle(subject: Subject) -> str:
    named = _listed(list(subject.models))
    size = _size(subject)
    about = f"{named} on {size}" if named and size else named or size
    return " · ".join(filter(None, (about, subject.when)))


def _size(subject: Subject) -> str:
    if subject.data is None:
        return ""
    return f"{text.count(len(subject.data))} interaction{'' if len(subject.data) == 1 else 's'}"


def _listed(models: list[str]) -> str:
    if len(models) > MAX_NAMED:
        return f"{len(models)} models compared"
    return " and ".join([", ".join(models[:-1]), models[-1]]) + " compared" if len(models) > 1 else "".join(models)
