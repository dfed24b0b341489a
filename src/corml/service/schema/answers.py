"""Answers, as types."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from corml.service.schema.fields import Parts, Reason, Share, Unknown, Version

__all__ = [
    "Answer",
    "BatchAnswer",
    "Contribution",
    "DistanceAnswer",
    "ExplainAnswer",
    "Found",
    "Health",
    "IdsAnswer",
    "Item",
    "Lift",
    "ListAnswer",
    "ModelInfo",
    "Models",
    "OneList",
    "Ranked",
    "Readiness",
    "Reloaded",
    "SimilarAnswer",
    "WhyNotAnswer",
]


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
    """An item that, added to the history, would lift the item that was asked about."""

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
