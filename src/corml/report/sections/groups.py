"""Results by group: light and heavy users, niche and mainstream taste, new users."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.evaluation import charts
from corml.evaluation.resampling import Bootstrap, intervals
from corml.report import _text as text
from corml.report._measures import measure
from corml.report._results import Measured
from corml.report.page import Figure, Figures, Section
from corml.report.subject import Parts, Subject

__all__ = ["Group", "groups_of", "section"]

MIN_USERS = 5  # in a group worth a mean
MAX_MODELS = 4  # dots in a row that can still be told apart
RESAMPLES = 500

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Group:
    """Some of the evaluated users, and why they belong together."""

    name: str
    users: Mask


def section(subject: Subject) -> Section | None:
    """Accuracy of each group, so that a good mean does not hide users who are served badly."""
    results, metric = subject.results, subject.metric
    if metric is None or subject.split is None:
        return None
    shown = {name: results[name] for name in _shown(subject) if metric in results[name].per_user}
    users = next((np.asarray(result.users, dtype=object) for result in shown.values()), np.array([], dtype=object))
    same = {
        name: result for name, result in shown.items() if np.array_equal(np.asarray(result.users, dtype=object), users)
    }
    part = getattr(next(iter(shown.values()), None), "part", "test")
    kinds = groups_of(subject.split, users, part)
    figures = [
        _figure(title, caption, groups, same, metric, subject.colours) for title, caption, groups in kinds if groups
    ]
    if not figures:
        return None
    every = [group for _, _, groups in kinds for group in groups]
    return Section("groups", "Results by group", _said(every, same, metric), (Figures(tuple(figures)),))


def _shown(subject: Subject) -> list[str]:
    """The best model, its rival, and the next best."""
    ranked = subject.ranking
    first = [name for name in (ranked[0], subject.rival) if name is not None]
    return list(dict.fromkeys([*first, *ranked]))[:MAX_MODELS]


def groups_of(split: Parts, users: NDArray[Any], part: str = "test") -> list[tuple[str, str, list[Group]]]:
    """Groups of evaluated users by three views: (title, what it means, groups); a view may have none."""
    history = split.part(part)[0]
    rows = history.users.find(users)
    if not len(users) or (rows < 0).any():
        return []
    lengths = history.user_degrees[rows]
    trained = split.train.users.find(users)
    new = (trained < 0) | (split.train.user_degrees[trained] == 0)
    return [
        (
            "By length of history",
            "Users by the number of items in their history, which the model recommends from.",
            _by_length(lengths),
        ),
        (
            "By taste",
            "Niche users choose items that few others have; the mainstream chooses popular ones.",
            _by_taste(split, history, rows),
        ),
        ("New users", "New users were not in the training data; the model has only their history.", _new(new)),
    ]


def _by_length(lengths: NDArray[np.int64]) -> list[Group]:
    low, high = np.quantile(lengths, [1 / 3, 2 / 3])
    masks = {"Light": lengths <= low, "Medium": (lengths > low) & (lengths <= high), "Heavy": lengths > high}
    return _large_enough(
        Group(f"{name}: {_range(lengths[mask])} items, {text.count(int(mask.sum()))} users", mask)
        for name, mask in masks.items()
        if mask.any()
    )


def _by_taste(split: Parts, history: Any, rows: NDArray[np.int64]) -> list[Group]:
    """Thirds of users by the mean popularity of the items in their history."""
    degrees = split.train.item_degrees.astype(float)
    known = split.train.items.find(history.items)
    popularity = np.where(known >= 0, degrees[known], 0.0)
    matrix = history.matrix[rows]
    means = (matrix @ popularity) / np.maximum(matrix.sum(axis=1), 1)
    low, high = np.quantile(means, [1 / 3, 2 / 3])
    masks = {"Niche": means <= low, "In between": (means > low) & (means <= high), "Mainstream": means > high}
    return _large_enough(Group(f"{name}: {text.count(int(mask.sum()))} users", mask) for name, mask in masks.items())


def _new(new: Mask) -> list[Group]:
    """New users beside known ones; where all are known there is nothing to show."""
    masks = {"New users": new, "Known users": ~new}
    groups = [Group(f"{name}: {text.count(int(mask.sum()))}", mask) for name, mask in masks.items() if mask.any()]
    return _large_enough(iter(groups), least=1) if new.any() else []


def _large_enough(groups: Iterator[Group], least: int = 2) -> list[Group]:
    """Groups with enough users; a single one says nothing the mean does not."""
    large = [group for group in groups if group.users.sum() >= MIN_USERS]
    return large if len(large) >= least else []


def _figure(
    title: str,
    caption: str,
    groups: list[Group],
    results: Mapping[str, Measured],
    metric: str,
    colours: Mapping[str, int],
) -> Figure:
    means = [_means(results, metric, group.users) for group in groups]
    series = [charts.Dots(name, [one[name] for one in means], colours[name]) for name in results]
    chart = charts.dots(series, [group.name for group in groups], x=charts.Axis(measure(metric).label), title=title)
    return Figure(title, caption, chart)


def _means(results: Mapping[str, Measured], metric: str, users: Mask) -> dict[str, tuple[float, tuple[float, float]]]:
    """The mean of a group for each model, with intervals from the same resamples of its users."""
    values = {name: np.asarray(result.per_user[metric], dtype=float)[users] for name, result in results.items()}
    spans = intervals(values, Bootstrap(resamples=RESAMPLES))
    return {name: (float(values[name].mean()), spans[name]) for name in values}


def _said(groups: list[Group], results: Mapping[str, Measured], metric: str) -> str:
    """For whom the best model is better than the runner-up, and for whom it is not."""
    label = measure(metric).label
    first, *others = results
    if not others:
        return f"{label} of users who have something in common. Lines are 95 % intervals over the users of a group."
    lead = {group.name: _mean_lead(results[first], results[others[0]], metric, group.users) for group in groups}
    behind = [name for name, value in lead.items() if value < 0]
    most = max(lead, key=lambda name: lead[name])
    where = f"behind for: {'; '.join(behind)}" if behind else "ahead in every group"
    return (
        f"Against {others[0]}, {first} is {where}. Its lead in {label} is largest for: {most} ({lead[most]:+.3f}). "
        "Lines are 95 % intervals over the users of a group."
    )


def _mean_lead(one: Measured, other: Measured, metric: str, users: Mask) -> float:
    return float(np.mean(np.asarray(one.per_user[metric])[users] - np.asarray(other.per_user[metric])[users]))


def _range(lengths: NDArray[np.int64]) -> str:
    low, high = int(lengths.min()), int(lengths.max())
    return text.count(low) if low == high else f"{text.count(low)} to {text.count(high)}"
