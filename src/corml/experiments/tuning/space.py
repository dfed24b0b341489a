"""Where to search: the declarations of the hyperparameters, or what the caller gives instead."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from corml._runtime.settings import Declared, Search, check_names, declared
from corml._runtime.values import is_number
from corml.errors import SettingError, ascii_line

Space: TypeAlias = Mapping[str, Search]
Range: TypeAlias = Search | str | Sequence[object] | None
Given: TypeAlias = Mapping[str, Range] | Iterable[str] | None

DIGITS = 3  # of a number that is tried: more would not matter, and are hard to read
INTERVALS = ("linear", "log")


def space_of(model: type, given: Given = None, fixed: Iterable[str] = ()) -> dict[str, Search]:
    """The hyperparameters to search, by name, without those that are fixed.

    `given` names some of them, or says where to search: `{"mix": (0.5, 0.9), "rank": "32,64"}`. Text is `LOW..HIGH` or
    values with commas between them; two numbers are an interval, on the scale the hyperparameter declares; more are
    choices.
    """
    specs, fixed = declared(model), set(fixed)
    if given is None:
        return {name: spec.search for name, spec in specs.items() if spec.search is not None and name not in fixed}
    names = [given] if isinstance(given, str) else given
    ranges: dict[str, Range] = dict(names) if isinstance(names, Mapping) else dict.fromkeys(names)
    check_names(model, ranges)
    for name in ranges:
        if name in fixed:
            raise SettingError(f"{name} is to be searched and is fixed as well: leave one out.")
    return {name: _search(specs[name], one) for name, one in ranges.items()}


def _search(spec: Declared, given: Range) -> Search:
    if given is None:
        if spec.search is None:
            raise SettingError(f"{spec.name} declares no range to search: write {spec.name}=LOW..HIGH, or its values.")
        return spec.search
    if isinstance(given, Search):
        return _checked(spec, given)
    scaled = spec.search is not None and spec.search.kind in INTERVALS
    if isinstance(given, str):
        interval = ".." in given
        values = [_read(spec, text.strip()) for text in given.split(".." if interval else ",")]
    else:
        values = list(given)
        interval = len(values) == 2 and all(map(is_number, values)) and (scaled or spec.search is None)
    kind = spec.search.kind if spec.search is not None and scaled else "linear"
    return _checked(spec, Search(kind if interval else "choice", tuple(values)))


def _read(spec: Declared, text: str) -> object:
    try:
        value: object = spec.rule.read(text)
    except ValueError:
        raise SettingError(f"{spec.name} must be {spec.rule.phrase}; got {ascii_line(text)}.") from None
    return value


def _checked(spec: Declared, search: Search) -> Search:
    for value in search.values:
        if not spec.rule.holds(value):
            raise SettingError(f"{spec.name} must be {spec.rule.phrase}; got {ascii_line(value)}.")
    if search.kind in INTERVALS:
        lowest, values = 0.0 if search.kind == "log" else -math.inf, search.values
        if len(values) != 2 or not all(map(is_number, values)) or not lowest < values[0] < values[1]:
            above = ", both above 0" if search.kind == "log" else ""
            raise SettingError(f"{spec.name} is searched from a lower to a higher number{above}; got {values}.")
    return search


def rounded(model: type, space: Space, point: Mapping[str, object]) -> dict[str, object]:
    """A point with few digits, still inside the space."""
    return {name: _rounded(declared(model)[name], space[name], value) for name, value in point.items()}


def _rounded(spec: Declared, search: Search, value: object) -> object:
    if search.kind == "choice" or not isinstance(value, int | float):
        return value
    low, high = search.values
    if spec.rule.whole:
        return int(min(max(round(value), low), high))
    return float(min(max(float(f"{value:.{DIGITS}g}"), low), high))


def point_near(model: type, space: Space, settings: Mapping[str, object]) -> dict[str, object]:
    """The point of the space nearest to some hyperparameters; empty where there is none for one of them."""
    nearest = {name: _nearest(search, settings[name]) for name, search in space.items()}
    if not all(nearest.values()):
        return {}
    return rounded(model, space, {name: value for name, values in nearest.items() for value in values})


def _nearest(search: Search, value: object) -> tuple[object, ...]:
    """The nearest value, or nothing."""
    if search.kind != "choice":
        return (min(max(value, search.values[0]), search.values[1]),) if is_number(value) else ()
    if any(_same(value, choice) for choice in search.values):
        return (value,)
    numbers = [choice for choice in search.values if is_number(choice)]
    return (min(numbers, key=lambda choice: abs(choice - value)),) if numbers and is_number(value) else ()


def contains(space: Space, point: Mapping[str, object]) -> bool:
    """Whether a point is one of the space."""
    return set(point) == set(space) and all(
        any(_same(point[name], choice) for choice in search.values)
        if search.kind == "choice"
        else is_number(point[name]) and search.values[0] <= point[name] <= search.values[1]
        for name, search in space.items()
    )


def size_of(space: Space) -> float:
    """How many points there are."""
    return math.prod(len(search.values) if search.kind == "choice" else math.inf for search in space.values())


def _same(value: object, choice: object) -> bool:
    return value is choice or (value == choice and type(value) is type(choice))
