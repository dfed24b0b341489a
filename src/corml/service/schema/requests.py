"""Requests: these types are the checks.

An option of `Recommender.recommend` becomes one of the API by one line in `Query`: its name and type. Options that are
not listed in `SHORT` are passed on as they are, where they were given.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from corml.service.schema.fields import (
    WHOLE,
    Asked,
    Boost,
    Choice,
    Diversity,
    EventTypes,
    History,
    Id,
    Length,
    MaxPer,
    Name,
    Never,
    Novelty,
    Now,
    Range,
    Recent,
    Seen,
    User,
)

__all__ = [
    "Batch",
    "Distance",
    "Explain",
    "Ids",
    "Limited",
    "Query",
    "Recommend",
    "Reload",
    "Request",
    "Search",
    "Similar",
    "Whom",
    "WhyNot",
    "passed_on",
]


class Request(Struct, kw_only=True, forbid_unknown_fields=True):
    """What every request may say."""


class Whom(Request, kw_only=True):
    """For whom: the items of a history, or a user the model learned from; without either, nobody in particular."""

    history: History = msgspec.field(default_factory=list)
    user: User | UnsetType = UNSET


class Limited(Whom, kw_only=True):
    """Which items may be in a list."""

    k: Length = 10
    novelty: Novelty | UnsetType = UNSET
    exclude: Never | UnsetType = UNSET
    only: Choice | UnsetType = UNSET
    seen: Seen | UnsetType = UNSET
    hide_events: EventTypes | UnsetType = UNSET
    exclude_recent: Recent | UnsetType = UNSET
    now: Now | UnsetType = UNSET


class Query(Limited, kw_only=True):
    """One list."""

    diversity: Diversity | UnsetType = UNSET
    boost: Boost | UnsetType = UNSET
    max_per: MaxPer | UnsetType = UNSET


class Recommend(Query, kw_only=True):
    """One list, with what each item of the history adds if `explain` is set (then k is at most 50)."""

    explain: Annotated[bool, Meta(description="whether to say what each item of the history adds")] = False
    model: Name | UnsetType = UNSET


class Batch(Request, kw_only=True):
    """Many lists at a time."""

    queries: Annotated[list[Query], Meta(min_length=1, max_length=256)]
    model: Name | UnsetType = UNSET


class WhyNot(Query, kw_only=True):
    """Why an item is not in the list of this query, and what would bring it there."""

    item: Asked
    lifts: Annotated[int, Meta(ge=0, le=20, description="how many items to suggest")] = 5
    model: Name | UnsetType = UNSET


class Explain(Whom, kw_only=True):
    """What each item of a history adds to the score of an item."""

    item: Asked
    novelty: Novelty | UnsetType = UNSET
    model: Name | UnsetType = UNSET


class Similar(Request, kw_only=True):
    """Items most associated with an item."""

    item: Asked
    k: Length = 10
    novelty: Novelty | UnsetType = UNSET
    model: Name | UnsetType = UNSET


class Distance(Whom, kw_only=True):
    """How far an item is from a history, in the metric of a part."""

    item: Asked
    part: Literal["h", "g"] = "h"
    novelty: Novelty | UnsetType = UNSET
    model: Name | UnsetType = UNSET


class Search(Request, kw_only=True):
    """Items by words of their titles, or by their ids; the last word may be unfinished."""

    q: Annotated[str, Meta(min_length=1, max_length=200)]
    limit: Annotated[int, Meta(ge=1, le=100)] = 10
    model: Name | UnsetType = UNSET


class Ids(Request, kw_only=True):
    """Items by their ids, which may have any characters and so never stand in a path."""

    items: Annotated[list[Id], Meta(max_length=1000)]
    model: Name | UnsetType = UNSET


class Reload(Request, kw_only=True):
    """Read a model's file again, or another file of its folder."""

    model: Name | UnsetType = UNSET
    file: Annotated[str, Meta(pattern=WHOLE, description="a file in the folder of the model's")] | UnsetType = UNSET


SHORT = {"history", "user", "k", "novelty", "exclude", "only"}  # what the short way to a list knows
_PASSED = tuple(name for name in Query.__struct_fields__ if name not in SHORT)


def passed_on(query: Limited) -> dict[str, Any]:
    """Options of `recommend` that were given and that only the model itself knows, as it knows them."""
    given = ((name, getattr(query, name, UNSET)) for name in _PASSED)
    passed = {name: value for name, value in given if value is not UNSET}
    for name in ("only", "exclude"):
        conditions = getattr(query, name)
        if isinstance(conditions, dict):
            passed[name] = {attribute: _bounds(wanted) for attribute, wanted in conditions.items()}
    return passed


def _bounds(wanted: Any) -> Any:
    """A range as the library has it: a pair, with None for no bound."""
    if not isinstance(wanted, Range):
        return wanted
    return tuple(None if end is UNSET else end for end in (wanted.low, wanted.high))
