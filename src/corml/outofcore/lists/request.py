"""A request for lists: for which users, by which options, and as plain values that tell it from others."""

import hashlib
import json
from collections.abc import Hashable, Iterable, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from corml._runtime.version import VERSION
from corml.data.ids import canonical, is_one_id
from corml.data.interactions import Interactions
from corml.data.labels import Labels
from corml.errors import UsageError, ascii_line
from corml.models.saved.model_file import fingerprint
from corml.recommend.options import complete, defaults
from corml.recommend.query import FromData, known_users
from corml.recommend.seen import SeenRule

if TYPE_CHECKING:
    from corml.models.recommender import Recommender

AT_ONCE = 1 << 16  # labels hashed at a time
FEW = 50  # values of a list that are written one by one; of more there is a hash


class Users(Protocol):
    """Users in an order, and what tells them from others."""

    def __len__(self) -> int: ...

    def facts(self) -> dict[str, object]:
        """What tells them from other users, in plain values."""

    def whom(self, first: int, last: int) -> dict[str, Any]:
        """What `recommend` takes for those from the first to before the last."""


def users_of(model: "Recommender", users: Any, data: Any, options: Mapping[str, Any]) -> Users:
    """The users of the model or some of them by their ids; or all users in data."""
    if data is not None:
        return _in_store(users, data, options)
    if not len(model.users_):
        raise UsageError("This model file was saved without its users: lists in shards are for known users.")
    labels: Labels | list[str] = model.users_.labels
    if users is not None:
        labels, _ = known_users(model.users_, users, options.get("unknown"))  # unknown ones are told before any work
    if not len(labels):
        raise UsageError("Say for whom: the list of users is empty.")
    return _ById(labels)


class _ById:
    def __init__(self, labels: Sequence[Hashable] | Labels) -> None:
        self.labels = labels

    def __len__(self) -> int:
        return len(self.labels)

    def facts(self) -> dict[str, object]:
        """A hash of the ids in their order, some at a time: as many bytes as all have never exist at once."""
        digest = hashlib.sha256()
        for at in range(0, len(self.labels), AT_ONCE):
            Labels.of(map(canonical, self.labels[at : at + AT_ONCE])).feed(digest)
        return {"count": len(self.labels), "sha256": digest.hexdigest()}

    def whom(self, first: int, last: int) -> dict[str, Any]:
        """Their ids."""
        return {"users": list(self.labels[first:last])}


class _StoreUsers(Protocol):
    """What is needed of the users of a store."""

    def __len__(self) -> int: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def latest(self) -> float | None: ...

    def some(self, first: int, last: int) -> Interactions: ...


class _InStore:
    """All users in a store: those of the fit, and then those excluded from it."""

    def __init__(self, users: _StoreUsers, *, ages: bool) -> None:
        self.users = users
        self.latest = users.latest if ages else None

    def __len__(self) -> int:
        return len(self.users)

    def facts(self) -> dict[str, object]:
        """The fingerprint of the store."""
        return {"count": len(self), "store": self.users.fingerprint}

    def whom(self, first: int, last: int) -> dict[str, Any]:
        """Their histories."""
        return {"history": FromData(self.users.some(first, last), self.latest)}


def _in_store(users: object, data: Any, options: Mapping[str, object]) -> _InStore:
    if users is not None:
        raise UsageError("Say for whom: either users, or data, which are for all users in them.")
    if not hasattr(data, "user_histories"):
        raise UsageError(
            f"data takes a corml.Store, not {ascii_line(type(data).__name__)}: of other histories recommend some at a "
            "time."
        )
    if options.get("unknown") not in (None, "fallback"):
        raise UsageError(
            "unknown (--unknown) is for users by their ids, and those of data have histories: leave it out."
        )
    if SeenRule(recent=options.get("exclude_recent"), events=options.get("hide_events")).by_type:
        raise UsageError(
            "A store has no event types: leave hide_events (--hide-events) out and give exclude_recent "
            "(--exclude-recent) one length of time, or make the lists of a model that was fitted in memory."
        )
    return _InStore(data.user_histories(), ages="exclude_recent" in options)


def options_of(given: Mapping[str, object]) -> dict[str, Any]:
    """The options of `recommend` that are not the defaults; those that shards cannot keep are refused."""
    if "history" in given:
        raise UsageError("Lists in shards are for known users or a store: of other histories recommend some at a time.")
    options: dict[str, Any] = {name: _lasting(value) for name, value in given.items()}
    complete(options)
    usual = {**defaults(), "unknown": "fallback"}
    options = {name: value for name, value in options.items() if _differs(value, usual[name]) and value is not None}
    if "max_share" in options:
        raise UsageError(
            "max_share (--max-share) is a rule for all lists together, and lists in shards are never all there: "
            "leave it out, or write one file, such as --out lists.parquet."
        )
    for name in ("exclude", "only"):
        listed = plain(options.get(name))
        if isinstance(listed, list) and any(isinstance(one, list) for one in listed):
            raise UsageError(f"{name} takes one list of item ids for all users where lists are written in shards.")
    return options


def as_facts(model: "Recommender", users: Users, k: int, options: Mapping[str, object]) -> dict[str, Any]:
    """The model and the request in JSON's values, which do not depend on time, place or machine."""
    facts = {
        "corml": VERSION,
        "model": {"name": model.NAME, "fingerprint": fingerprint(model)},
        "users": users.facts(),
        "request": {"k": int(k), **{name: _short(plain(value)) for name, value in sorted(options.items())}},
    }
    as_read: dict[str, Any] = json.loads(json.dumps(facts, default=str))
    return as_read


def difference(there: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """How lists that are there differ from those that are requested, in words."""
    if there.get("model") != facts["model"]:
        return "of another model"
    if there.get("users") != facts["users"]:
        return "of other users"
    if there.get("corml") != facts["corml"]:
        return f"made by version {ascii_line(there.get('corml'))}, and this is {facts['corml']}"
    one, other = there.get("request") or {}, facts["request"]
    name = next((name for name in sorted({*one, *other}) if one.get(name) != other.get(name)), None)
    if name is None:
        return "in other shards"
    there_with, these_with = (
        f"with {name} {ascii_line(request[name])}" if name in request else f"without {name}" for request in (one, other)
    )
    return f"made {there_with}, and these would be {these_with}"


def plain(value: Any) -> Any:
    """Numbers, texts, lists and mappings; what is none of them as its text."""
    if isinstance(value, Mapping):  # a pair is a range of an attribute
        return {
            canonical(name): {"range": plain(list(inner))} if isinstance(inner, tuple) else plain(inner)
            for name, inner in value.items()
        }
    if isinstance(value, np.datetime64 | np.timedelta64):
        return str(value)  # `tolist` would forget the unit
    if hasattr(value, "tolist"):  # of NumPy or pandas
        return plain(value.tolist())
    if isinstance(value, set | frozenset):
        return sorted(map(canonical, value))
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [plain(inner) for inner in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _differs(value: object, default: object) -> bool:
    return not (value is default or (is_one_id(value) and is_one_id(default) and value == default))


def _lasting(value: object) -> object:
    """What can be read only once, or is the view of something else, as a list."""
    return list(value) if isinstance(value, Iterator | KeysView | ValuesView) else value


def _short(value: object) -> object:
    if not isinstance(value, list | dict) or len(value) <= FEW:
        return value
    text = json.dumps(value, sort_keys=True)
    return {"values": len(value), "sha256": hashlib.sha256(text.encode()).hexdigest()}
