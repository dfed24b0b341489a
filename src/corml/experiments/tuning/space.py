"""Where to search: the declarations of the settings, or what the caller says instead."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from corml._runtime.settings import Declared, Search, check_names, declared
from corml._runtime.values import is_number
from corml.errors import SettingError, ascii_line

__all__ = ["Space", "describe", "point_near", "rounded", "size_of", "space_of"]

Space = Mapping[str, Search]
Asked = Mapping[str, Search | str | Sequence[Any]] | Iterable[str] | None

DIGITS = 3  # of a number that is tried: more would not matter, and are hard to read
KINDS = ("linear", "log")


def space_of(model: type, asked: Asked = None, fixed: Iterable[str] = ()) -> dict[str, Search]:
    """The settings to search, by name, without those that are fixed.

    `asked` names some of them, or says where to look: `{"mix": (0.5, 0.9), "rank": "32,64"}`. Text is `LOW..HIGH` or
    values with commas between them; two numbers are an interval, on the scale the setting declares; more are choices.
    """
    specs, fixed = declared(model), set(fixed)
    if asked is None:
        return {name: spec.search for name, spec in specs.items() if spec.search is not None and name not in fixed}
    ranges = dict(asked) if isinstance(asked, Mapping) else dict.fromkeys([asked] if isinstance(asked, str) else asked)
    check_names(model, ranges)
    for name in ranges:
        if name in fixed:
            raise SettingError(f"{name} is to be searched and is fixed as well: leave one out.")
    return {name: _search(specs[name], given) for name, given in ranges.items()}


def _search(spec: Declared, given: Search | str | Sequence[Any] | None) -> Search:
    if given is None:
        if spec.search is None:
            raise SettingError(f"{spec.name} declares no range to search: write {spec.name}=LOW..HIGH, or its values.")
        return spec.search
    if isinstance(given, Search):
        return _checked(spec, given.kind, given.values)
    if isinstance(given, str):
        interval = ".." in given
        values = [_read(spec, text.strip()) for text in (given.split("..") if interval else given.split(","))]
    else:
        values = list(given)
        interval = len(values) == 2 and all(is_number(value) for value in values) and _is_interval(spec)
    kind = spec.search.kind if spec.search is not None and spec.search.kind in KINDS else "linear"
    return _checked(spec, kind if interval else "choice", tuple(values))


def _is_interval(spec: Declared) -> bool:
    return spec.search is None or spec.search.kind in KINDS


def _read(spec: Declared, text: str) -> Any:
    try:
        return spec.rule.read(text)
    except ValueError:
        raise SettingError(f"{spec.name} must be {spec.rule.phrase}; got {ascii_line(text)}.") from None


def _checked(spec: Declared, kind: str, values: tuple[Any, ...]) -> Search:
    for value in values:
        if not spec.rule.holds(value):
            raise SettingError(f"{spec.name} must be {spec.rule.phrase}; got {ascii_line(value)}.")
    if kind in KINDS:
        lowest = 0.0 if kind == "log" else -math.inf
        if len(values) != 2 or not all(is_number(value) for value in values) or not lowest < values[0] < values[1]:
            above = ", both above 0" if kind == "log" else ""
            raise SettingError(f"{spec.name} is searched from a lower to a higher number{above}; got {values}.")
    return Search(kind, values)


def rounded(model: type, space: Space, point: Mapping[str, Any]) -> dict[str, Any]:
    """A point with few digits, still inside the space."""
    return {name: _rounded(declared(model)[name], space[name], value) for name, value in point.items()}


def _rounded(spec: Declared, search: Search, value: Any) -> Any:
    if search.kind == "choice":
        return value
    low, high = search.values
    if spec.rule.whole:
        return int(min(max(round(value), low), high))
    return float(min(max(float(f"{value:.{DIGITS}g}"), low), high))


def point_near(model: type, space: Space, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The point of the space nearest to some settings; empty where one of them has no place in it."""
    point = {name: _nearest(search, settings[name]) for name, search in space.items()}
    if any(place is None for place in point.values()):
        return {}
    return rounded(model, space, {name: place[0] for name, place in point.items() if place})


def _nearest(search: Search, value: Any) -> tuple[Any] | None:
    if search.kind != "choice":
        return (min(max(value, search.values[0]), search.values[1]),) if is_number(value) else None
    if any(value is choice or (value == choice and type(value) is type(choice)) for choice in search.values):
        return (value,)
    numbers = [choice for choice in search.values if is_number(choice)]
    return (min(numbers, key=lambda choice: abs(choice - value)),) if numbers and is_number(value) else None


def size_of(space: Space) -> float:
    """How many points there are."""
    return math.prod(len(search.values) if search.kind == "choice" else math.inf for search in space.values())


def describe(space: Space) -> dict[str, Any]:
    """The space in plain lists, for a record of the study."""
    return {name: [search.kind, *search.values] for name, search in space.items()}
