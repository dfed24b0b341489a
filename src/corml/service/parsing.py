"""From bytes to a typed request, or to a sentence that says what is wrong.

An error message repeats nothing of what was sent except the name of an unknown field.
"""

import json
import re
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from msgspec import inspect

from corml._runtime.values import nearest
from corml.errors import printable
from corml.service.problems import Refusal

DEEPEST = 8  # levels of JSON that are searched
LONGEST_NAME = 40  # characters of a name that is repeated
_SAFE = ("Expected", "Object missing required field")  # sentences that speak of our schema alone
_ELSEWHERE = {  # options of the library that no request can have, which are not misspelt
    "max_share": "max_share is about the lists of all users at once, and a request has few of them: "
    "make the lists with corml recommend --all --max-share, or with recommend in Python.",
}
_CHOICE = "Invalid enum value"
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*?)`(?: - at `(?P<place>\$[^`]*)`)?", re.DOTALL)
_PLACE = re.compile(r"(?:key in )?\$[\w.\[\]…-]*")
_STEP = re.compile(r"\.(?P<field>\w+)|\[[^]]*\]")


def from_json(body: bytes, decoder: msgspec.json.Decoder[Any]) -> Any:
    """A request from a body."""
    try:
        try:
            request = decoder.decode(body)
        except msgspec.ValidationError:  # 183.0 is a whole number too, because JSON has only one type of number
            request = msgspec.convert(_whole(msgspec.json.decode(body)), decoder.type)
        _each_object.decode(body.decode())
    except msgspec.ValidationError as fault:
        raise _invalid(_sentence(fault, decoder.type)) from None
    except RecursionError:
        raise _invalid("The JSON is nested too deep.") from None
    except (msgspec.MsgspecError, ValueError):
        raise Refusal(400, "The body is not JSON in UTF-8.", title="Not JSON") from None
    return request


def from_query(query: bytes, kind: type) -> Any:
    """A request from the query of an address."""
    try:
        pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True, max_num_fields=20)
    except ValueError:
        raise _invalid("The query has too many parameters.") from None
    given = dict(pairs)
    if len(given) < len(pairs):
        raise _invalid("A parameter of the query is given twice: give it once.")
    try:
        return msgspec.convert(given, kind, strict=False)
    except (msgspec.MsgspecError, ValueError) as fault:
        raise _invalid(_sentence(fault, kind)) from None


def _once(pairs: list[tuple[str, object]]) -> None:
    """Refuse an object with a name twice, of which msgspec takes the last: the other value would be ignored."""
    if len(dict(pairs)) < len(pairs):
        raise _invalid("A name is given twice in one object: give it once.")


_each_object = json.JSONDecoder(object_pairs_hook=_once, parse_int=str, parse_float=str)


def _invalid(detail: str) -> Refusal:
    return Refusal(422, detail, title="Invalid request")


def _whole(value: object, depth: int = 0) -> object:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    if depth >= DEEPEST:
        return value
    if isinstance(value, list):
        return [_whole(one, depth + 1) for one in value]
    if isinstance(value, dict):
        return {name: _whole(one, depth + 1) for name, one in value.items()}
    return value


def _sentence(fault: Exception, kind: type) -> str:
    """The reason and the place, without values that were sent."""
    unknown = _UNKNOWN.fullmatch(str(fault))
    if unknown:
        return _unknown_field(unknown["name"], unknown["place"] or "$", kind)
    text, _, place = str(fault).partition(" - at `")
    place = place.removesuffix("`")
    if text.startswith(_CHOICE):
        return f"Invalid value at {place}; there is: {', '.join(_choices_at(kind, place))}."
    if not text.startswith(_SAFE):
        text = "Invalid value"
    if not _PLACE.fullmatch(place):
        return f"{text}."
    instead = " Leave it out instead." if text.endswith("got `null`") else ""
    return f"{text} at {place}.{instead}"


def _unknown_field(name: str, place: str, kind: type) -> str:
    """Which field there is not, where, and which one was probably meant."""
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    shown = printable(name[:LONGEST_NAME]) + ("…" if len(name) > LONGEST_NAME else "")
    return f"Unknown field `{shown}` at {place}{nearest(name[:LONGEST_NAME], _fields_at(kind, place))}"


def _fields_at(kind: type, place: str) -> list[str]:
    """Names of the fields that an object at a place of a request may have."""
    objects = [one for one in _types_at(kind, place) if isinstance(one, inspect.StructType)]
    return [field.encode_name for one in objects for field in one.fields]


def _choices_at(kind: type, place: str) -> list[str]:
    """Values that a choice at a place of a request may have."""
    choices = [one for one in _types_at(kind, place) if isinstance(one, inspect.LiteralType)]
    return [str(value) for one in choices for value in one.values]


def _types_at(kind: type, place: str) -> list[inspect.Type]:
    """What may be at a place of a request: $ is the request, and each step leads into an object or a list."""
    types = _each(inspect.type_info(kind))
    for step in _STEP.finditer(place):
        types = [inner for one in types for inner in _inside(one, step["field"])]
    return types


def _inside(kind: inspect.Type, field: str | None) -> list[inspect.Type]:
    """What a field of an object, or anything in a list or a mapping, may be."""
    match kind:
        case inspect.StructType(fields=fields):
            return [inner for one in fields if one.encode_name == field for inner in _each(one.type)]
        case inspect.ListType(item_type=inner) | inspect.DictType(value_type=inner):
            return _each(inner)
    return []


def _each(kind: inspect.Type) -> list[inspect.Type]:
    """The types that a type may be, without what is said about them."""
    if isinstance(kind, inspect.Metadata):
        return _each(kind.type)
    if isinstance(kind, inspect.UnionType):
        return [inner for one in kind.types for inner in _each(one)]
    return [kind]
