"""Sections about users and items: results by group of users, and which part of the catalogue the lists use."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corml._runtime.values import counted
from corml.data.interactions import Interactions
from corml.evaluation import Result, charts
from corml.evaluation.resampling import Bootstrap, intervals
from corml.models.recommender import Recommender
from corml.report import text
from corml.report.page import Figure, Part, Section
from corml.report.samples import lists_for
from corml.report.subject import Subject, measure
from corml.splits import Split

MIN_USERS = 5  # in a group worth a mean
MAX_DOTS = 4  # models in a row that can still be told apart
RESAMPLES = 500

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Group:
    """Some of the evaluated users, and why they belong together."""

    name: str
    users: Mask


@dataclass(frozen=True, eq=False)
class View:
    """Groups of users by one property; there may be none."""

    title: str
    caption: str
    groups: list[Group]


def section(subject: Subject) -> Section | None:
    """Accuracy of each group, so that a good mean does not hide users who are served badly."""
    results, metric = subject.results, subject.metric
    if metric is None or subject.split is None:
        return None
    ranked = [name for name in (subject.ranking[0], subject.runner_up, *subject.ranking) if name is not None]
    shown = {name: results[name] for name in list(dict.fromkeys(ranked))[:MAX_DOTS] if metric in results[name].per_user}
    if not shown:
        return None
    first = next(iter(shown.values()))
    same = {name: result for name, result in shown.items() if np.array_equal(result.users, first.users)}
    views = [view for view in views_of(subject.split, np.asarray(first.users), first.part) if view.groups]
    if not views:
        return None
    figures = tuple(_figure(view, same, metric, subject.colours) for view in views)
    intro = _lead([group for view in views for group in view.groups], same, metric)
    return Section("groups", "Results by group", intro, (Part("figures", figures),))


def views_of(split: Split, users: NDArray[np.object_], part: str = "test") -> list[View]:
    """Groups of evaluated users by length of history, by taste, and by whether they are new."""
    history = split.part(part)[0]
    rows = history.users.find(users)
    if not len(users) or (rows < 0).any():
        return []
    trained = split.train.users.find(users)
    new = (trained < 0) | (split.train.user_degrees[trained] == 0)
    return [
        View(
            "By length of history",
            "Users by the number of items in their history, which the model recommends from.",
            _by_length(history.user_degrees[rows]),
        ),
        View(
            "By taste",
            "Niche users choose items that few others have; the mainstream chooses popular ones.",
            _by_taste(split, history, rows),
        ),
        View("New users", "New users were not in the training data; the model has only their history.", _new(new)),
    ]


def _by_length(lengths: NDArray[np.int64]) -> list[Group]:
    masks = _thirds(lengths, ("Light", "Medium", "Heavy"))
    return _large_enough(
        Group(f"{name}: {_range(lengths[mask])} items, {counted(int(mask.sum()), 'user')}", mask)
        for name, mask in masks.items()
        if mask.any()
    )


def _by_taste(split: Split, history: Interactions, rows: NDArray[np.int64]) -> list[Group]:
    """Thirds of users by the mean popularity of the items in their history."""
    rows_of_items = split.train.items.find(history.items)
    popularity = np.where(rows_of_items >= 0, split.train.item_degrees.astype(float)[rows_of_items], 0.0)
    matrix = history.matrix[rows]
    masks = _thirds((matrix @ popularity) / np.maximum(matrix.sum(axis=1), 1), ("Niche", "In between", "Mainstream"))
    return _large_enough(Group(f"{name}: {counted(int(mask.sum()), 'user')}", mask) for name, mask in masks.items())


def _thirds(values: "NDArray[np.float64] | NDArray[np.int64]", names: tuple[str, str, str]) -> dict[str, Mask]:
    low, high = np.quantile(values, [1 / 3, 2 / 3])
    return dict(zip(names, (values <= low, (values > low) & (values <= high), values > high), strict=True))


def _new(new: Mask) -> list[Group]:
    """New users next to those of the training data; where all of them are there is nothing to show."""
    masks = {"New users": new, "Known users": ~new}
    groups = [Group(f"{name}: {text.count(int(mask.sum()))}", mask) for name, mask in masks.items() if mask.any()]
    return _large_enough(groups, least=1) if new.any() else []


def _large_enough(groups: Iterable[Group], least: int = 2) -> list[Group]:
    """Groups with enough users; a single one says nothing the mean does not."""
    large = [group for group in groups if group.users.sum() >= MIN_USERS]
    return large if len(large) >= least else []


def _figure(view: View, results: Mapping[str, Result], metric: str, colours: Mapping[str, int]) -> Figure:
    means = [_means(results, metric, group.users) for group in view.groups]
    series = [charts.Dots(name, [one[name] for one in means], colours[name]) for name in results]
    axis, names = charts.Axis(measure(metric).label), [group.name for group in view.groups]
    return Figure(view.title, view.caption, charts.dots(series, names, x=axis, title=view.title))


def _means(results: Mapping[str, Result], metric: str, users: Mask) -> dict[str, tuple[float, tuple[float, float]]]:
    """The mean of a group for each model, with intervals from the same resamples of its users."""
    values = {name: np.asarray(result.per_user[metric], dtype=float)[users] for name, result in results.items()}
    spans = intervals(values, Bootstrap(resamples=RESAMPLES))
    return {name: (float(values[name].mean()), spans[name]) for name in values}


def _lead(groups: list[Group], results: Mapping[str, Result], metric: str) -> str:
    """For which users the best model is better than the runner-up, and for which it is not."""
    label = measure(metric).label
    first, *others = results
    if not others:
        return f"{label} of users who have something in common. Lines are 95 % intervals over the users of a group."
    one, other = (np.asarray(results[name].per_user[metric]) for name in (first, others[0]))
    lead = {group.name: float(np.mean(one[group.users] - other[group.users])) for group in groups}
    behind = [name for name, value in lead.items() if value < 0]
    most = max(lead, key=lambda name: lead[name])
    where = f"behind for: {'; '.join(behind)}" if behind else "ahead in every group"
    return (
        f"Against {others[0]}, {first} is {where}. Its lead in {label} is largest for: {most} ({lead[most]:+.3f}). "
        "Lines are 95 % intervals over the users of a group."
    )


def _range(lengths: NDArray[np.int64]) -> str:
    low, high = int(lengths.min()), int(lengths.max())
    return text.count(low) if low == high else f"{text.count(low)} to {text.count(high)}"


# --- popularity bias and the long tail -------------------------------------------------------------------------------

THIRDS = 3
LENGTH = 10
MAX_USERS = 2000  # whose lists make the figure
MAX_BARS = 5  # models in a group that can still be told apart
NAMES = ("Hits", "Middle", "Long tail")
# Shown where there are no models to ask for lists.
ABOUT = {"gini": "How unevenly recommendations are shared out", "novelty": "How rare the recommended items are"}


def popularity(subject: Subject) -> Section | None:
    """Bars for hits, middle and long tail, and for the share of the catalogue that is recommended."""
    figures = _shares(subject)
    covered, second = subject.of_family("coverage"), subject.runner_up
    intro = "A recommender that shows all users the same few hits wastes the rest of the catalogue."
    if covered is not None:
        caption = f"Items that are in the first {covered.partition('@')[2]} of at least one user, of all items."
        figures.append(_bars(subject.results, covered, "Share of the catalogue recommended", caption, form="percent"))
        if subject.ranking:
            first = subject.ranking[0]
            share = {name: text.percent(one[covered]) for name, one in subject.results.items()}
            compared = f", {second} {share[second]}" if second else ""
            intro += f" {first} recommends {share[first]} of the items to somebody{compared}."
    if not figures:
        return None
    return Section("popularity", "Popularity bias and the long tail", intro, (Part("figures", tuple(figures)),))


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


def _shares(subject: Subject) -> list[Figure]:
    """The lists of the most accurate models; without lists, what the metrics say about them."""
    train = subject.split.train if subject.split else subject.data
    best = (subject.ranking or list(subject.models))[:MAX_BARS]
    shares: dict[str, NDArray[np.float64]] = {}
    sizes = [0] * THIRDS
    for name, (model, result) in subject.models.items():
        if train is not None and model is not None and name in best:
            history = train if subject.split is None else subject.split.part(result.part)[0]
            lists = _lists(model, history, result)
            if lists is not None:
                shares[name], sizes = popularity_shares(train, lists)
    if not shares:
        families = [(subject.of_family(family), title) for family, title in ABOUT.items()]
        return [_bars(subject.results, one, title, measure(one).meaning) for one, title in families if one is not None]
    chart = charts.bars(
        [charts.Bars(name, share.tolist(), subject.colours[name]) for name, share in shares.items()],
        [f"{name}: {counted(size, 'item')}" for name, size in zip(NAMES, sizes, strict=True)],
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


def _bars(results: Mapping[str, Result], name: str, title: str, caption: str, form: str = "number") -> Figure:
    series = charts.Bars("", [float(one[name]) for one in results.values()])
    axis = charts.Axis(measure(name).label, form)
    return Figure(title, caption, charts.bars([series], list(results), x=axis, title=title))


def _lists(model: Recommender, history: Interactions, result: Result) -> NDArray[np.object_] | None:
    """Lists of evaluated users, evenly thinned out; None if the model cannot make any of them."""
    users = [str(user) for user in result.users if user in history.users]
    lists = lists_for(model, history, users[:: max(1, -(-len(users) // MAX_USERS))], LENGTH) if users else None
    return None if lists is None else lists.items
