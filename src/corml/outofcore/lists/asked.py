"""What lists were asked for, in plain values: two runs belong together if these are equal."""

import hashlib
import inspect
import json
from collections.abc import Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import TYPE_CHECKING, Any

import numpy as np

from corml._runtime.values import nearest
from corml._runtime.version import VERSION
from corml.data.ids import canonical, is_one_id
from corml.errors import UsageError, ascii_line
from corml.models.saved.model_file import fingerprint
from corml.outofcore.lists.people import Whose

if TYPE_CHECKING:
    from corml.models.recommender import Recommender

__all__ = ["in_words", "options_of", "plain", "plainly"]

FEW = 50  # values of a list that are written one by one; of more there is a hash
NOT_HERE = ("users", "history", "k", "progress")  # arguments of `recommend` that are no options of a folder of lists


def options_of(model: "Recommender", given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `recommend` that were given and are not its defaults; those that parts cannot keep are refused."""
    known = {
        name: spec.default
        for name, spec in inspect.signature(model.recommend).parameters.items()
        if name not in NOT_HERE
    }
    for name in given:
        if name == "history":
            raise UsageError(
                "Lists in parts are for known users or a store: of other histories recommend some at a time."
            )
        if name not in known:
            raise UsageError(f"recommend has no option {ascii_line(name)}{nearest(name, known)}")
    options = {name: _lasting(value) for name, value in given.items()}
    options = {name: value for name, value in options.items() if _differ(value, known[name])}
    if options.get("unknown") == "fallback":  # what it is by default; whether there are strangers is told in advance
        del options["unknown"]
    if "max_share" in options:
        raise UsageError(
            "max_share (--max-share) is a rule for all lists together, and lists in parts are never all there: "
            "leave it out, or write one file, such as --out lists.parquet."
        )
    for name in ("exclude", "only"):
        if any(isinstance(one, list) for one in _as_list(plain(options.get(name)))):
            raise UsageError(f"{name} takes one list of item ids for all users where lists are written in parts.")
    return options


def plainly(model: "Recommender", people: Whose, k: int, options: Mapping[str, Any]) -> dict[str, Any]:
    """The model and the request as JSON has them. Nothing of the hour, the place or the machine is in it."""
    asked = {
        "corml": VERSION,
        "model": {"name": model.NAME, "fingerprint": fingerprint(model)},
        "users": people.facts(),
        "request": {"k": int(k), **{name: _short(plain(value)) for name, value in sorted(options.items())}},
    }
    as_read: dict[str, Any] = json.loads(json.dumps(asked, default=str))
    return as_read


def in_words(there: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """How lists that are there differ from those that are asked for."""
    if there.get("model") != asked["model"]:
        return "of another model"
    if there.get("users") != asked["users"]:
        return "of other users"
    if there.get("corml") != asked["corml"]:
        return f"made by version {ascii_line(there.get('corml'))}, and this is {asked['corml']}"
    one, other = there.get("request") or {}, asked["request"]
    name = next((name for name in sorted({*one, *other}) if one.get(name) != other.get(name)), None)
    return "in other parts" if name is None else f"made {_said(one, name)}, and these would be {_said(other, name)}"


def _said(request: Mapping[str, Any], name: str) -> str:
    return f"with {name} {ascii_line(request[name])}" if name in request else f"without {name}"


def _differ(value: Any, default: Any) -> bool:
    return not (value is default or (is_one_id(value) and is_one_id(default) and value == default))


def plain(value: Any) -> Any:
    """Numbers, texts, lists and mappings; what is none of them as its text."""
    if isinstance(value, Mapping):
        return {canonical(name): _condition(inner) for name, inner in value.items()}
    if isinstance(value, np.datetime64 | np.timedelta64):
        return str(value)  # `tolist` would forget the unit
    if hasattr(value, "tolist"):  # of NumPy or pandas
        return plain(value.tolist())
    if isinstance(value, set | frozenset):
        return sorted(map(canonical, value))
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [plain(inner) for inner in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _condition(value: Any) -> Any:
    """The values of an attribute, or a range of it, which is a pair."""
    return {"range": plain(list(value))} if isinstance(value, tuple) else plain(value)


def _lasting(value: Any) -> Any:
    """What is gone after it was read once, or is the view of something else, as a list."""
    return list(value) if isinstance(value, Iterator | KeysView | ValuesView) else value


def _short(value: Any) -> Any:
    if not isinstance(value, list | dict) or len(value) <= FEW:
        return value
    text = json.dumps(value, sort_keys=True)
    return {"values": len(value), "sha256": hashlib.sha256(text.encode()).hexdigest()}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
