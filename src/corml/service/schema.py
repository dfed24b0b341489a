"""What requests and answers look like: these types are the checks, and the OpenAPI page is made from them.

An option of `Recommender.recommend` becomes one of the API by one line in `Query`: its name and type. Options that are
not listed in `SHORT` are passed on as they are, where they were given.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from corml.service.options import NAME

__all__ = [
    "MAX_EXPLAINED",
    "Batch",
    "BatchAnswer",
    "Contribution",
    "Distance",
    "DistanceAnswer",
    "Explain",
    "ExplainAnswer",
    "Found",
    "Health",
    "Ids",
    "IdsAnswer",
    "Item",
    "Lift",
    "Limited",
    "ListAnswer",
    "ModelInfo",
    "Models",
    "Query",
    "Range",
    "Ranked",
    "Readiness",
    "Recommend",
    "Reload",
    "Reloaded",
    "Search",
    "Similar",
    "SimilarAnswer",
    "WhyNot",
    "WhyNotAnswer",
    "passed_on",
]

LONGEST_ID = 2048  # characters; a body is limited in bytes anyway
MAX_EXPLAINED = 50  # items of a list that is explained

Id = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID)] | int
History = Annotated[list[Id], Meta(max_length=1000, description="items of the person, each by its id")]


class Range(Struct, kw_only=True, forbid_unknown_fields=True, rename={"low": "from", "high": "to"}):
    """A range of a number or a time, both ends included; without one end there is no bound on that side."""

    low: float | str | UnsetType = UNSET
    high: float | str | UnsetType = UNSET


Value = str | float | bool
Conditions = Annotated[dict[str, Value | list[Value] | Range], Meta(max_length=20)]
ItemIds = Annotated[list[Id], Meta(max_length=10_000)]
Never = Annotated[ItemIds | Conditions, Meta(description="items that are not listed: ids, or conditions on attributes")]
Choice = Annotated[
    ItemIds | Conditions, Meta(description="the only items listed: ids, or conditions on attributes")
]
Factor = Annotated[float, Meta(ge=1e-6, le=1e6)]
Boost = Annotated[
    dict[str, Factor | dict[str, Factor]],
    Meta(max_length=100, description="factors of scores: by id of an item, or by attribute and value"),
]
MaxPer = Annotated[
    dict[str, Annotated[int, Meta(ge=1)]],
    Meta(max_length=20, description="how many items of one value of an attribute a list may have"),
]
Diversity = Annotated[float, Meta(ge=0, le=1, description="from 0, by score alone, to 1, as far apart as can be")]
User = Annotated[Id, Meta(description="a user the model learned from, instead of a history")]
Asked = Annotated[Id, Meta(description="the item that is asked about")]
Seen = Annotated[
    Literal["exclude", "allow", "only"],
    Meta(description="items that the person has: excluded, unless they may come back, or nothing else may"),
]
Reason = Annotated[str, Meta(description="why the list is short, or not personal")]
_WHOLE = rf"^{NAME}(?!\n)$"  # as to Python, $ stands before a last line feed too
Name = Annotated[str, Meta(pattern=_WHOLE, description="a model by its name; the first one if left out")]
Length = Annotated[int, Meta(ge=1, le=200, description="items of the list")]
Novelty = Annotated[float, Meta(ge=0, le=1, description="for a dial: 0 is the most popular, 1 the most novel")]
Share = Annotated[float, Meta(description="share of the users that the model learned from")]
Unknown = Annotated[list[str], Meta(description="ids that the model does not know, and that were ignored")]
Version = Annotated[str, Meta(description="which file answered: the beginning of its digest")]
Parts = Annotated[
    dict[str, list[float]],
    Meta(description="what each item of `history` adds to the score, by part: h (learned metric) and g (filter)"),
]


# --- requests --------------------------------------------------------------------------------------------------------


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


class WhyNot(Limited, kw_only=True):
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
    file: Annotated[str, Meta(pattern=_WHOLE, description="a file in the folder of the model's")] | UnsetType = UNSET


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


# --- answers ---------------------------------------------------------------------------------------------------------


class Answer(Struct, kw_only=True, omit_defaults=True):
    """What every answer of a model says."""

    model: str
    model_version: Version


class Ranked(Struct, omit_defaults=True):
    """An item of a list; made by position, as there are many of them."""

    rank: int
    item: str
    score: float
    popularity: Share
    title: str | UnsetType = UNSET
    parts: Parts | UnsetType = UNSET


class OneList(Struct, kw_only=True, omit_defaults=True):
    """A list of exactly k items, or with the reason why it is shorter."""

    source: Annotated[
        Literal["personal", "fallback"], Meta(description="fallback: the most popular items, as nothing is known")
    ]
    items: list[Ranked]
    reason: Reason | UnsetType = UNSET
    unknown: Unknown | UnsetType = UNSET
    history: Annotated[list[str], Meta(description="the items that `parts` are about")] | UnsetType = UNSET


class ListAnswer(OneList, kw_only=True, omit_defaults=True):
    """A list, and the version it is from."""

    model: str
    model_version: Version


class BatchAnswer(Answer, kw_only=True, omit_defaults=True):
    """Lists in the order of the queries."""

    lists: list[OneList]


class Contribution(Struct, kw_only=True, omit_defaults=True):
    """What an item of the history adds."""

    item: str
    contribution: float
    parts: Annotated[dict[str, float], Meta(description="the contribution by part; they add up to it")]
    title: str | UnsetType = UNSET


class ExplainAnswer(Answer, kw_only=True, omit_defaults=True):
    """Contributions, largest first; they add up to the score."""

    item: str
    score: float
    contributions: list[Contribution]
    title: str | UnsetType = UNSET
    unknown: Unknown | UnsetType = UNSET


class Lift(Struct, kw_only=True, omit_defaults=True):
    """An item that, added to the history, would lift the item that was asked about."""

    item: str
    gain: Annotated[float, Meta(description="what it adds to the score")]
    rank_then: Annotated[int, Meta(description="the rank with this item in the history as well")]
    title: str | UnsetType = UNSET


class WhyNotAnswer(Answer, kw_only=True, omit_defaults=True):
    """Where an item stands, and what would move it."""

    item: str
    verdict: Annotated[
        Literal["listed", "below", "seen", "not seen", "excluded", "not in only"],
        Meta(description="listed: it is in the list; below: it ranks lower; else it may not be listed at all"),
    ]
    rank: Annotated[int, Meta(description="among the items that may be listed, and itself")]
    of: int
    score: float
    needed: Annotated[float, Meta(description="the score of the last item of the list")] | UnsetType = UNSET
    popularity: Share
    support: Annotated[int, Meta(description="users the model learned from that have the item")]
    lifts: list[Lift]
    contributions: list[Contribution]
    source: Literal["personal", "fallback"]
    title: str | UnsetType = UNSET
    unknown: Unknown | UnsetType = UNSET


class SimilarAnswer(Answer, kw_only=True, omit_defaults=True):
    """Items most associated with an item."""

    item: str
    items: list[Ranked]
    title: str | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET


class DistanceAnswer(Answer, kw_only=True, omit_defaults=True):
    """A distance; it obeys the triangle inequality."""

    item: str
    part: str
    distance: float
    unknown: Unknown | UnsetType = UNSET


class Item(Struct, kw_only=True, omit_defaults=True):
    """An item of the catalogue."""

    item: str
    popularity: Share
    title: str | UnsetType = UNSET


class Found(Answer, kw_only=True):
    """Items that were found, best known first."""

    items: list[Item]
    fuzzy: Annotated[bool, Meta(description="nothing has these words: the items are those written most alike")]


class IdsAnswer(Answer, kw_only=True):
    """The items that the model knows, and the ids that it does not."""

    items: list[Item]
    unknown: list[str]


class ModelInfo(Struct, kw_only=True):
    """A model that is served."""

    name: str
    default: bool
    version: Version
    digest: Annotated[str, Meta(description="SHA-256 of the model file")]
    kind: Annotated[str, Meta(description="which model it is: corml, ease, …")]
    items: int
    users: int
    titles: bool
    attributes: Annotated[dict[str, str], Meta(description="what is known of items: category, number, time or text")]
    novelty: Annotated[bool, Meta(description="whether it is a dial")]
    explains: bool
    distances: bool
    knows_users: Annotated[bool, Meta(description="whether `user` can be asked for")]
    loaded: Annotated[str, Meta(description="when it was loaded, UTC")]
    settings: dict[str, Any]
    metrics: Annotated[dict[str, float], Meta(description="quality that was measured before it was saved")]


class Models(Struct, kw_only=True):
    """All models that are served."""

    models: list[ModelInfo]


class Reloaded(Answer, kw_only=True):
    """The version that answers from now on."""

    changed: bool


class Health(Struct, kw_only=True):
    """The process is alive."""

    status: Literal["alive"] = "alive"


class Readiness(Struct, kw_only=True):
    """Models are loaded and tested."""

    status: Literal["ready"] = "ready"
    models: dict[str, Version]
