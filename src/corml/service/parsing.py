"""From bytes to a typed request, or to a sentence that says what is wrong and repeats nothing of what was sent."""

import re
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from corml.service.problems import Refusal

__all__ = ["from_json", "from_query"]

_NOT_JSON, _DEEP = "The body is not JSON in UTF-8.", "The JSON is nested too deep."
DEEPEST = 8  # levels of JSON that are looked into
_SAFE = ("Expected", "Object missing required field")  # sentences that speak of our schema alone
_ELSEWHERE = {  # options of the library that are about more than a request, so that nobody takes them for misspelt
    "max_share": "max_share is about the lists of all users at once, and a request has few of them: "
    "make the lists with corml recommend --all --max-share, or with recommend in Python.",
}
_UNKNOWN, _CHOICE = "Object contains unknown field", "Invalid enum value"


def from_json(body: bytes, decoder: msgspec.json.Decoder[Any]) -> Any:
    """A request from a body; 183.0 is a whole number too, as JSON has only one kind of them."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError:
        pass
    except RecursionError:
        raise Refusal(422, _DEEP) from None
    except (msgspec.DecodeError, ValueError):
        raise Refusal(400, _NOT_JSON) from None
    try:
        return msgspec.convert(_whole(msgspec.json.decode(body)), decoder.type)
    except msgspec.ValidationError as fault:
        raise Refusal(422, _sentence(fault)) from None
    except RecursionError:
        raise Refusal(422, _DEEP) from None
    except (msgspec.MsgspecError, ValueError):
        raise Refusal(400, _NOT_JSON) from None


def from_query(query: bytes, kind: type) -> Any:
    """A request from the query of an address."""
    try:
        pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True, max_num_fields=20)
    except ValueError:
        raise Refusal(422, "The query has too many parts.") from None
    given = dict(pairs)
    if len(given) < len(pairs):
        raise Refusal(422, "A part of the query is there twice.")
    try:
        return msgspec.convert(given, kind, strict=False)
    except (msgspec.MsgspecError, ValueError) as fault:
        raise Refusal(422, _sentence(fault)) from None


def _whole(value: Any, depth: int = 0) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    if depth >= DEEPEST:
        return value
    if isinstance(value, list):
        return [_whole(one, depth + 1) for one in value]
    if isinstance(value, dict):
        return {name: _whole(one, depth + 1) for name, one in value.items()}
    return value


def _sentence(fault: Exception) -> str:
    """The reason and the place, without names and values that somebody sent."""
    text, _, place = str(fault).partition(" - at `")
    if text.startswith(_UNKNOWN):
        name = text.removeprefix(_UNKNOWN).strip(" `")
        if name in _ELSEWHERE:
            return _ELSEWHERE[name]
        text = _UNKNOWN
    elif text.startswith(_CHOICE):
        text = _CHOICE
    elif not text.startswith(_SAFE):
        text = "Invalid value"
    place = place.removesuffix("`")
    return f"{text} at {place}." if re.fullmatch(r"(?:key in )?\$[\w.\[\]…-]*", place) else f"{text}."
