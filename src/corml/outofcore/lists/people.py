"""Whose lists are written: users by their ids, or everybody in a store. Some of them are asked for at a time."""

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from corml.data.ids import canonical
from corml.data.interactions import Interactions
from corml.data.labels import Labels
from corml.errors import UsageError, ascii_line
from corml.recommend.query import FromData, known_users
from corml.recommend.seen import SeenRule

if TYPE_CHECKING:
    from corml.models.recommender import Recommender

__all__ = ["Whose", "whose"]

AT_ONCE = 1 << 16  # labels hashed at a time


class Whose(Protocol):
    """People in an order, and how to know them again."""

    def __len__(self) -> int: ...

    def facts(self) -> dict[str, Any]:
        """What tells them from others, in plain values."""

    def asked(self, first: int, last: int) -> dict[str, Any]:
        """What `recommend` takes for those from the first to before the last."""


def whose(model: "Recommender", users: Any, data: Any, options: Mapping[str, Any]) -> Whose:
    """The users of the model or some of them by their ids; or, where data are given, everybody in these."""
    if data is not None:
        return _in_data(users, data, options)
    if not len(model.users_):
        raise UsageError("This model file was saved without its users: lists in parts are for known users.")
    labels: Labels | list[str] = model.users_.labels
    if users is not None:
        labels, _ = known_users(model.users_, users, options.get("unknown"))  # told before any work
    if not len(labels):
        raise UsageError("Say for whom: the list of users is empty.")
    return _ByLabel(labels)


class _ByLabel:
    """Users by their ids."""

    def __init__(self, labels: Sequence[Hashable] | Labels) -> None:
        self.labels = labels

    def __len__(self) -> int:
        return len(self.labels)

    def facts(self) -> dict[str, Any]:
        """A hash of the ids in their order, some at a time: as many bytes as all have never exist at once."""
        digest = hashlib.sha256()
        for at in range(0, len(self.labels), AT_ONCE):
            Labels.of(map(canonical, self.labels[at : at + AT_ONCE])).feed(digest)
        return {"count": len(self.labels), "sha256": digest.hexdigest()}

    def asked(self, first: int, last: int) -> dict[str, Any]:
        """Their ids."""
        return {"users": list(self.labels[first:last])}


class _People(Protocol):
    """What is asked of the people of a store."""

    def __len__(self) -> int: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def latest(self) -> float | None: ...

    def some(self, first: int, last: int) -> Interactions: ...


def _in_data(users: Any, data: Any, options: Mapping[str, Any]) -> "_InStore":
    if users is not None:
        raise UsageError("Say for whom: either users, or data, which are for everybody in them.")
    if not hasattr(data, "people"):
        raise UsageError(
            f"data takes a corml.Store, not {ascii_line(type(data).__name__)}: of other histories recommend some at a "
            "time."
        )
    if options.get("unknown") not in (None, "fallback"):  # what it is by default
        raise UsageError(
            "unknown (--unknown) is for users by their ids, and those of data have histories: leave it out."
        )
    if SeenRule(recent=options.get("exclude_recent"), events=options.get("hide_events")).by_type:
        raise UsageError(
            "A store has no event types: leave hide_events (--hide-events) out and give exclude_recent "
            "(--exclude-recent) one length of time, or make the lists of a model that was fitted in memory."
        )
    return _InStore(data.people(), ages="exclude_recent" in options)


class _InStore:
    """Everybody in a store: the users, and then the others."""

    def __init__(self, people: _People, *, ages: bool) -> None:
        self.people = people
        self.latest = people.latest if ages else None

    def __len__(self) -> int:
        return len(self.people)

    def facts(self) -> dict[str, Any]:
        """The fingerprint of the store."""
        return {"count": len(self), "store": self.people.fingerprint}

    def asked(self, first: int, last: int) -> dict[str, Any]:
        """Their histories."""
        return {"history": FromData(self.people.some(first, last), self.latest)}
