"""Conditions on attributes as a command line writes them: "genre=Comedy,Drama", "price<=20", "price=5..20"."""

import re
from collections.abc import Sequence
from typing import Any

from corml.cli._work import ids
from corml.data.attributes import Attributes
from corml.errors import UsageError, ascii_line

FORM = re.compile(r"\s*([^=<>]+?)\s*(<=|>=|=)\s*(.*?)\s*", re.DOTALL)


def only_these(texts: Sequence[str], listed: list[str] | None, table: Attributes) -> Any:
    """What `only` means: all conditions, and among these ids if there are some; values of one name are alternatives."""
    if not texts:
        return listed
    wanted: dict[str, Any] = {} if listed is None else {"item": listed}
    for text in texts:
        name, value = _condition(text, table, "--only-where")
        wanted[name] = _both(wanted.get(name), value, name) if name in wanted else value
    return wanted


def excluded(texts: Sequence[str], listed: list[str] | None, table: Attributes) -> Any:
    """What `exclude` means: whatever one of the conditions holds for, and these ids."""
    if not texts:
        return listed
    conditions = [dict([_condition(text, table, "--exclude-where")]) for text in texts]
    return [*conditions, *(listed or [])]


def _condition(text: str, table: Attributes, flag: str) -> tuple[str, Any]:
    match = FORM.fullmatch(text)
    if not match or not match[3]:
        raise UsageError(f"{flag} {ascii_line(text)} is no condition: write genre=Comedy,Drama or price<=20.")
    name, sign, value = table.name_of(match[1]), match[2], match[3]
    kind = table.kind(name)
    if kind in ("category", "text"):
        if sign != "=":
            raise UsageError(f"{flag} {ascii_line(text)}: {name} is of kind {kind} and has no order: write {name}=….")
        return name, ids(value) if kind == "category" else [value]
    if sign == "<=":
        return name, (None, value)
    if sign == ">=":
        return name, (value, None)
    low, dots, high = value.partition("..")
    return name, (low.strip() or None, high.strip() or None) if dots else ids(value)


def _both(one: Any, other: Any, name: str) -> Any:
    """Two conditions on one name: more values to choose from, or the two ends of a range."""
    if isinstance(one, list) and isinstance(other, list):
        return one + other
    ends = (
        [[end for end in (one[at], other[at]) if end is not None] for at in (0, 1)] if _are_ranges(one, other) else []
    )
    if not ends or max(map(len, ends)) > 1:
        raise UsageError(
            f"--only-where has two conditions on {ascii_line(name)} that exclude each other: write one range."
        )
    return tuple(end[0] if end else None for end in ends)


def _are_ranges(one: Any, other: Any) -> bool:
    return isinstance(one, tuple) and isinstance(other, tuple)
