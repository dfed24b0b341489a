"""Requests: these types are the checks. Options of lists come from their declarations in `corml.recommend.options`."""

from collections.abc import Mapping
from functools import reduce
from operator import or_
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from corml.recommend.conditions import Bounds
from corml.recommend.options import RequestOptions, declared
from corml.service.schema.fields import WHOLE, Asked, History, Id, Name, User


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
