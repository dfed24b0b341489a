"""What single fields of requests and answers may be."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from corml.data.ids import LONGEST_ID
from corml.service.options import NAME

__all__ = [
    "MAX_EXPLAINED",
    "WHOLE",
    "Asked",
    "Boost",
    "Choice",
    "Conditions",
    "Diversity",
    "EventTypes",
    "Factor",
    "History",
    "Id",
    "ItemIds",
    "Length",
    "MaxPer",
    "Name",
    "Never",
    "Novelty",
    "Now",
    "Parts",
    "Range",
    "Reason",
    "Recent",
    "Seen",
    "Share",
    "Unknown",
    "User",
    "Value",
    "Version",
]

_DAY, _HOUR = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])", r"([01]\d|2[0-3]):[0-5]\d"
MOMENT = rf"^(now|{_DAY}([T ]{_HOUR}(:[0-5]\d)?(Z|[+-]{_HOUR})?)?)(?!\n)$"
MAX_EXPLAINED = 50  # items of a list that is explained

# Any id that data may have: they are measured in bytes, and have no more characters than these.
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
Choice = Annotated[ItemIds | Conditions, Meta(description="the only items listed: ids, or conditions on attributes")]
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
EventType = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID)]
EventTypes = Annotated[
    list[EventType],
    Meta(max_length=100, description="event types whose items are not listed; other known items may come back"),
]
Age = Annotated[str, Meta(pattern=r"^[1-9]\d{0,5}(\.\d{1,3})? ?(s|min|h|d|w|y)(?!\n)$")]
Recent = Annotated[
    Age | Annotated[dict[EventType, Age], Meta(min_length=1, max_length=100)],
    Meta(
        description='items seen so recently are not listed: "30d", or by event type {"purchase": "90d", "view": "1h"}'
    ),
]
Reason = Annotated[str, Meta(description="why the list is short, or not personal")]
WHOLE = rf"^{NAME}(?!\n)$"  # as to Python, $ stands before a last line feed too
Name = Annotated[str, Meta(pattern=WHOLE, description="a model by its name; the first one if left out")]
Length = Annotated[int, Meta(ge=1, le=200, description="items of the list")]
Novelty = Annotated[float, Meta(ge=0, le=1, description="for a dial: 0 is the most popular, 1 the most novel")]
Now = Annotated[
    Annotated[str, Meta(pattern=MOMENT)] | float,
    Meta(description='leave out what is not available at this moment: "now", a date, or seconds since 1970'),
]
Share = Annotated[float, Meta(description="share of the users that the model learned from")]
Unknown = Annotated[list[str], Meta(description="ids that the model does not know, and that were ignored")]
Version = Annotated[str, Meta(description="which file answered: the beginning of its digest")]
Parts = Annotated[
    dict[str, list[float]],
    Meta(description="what each item of `history` adds to the score, by part: h (learned metric) and g (filter)"),
]
