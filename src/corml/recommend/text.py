"""Options of lists as a command line writes them: "genre=Comedy,Drama", "price<=20", "318=1.2", "genre=2", "5%"."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from corml._runtime.values import share_of, whole_number
from corml.data import ids_in
from corml.data.attributes import Attributes
from corml.data.ids import Ids
from corml.errors import UsageError, ascii_line

FORM = re.compile(r"\s*([^=<>]+?)\s*(<=|>=|=)\s*(.*?)\s*", re.DOTALL)


def ids(text: str | None) -> list[str] | None:
    """Ids between commas, without whitespace around them; @FILE has one per line, for ids with commas."""
    if text is None:
        return None
    if text.startswith("@"):
        return ids_in(text[1:])
    return [part.strip() for part in text.split(",") if part.strip()]


def only_these(texts: Sequence[str], listed: str | None, table: Attributes) -> object:
    """What `only` means: all conditions, and among these ids if there are some; values of one name are alternatives."""
    if not texts:
        return ids(listed)
    wanted: dict[str, object] = {} if listed is None else {"item": ids(listed)}
    for text in texts:
        name, value = _condition(text, table, "--only-where")
        wanted[name] = _both(wanted.get(name), value, name) if name in wanted else value
    return wanted


def excluded(texts: Sequence[str], listed: str | None, table: Attributes) -> object:
    """What `exclude` means: whatever one of the conditions holds for, and these ids."""
    if not texts:
        return ids(listed)
    return [*(dict([_condition(text, table, "--exclude-where")]) for text in texts), *(ids(listed) or [])]


def boosts(texts: Iterable[str], items: Ids, table: Attributes) -> dict[str, object]:
    """What stands before the = is an item of the model; or else, with a colon, an attribute and one of its values."""
    found: dict[str, Any] = {}
    named = {*table.names, *(name.removesuffix("s") for name in table.names), *(f"{name}s" for name in table.names)}
    for text in (line for given in texts for line in (ids(given) if given.startswith("@") else [given]) or ()):
        what, equals, number = text.rpartition("=")
        if not equals or not what:
            raise UsageError(f"Invalid --boost {ascii_line(text)}: write ID=1.2 or genre:Comedy=1.2.")
        factor = _number(number, f"--boost {ascii_line(text)}")
        name, colon, value = what.partition(":")
        if what in items or not colon or name not in named:
            found[what] = factor
        else:
            found.setdefault(name, {})[value] = factor
    return found


def limits(texts: Iterable[str]) -> dict[str, int]:
    """Read genre=2."""
    found = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        count = whole_number(number)
        if not name or count is None:
            raise UsageError(f"Invalid --max-per {ascii_line(text)}: write, for example, genre=2.")
        found[name.strip()] = count
    return found


def share(text: str, flag: str) -> float:
    """Read 0.05 or 5%."""
    try:
        return share_of(text)
    except ValueError:
        raise UsageError(
            f"{flag} needs a number or a percentage, such as 0.05 or 5%; got {ascii_line(text)}."
        ) from None


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{where} needs a number; got {ascii_line(text)}.") from None


def _condition(text: str, table: Attributes, flag: str) -> tuple[str, object]:
    match = FORM.fullmatch(text)
    if not match or not match[3]:
        raise UsageError(f"Invalid {flag} {ascii_line(text)}: write genre=Comedy,Drama or price<=20.")
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


def _both(one: Any, other: Any, name: str) -> object:
    """Two conditions on one name: more values to choose from, or the two ends of a range."""
    if isinstance(one, list) and isinstance(other, list):
        return one + other
    ranges = isinstance(one, tuple) and isinstance(other, tuple)
    ends = [[end for end in (one[at], other[at]) if end is not None] for at in (0, 1)] if ranges else []
    if not ends or max(map(len, ends)) > 1:
        raise UsageError(
            f"--only-where has two conditions on {ascii_line(name)} that exclude each other: write one range."
        )
    return tuple(end[0] if end else None for end in ends)
