"""What lists were asked for, in plain values: two runs belong together if these are equal."""

import hashlib
import inspect
import json
from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import corml
from corml.errors import UsageError, ascii_line
from corml.ids import canonical, is_one_id, labels_of
from corml.labels import Labels
from corml.settings import nearest
from corml.storage.model_file import fingerprint

if TYPE_CHECKING:
    from corml.recommender import Recommender

__all__ = ["Whose", "in_words", "options_of", "plainly", "whose"]

FEW = 50  # values of a list that are written one by one; of more there is a hash
AT_ONCE = 1 << 16  # labels hashed at a time
NOT_HERE = ("users", "history", "k", "progress")  # arguments of `recommend` that are no options of a folder of lists

Whose = Labels | list[Hashable]


def options_of(model: "Recommender", given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `recommend` that were given and are not its defaults; those that parts cannot keep are refused."""
    known = {
        name: spec.default
        for name, spec in inspect.signature(model.recommend).parameters.items()
        if name not in NOT_HERE
    }
    for name in given:
        if name == "history":
            raise UsageError("Lists in parts are for known users: for histories call recommend, some at a time.")
        if name not in known:
            raise UsageError(f"recommend has no option {ascii_line(name)}{nearest(name, known)}")
    options = {name: list(value) if isinstance(value, Iterator) else value for name, value in given.items()}
    options = {name: value for name, value in options.items() if _differ(value, known[name])}
    if "max_share" in options:
        raise UsageError(
            "max_share (--max-share) is a rule for all lists together, and lists in parts are never all there: "
            "leave it out, or write one file, such as --out lists.parquet."
        )
    for name in ("exclude", "only"):
        if any(isinstance(one, list) for one in _as_list(_plain(options.get(name)))):
            raise UsageError(f"{name} takes one list of item ids for all users where lists are written in parts.")
    return options


def whose(model: "Recommender", users: Any, options: Mapping[str, Any]) -> Whose:
    """Ids of the users, all of the model by default."""
    if not len(model.users_):
        raise UsageError("This model file was saved without its users: lists in parts are for known users.")
    labels: Whose = model.users_.labels if users is None else labels_of(users, "recommend_to")
    if not len(labels):
        raise UsageError("Say for whom: the list of users is empty.")
    if options.get("unknown") == "error":
        model.users_.rows(labels)  # all unknown ones in one error, before any work
    return labels


def plainly(model: "Recommender", labels: Whose, k: int, options: Mapping[str, Any]) -> dict[str, Any]:
    """The model and the request as JSON has them. Nothing of the hour, the place or the machine is in it."""
    asked = {
        "corml": corml.__version__,
        "model": {"name": model.NAME, "fingerprint": fingerprint(model)},
        "users": {"count": len(labels), "sha256": _hash(labels)},
        "request": {"k": int(k), **{name: _short(_plain(value)) for name, value in sorted(options.items())}},
    }
    plain: dict[str, Any] = json.loads(json.dumps(asked, default=str))
    return plain


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


def _hash(labels: Whose) -> str:
    """Of labels in their order, some at a time: as many bytes as all have never exist at once."""
    digest = hashlib.sha256()
    for at in range(0, len(labels), AT_ONCE):
        Labels.of(map(canonical, labels[at : at + AT_ONCE])).feed(digest)
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    """Numbers, texts, lists and mappings; what is none of them as its text."""
    if isinstance(value, Mapping):
        return {canonical(name): _plain(inner) for name, inner in value.items()}
    if hasattr(value, "tolist"):  # of NumPy, Polars or pandas
        return _plain(value.tolist())
    if isinstance(value, set | frozenset):
        return sorted(map(canonical, value))
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _short(plain: Any) -> Any:
    if not isinstance(plain, list | dict) or len(plain) <= FEW:
        return plain
    text = json.dumps(plain, sort_keys=True)
    return {"values": len(plain), "sha256": hashlib.sha256(text.encode()).hexdigest()}


def _as_list(plain: Any) -> list[Any]:
    return plain if isinstance(plain, list) else []
