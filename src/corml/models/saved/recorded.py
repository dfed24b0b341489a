"""What a model file says of its figures and its data: the forms that commands rely on, checked before any does."""

import sys
from collections.abc import Mapping
from typing import Any

from corml.errors import ModelFileError

MAPPINGS = ("metrics", "intervals", "procedure", "refit")  # of an evaluation, where it has them
TEXTS = ("split", "part")
FORMS = {"dict": "a mapping", "str": "a text", "list": "a list"}


def check_recorded(meta: Mapping[str, Any]) -> None:
    """Refuse facts of another form than a save writes; what is absent is not missed here."""
    if not all(type(length) is int for length in meta["shape"]):
        raise ModelFileError("its shape is not one of whole numbers")
    evaluation = meta["evaluation"]
    for name in MAPPINGS:
        _of_form(evaluation.get(name, {}), dict, f"{name} of its evaluation")
    for name in TEXTS:
        _of_form(evaluation.get(name, ""), str, f"{name} of its evaluation")
    for name, value in evaluation.get("metrics", {}).items():
        if not _is_number(value):
            raise ModelFileError(f"its figure {name[:40]!a} is not a number")
    for name, ends in evaluation.get("intervals", {}).items():
        if not (isinstance(ends, list) and len(ends) == 2 and all(map(_is_number, ends))):
            raise ModelFileError(f"its interval of {name[:40]!a} is not made of two numbers")
    _check_source(meta["data"])
    _check_updates(meta.get("now", {}))


def _check_source(data: Mapping[str, Any]) -> None:
    source = data.get("source", {})
    _of_form(data.get("fingerprint", ""), str, "fingerprint of its data")
    _of_form(source, dict, "source of its data")
    _of_form(source.get("options", {}), dict, "options of its data")


def _check_updates(now: Any) -> None:
    _of_form(now, dict, "record of what it knows now")
    updates = now.get("updates", [])
    _of_form(updates, list, "list of updates")
    for one in updates:
        _of_form(one, dict, "record of an update")
        if any(type(one.get(name, 0)) is not int for name in ("interactions", "new_users")):
            raise ModelFileError("its record of an update does not count")


def _of_form(value: Any, form: type, what: str) -> None:
    if not isinstance(value, form):
        words = FORMS[form.__name__]
        raise ModelFileError(f"the {what} is not {words}")


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= sys.float_info.max  # which no NaN is
