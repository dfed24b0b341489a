"""What single fields of requests and answers may be."""

from typing import Annotated

from msgspec import Meta

from corml.data.ids import LONGEST_ID
from corml.service.options import NAME

MAX_EXPLAINED = 50  # items of a list that is explained

# Any id that data may have: they are measured in bytes, and have no more characters than these.
Id = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID)] | int
History = Annotated[list[Id], Meta(max_length=1000, description="items of the person, each by its id")]


User = Annotated[Id, Meta(description="a user the model learned from, instead of a history")]
Asked = Annotated[Id, Meta(description="the item that is asked about")]
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
