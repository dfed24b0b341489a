"""What requests and answers look like: checks, client and OpenAPI page are made from these types.

The types of requests are the checks. Options of lists come from their declarations in `corml.recommend.options`.
"""

from collections.abc import Mapping
from functools import reduce
from operator import or_
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from corml.data.ids import LONGEST_ID
from corml.recommend.conditions import Bounds
from corml.recommend.options import RequestOptions, declared
from corml.service.options import NAME

MAX_EXPLAINED = 50  # items of a list that is explained

# Any id that data may have: they are measured in bytes, and have no more characters than these.
Id = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID)] | int
History = Annotated[list[Id], Meta(max_length=1000, description="items of the person, each by its id")]


User = Annotated[Id, Meta(description="a user the model learned from, instead of a history")]
Asked = Annotated[Id, Meta(description="the item in question")]
Reason = Annotated[str, Meta(description="why the list is short, or not personal")]
WHOLE = rf"^{NAME}(?!\n)$"  # as to Python, $ stands before a last line feed too
Name = Annotated[str, Meta(pattern=WHOLE, description="a model by its name; the first one if left out")]
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


class Range(Struct, kw_only=True, forbid_unknown_fields=True, rename={"low": "from", "high": "to"}):
    """A range of a number or a time, both ends included; without one end there is no bound on that side."""

    low: float | str | UnsetType = UNSET
    high: float | str | UnsetType = UNSET


def _checked(kind: Any) -> Any:
    """The type that msgspec checks for what an option may hold in JSON."""
    inner = [_checked(one) for one in get_args(kind)[:1]] if get_origin(kind) is Annotated else []
    if inner:
        limits = (vars(one).items() for one in kind.__metadata__)
        return Annotated[inner[0], *(Meta(**{key: value for key, value in one if value is not None}) for one in limits)]
    if get_origin(kind) in (Union, UnionType):
        return reduce(or_, map(_checked, get_args(kind)))
    if get_origin(kind) in (list, dict):
        return get_origin(kind)[tuple(map(_checked, get_args(kind)))]
    return Range if kind is Bounds else kind


def field_of(name: str) -> tuple[str, Any, Any]:
    """An option of lists as a field of a request: its name, type and default."""
    option = declared(RequestOptions)[name]
    kind: Any = Annotated[_checked(option.json), Meta(description=option.help)]
    return (name, kind | UnsetType, UNSET) if option.default is None else (name, kind, option.default)


if TYPE_CHECKING:

    class Query(Whom):
        """One list, with the options of `RequestOptions`."""

    Length = int
    Novelty = float
else:
    FIELDS = [field_of(name) for name, option in declared(RequestOptions).items() if option.json is not None]
    ABOUT = {"__doc__": "One list."}
    Query = msgspec.defstruct("Query", FIELDS, bases=(Whom,), kw_only=True, module=__name__, namespace=ABOUT)
    Length, Novelty = field_of("k")[1], field_of("novelty")[1]


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


def options_given(query: Whom) -> dict[str, Any]:
    """The options of `recommend` that a query has and that are not the defaults, as the library takes them."""
    options: dict[str, Any] = {}
    for name, option in declared(RequestOptions).items():
        value = getattr(query, name, UNSET)
        if value is not UNSET and value != option.default:
            options[name] = {key: _bounds(one) for key, one in value.items()} if isinstance(value, Mapping) else value
    return options


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
        Literal["personal", "fallback"],
        Meta(description="fallback: the most popular items, as nothing is known or all items score alike"),
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
    """An item that, added to the history, would lift the item in question."""

    item: str
    gain: Annotated[float, Meta(description="what it adds to the score")]
    rank_then: Annotated[
        int, Meta(description="the rank with this item in the history as well; by score where it is not listed then")
    ]
    listed_then: Annotated[bool, Meta(description="whether the list of then has it, by all rules")]
    title: str | UnsetType = UNSET


class WhyNotAnswer(Answer, kw_only=True, omit_defaults=True):
    """Where an item stands, and what would move it."""

    item: str
    verdict: Annotated[
        Literal["listed", "below", "rules", "seen", "not seen", "excluded", "not in only", "not available"],
        Meta(
            description="listed: it is in the list; below: it ranks lower; rules: only rules of lists keep it out; "
            "else it may not be listed at all, which `reason` explains"
        ),
    ]
    reason: Annotated[str, Meta(description="the verdict in a sentence, with the option that keeps the item out")]
    rank: Annotated[
        int, Meta(description="in the list, or else by (boosted) score among the items that may be listed, and itself")
    ]
    of: int
    score: Annotated[float, Meta(description="the model's own, before any boost")]
    boost: Annotated[float, Meta(description="what the score is multiplied by")] | UnsetType = UNSET
    needed: (
        Annotated[
            float,
            Meta(
                description="the score to pass: that of the last item of the list, or of the last one of a value that "
                "`max_per` limits; a boost of the item is taken into account. There is none with diversity"
            ),
        ]
        | UnsetType
    ) = UNSET
    rules: (
        Annotated[list[str], Meta(description="the fewest rules without which it would be listed, all left out")]
        | UnsetType
    ) = UNSET
    full: (
        Annotated[
            dict[str, list[str]],
            Meta(description="values of the item, by attribute, that the list has as many of as `max_per` allows"),
        ]
        | UnsetType
    ) = UNSET
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
    event_types: Annotated[list[str], Meta(description="what `hide_events` and `exclude_recent` may name")]
    novelty: Annotated[bool, Meta(description="whether `novelty` can be chosen")]
    explains: bool
    distances: bool
    knows_users: Annotated[bool, Meta(description="whether requests may name a `user`")]
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
