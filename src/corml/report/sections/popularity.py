"""Popularity bias, the long tail and coverage: which part of the catalogue the lists use."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.data.interactions import Interactions
from corml.evaluation import charts
from corml.report import _text as text
from corml.report._lists import lists_for
from corml.report._measures import measure
from corml.report._results import Measured
from corml.report.page import Figure, Figures, Section
from corml.report.subject import Subject

__all__ = ["popularity_shares", "section"]

THIRDS = 3
LENGTH = 10
MAX_USERS = 2000  # whose lists make the figure
MAX_MODELS = 5  # bars in a group that can still be told apart
_NAMES = ("Hits", "Middle", "Long tail")
# Shown where there are no models to ask for lists.
_ABOUT = {"gini": "How unevenly recommendations are shared out", "novelty": "How rare the recommended items are"}


def section(subject: Subject) -> Section | None:
    """Bars for hits, middle and long tail, and for the share of the catalogue that is recommended."""
    figures = [*_thirds(subject), *_coverage(subject)]
    if not figures:
        return None
    intro = f"A recommender that shows everybody the same few hits wastes the rest of the catalogue. {_said(subject)}"
    return Section("popularity", "Popularity bias and the long tail", intro.strip(), (Figures(tuple(figures)),))


def popularity_shares(
    train: Interactions, lists: NDArray[np.object_], groups: int = THIRDS
) -> tuple[NDArray[np.float64], list[int]]:
    """How recommendations are distributed over groups of items with equally many interactions, and the groups' sizes.

    Items are ordered from the most popular to the least and cut where a third, two thirds … of the interactions are
    reached; lists that follow the data would put as many recommendations in each.
    """
    degrees = train.item_degrees
    order = np.argsort(-degrees, kind="stable")
    before = np.cumsum(degrees[order]) - degrees[order]
    group = np.empty(len(order), dtype=np.int64)
    group[order] = np.minimum(before * groups // max(int(degrees.sum()), 1), groups - 1)
    rows = train.items.find(item for item in lists.ravel() if item is not None)
    counts = np.bincount(group[rows[rows >= 0]], minlength=groups)
    return counts / max(int(counts.sum()), 1), np.bincount(group, minlength=groups).tolist()


def _thirds(subject: Subject) -> list[Figure]:
    train = subject.split.train if subject.split else subject.data
    shares: dict[str, NDArray[np.float64]] = {}
    sizes = [0] * THIRDS
    if train is None:
        return _by_metric(subject)
    for name in _shown(subject):
        model, result = subject.models[name]
        lists = _lists(model, _history(subject, train, result), result)
        if lists is not None:
            shares[name], sizes = popularity_shares(train, lists)
    if not shares:
        return _by_metric(subject)
    groups = [
        f"{name}: {text.count(size)} item{'' if size == 1 else 's'}" for name, size in zip(_NAMES, sizes, strict=True)
    ]
    chart = charts.bars(
        [charts.Bars(name, share.tolist(), subject.colours[name]) for name, share in shares.items()],
        groups,
        x=charts.Axis("share of the recommendations", "percent"),
        title="Recommendations of hits, middle and long tail",
        reference=(1 / THIRDS, "share in the data"),
    )
    caption = (
        "Each group of items has a third of all interactions. Bars beyond the dashed line are more than its share."
    )
    if len(shares) < len(subject.models):
        caption += f" Shown are {len(shares)} of {len(subject.models)} models."
    return [Figure("Where the recommendations go", caption, chart)]


def _shown(subject: Subject) -> list[str]:
    """The most accurate models, in the order they have on the page."""
    chosen = (subject.ranking or list(subject.models))[:MAX_MODELS]
    return [name for name in subject.models if name in chosen]


def _history(subject: Subject, train: Interactions, result: Measured) -> Interactions:
    """What the evaluated users had before: of new users that is not in train."""
    return train if subject.split is None else subject.split.part(getattr(result, "part", "test"))[0]


def _by_metric(subject: Subject) -> list[Figure]:
    """Without lists: what the metrics say about them."""
    named = [(name, title) for family, title in _ABOUT.items() if (name := subject.of_family(family)) is not None]
    return [_metric_bars(subject.results, name, title, measure(name).meaning) for name, title in named]


def _coverage(subject: Subject) -> list[Figure]:
    covered = subject.of_family("coverage")
    if covered is None:
        return []
    caption = f"Items that are in the first {covered.partition('@')[2]} of at least one user, of all items."
    return [_metric_bars(subject.results, covered, "Share of the catalogue recommended", caption, form="percent")]


def _metric_bars(results: Mapping[str, Measured], name: str, title: str, caption: str, form: str = "number") -> Figure:
    series = charts.Bars("", [float(result[name]) for result in results.values()])
    return Figure(
        title, caption, charts.bars([series], list(results), x=charts.Axis(measure(name).label, form), title=title)
    )


def _said(subject: Subject) -> str:
    covered, second = subject.of_family("coverage"), subject.rival
    if covered is None or not subject.ranking:
        return ""
    first = subject.ranking[0]
    beside = f", {second} {text.percent(subject.results[second][covered])}" if second else ""
    return f"{first} recommends {text.percent(subject.results[first][covered])} of the items to somebody{beside}."


def _lists(model: Any, history: Interactions, result: Measured) -> NDArray[np.object_] | None:
    """Lists of evaluated users, evenly thinned out; None if the model cannot make any of them."""
    if not hasattr(model, "recommend"):
        return None
    users = [str(user) for user in result.users if user in history.users]
    made = lists_for(model, history, _thinned(users), LENGTH) if users else None
    return None if made is None else made.items


def _thinned(users: list[str]) -> list[str]:
    return users[:: max(1, -(-len(users) // MAX_USERS))]
