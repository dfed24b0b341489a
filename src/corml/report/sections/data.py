"""Appendix: the data."""

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from corml.data.interactions import Interactions
from corml.evaluation import charts
from corml.report import _text as text
from corml.report.page import Facts, Figure, Figures, Finding, Findings, Note, Number, Numbers, Part, Section
from corml.report.subject import Subject

__all__ = ["section"]

_ON_TILES = ("users", "items", "interactions", "density")
HEAD = 0.1  # of the items, whose share of the interactions is told


def section(subject: Subject) -> Section | None:
    """Sizes, checks, and how interactions are distributed over users and items."""
    if subject.data is None:
        return None
    data = subject.data
    users, items = data.shape
    tiles = (
        Number(text.count(users), "users"),
        Number(text.count(items), "items"),
        Number(text.count(len(data)), "interactions"),
        Number(text.percent(len(data) / max(users * items, 1)), "density"),
    )
    parts: list[Part] = [Numbers(tiles)]
    if subject.doctor is not None:
        found = tuple(Finding(f.severity, f.what, f.advice) for f in subject.doctor.findings)
        parts.append(Findings(found) if found else Note("The checks of the data found no problems."))
    if len(data):
        parts.append(Figures((_lengths(data), _popularity(data))))
    known = subject.doctor.facts if subject.doctor else ()
    more = tuple((label, _value(label, value)) for label, value in known if label not in _ON_TILES)
    if more:
        parts.append(Facts(more))
    return Section("data", "The data", parts=tuple(parts), appendix=True)


def _lengths(data: Interactions) -> Figure:
    degrees = data.user_degrees
    chart = charts.histogram(
        degrees[degrees > 0],
        x=charts.Axis("items of a user", "count", log=True),
        y=charts.Axis("users", "count"),
        title="Length of histories",
    )
    return Figure("Length of histories", "How many items users have. The horizontal axis is logarithmic.", chart)


def _popularity(data: Interactions) -> Figure:
    """How popularity falls from the most popular item to the least."""
    ordered = np.sort(data.item_degrees)[::-1]
    ordered = ordered[ordered > 0]
    ranks = np.unique(np.geomspace(1, len(ordered), 120).round().astype(int))
    share = ordered[: max(1, round(HEAD * len(ordered)))].sum() / ordered.sum()
    chart = charts.lines(
        [charts.Line("items", [(float(rank), float(ordered[rank - 1])) for rank in ranks])],
        x=charts.Axis("items, most popular first", "count", log=True),
        y=charts.Axis("users of the item", "count", log=True),
        title="Popularity of items",
        height=170,
    )
    caption = (
        f"A few items have many users, most have few. The top {text.percent(HEAD)} of the items have "
        f"{text.percent(share)} of the interactions. Both axes are logarithmic."
    )
    return Figure("Popularity of items", caption, chart)


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
