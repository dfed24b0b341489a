"""Frozen dataclasses as plain facts of a file, and back, with every field and type checked."""

import sys
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from corml.errors import ModelFileError, ascii_line

T = TypeVar("T")
DEEPEST = 40  # facts within facts


def is_deep(facts: Any) -> bool:
    """Whether facts lie within facts without end, which everything that walks through them would stumble over."""
    inner: list[Any] = [facts]
    for _ in range(DEEPEST):
        values = (value.values() if isinstance(value, Mapping) else value for value in inner)
        inner = [one for some in values for one in some if isinstance(one, Mapping | list | tuple)]
        if not inner:
            return False
    return True


def to_plain(value: Any, *, skip: tuple[str, ...] = ()) -> Any:
    """A dataclass as a mapping without its fields that are None, tuples as lists."""
    if is_dataclass(value) and not isinstance(value, type):
        named = {spec.name: getattr(value, spec.name) for spec in fields(value) if spec.name not in skip}
        return {name: to_plain(inner, skip=skip) for name, inner in named.items() if inner is not None}
    if isinstance(value, tuple | list):
        return [to_plain(inner, skip=skip) for inner in value]
    return value


def from_plain(kind: type[T], plain: object) -> T:
    """The dataclass that `to_plain` made these facts of; anything else is a ModelFileError."""
    if not isinstance(plain, Mapping):
        raise ModelFileError(f"its {kind.__name__} is not a mapping")
    hints = get_type_hints(kind)
    specs = {spec.name: spec for spec in fields(kind)}  # type: ignore[arg-type]
    unknown = [name for name in plain if name not in specs]
    missing = [
        name for name, spec in specs.items()
        if name not in plain and spec.default is MISSING and spec.default_factory is MISSING
        and not _allows_none(hints[name])
    ]  # fmt: skip
    if unknown or missing:
        what = f"does not have {missing[0]}" if missing else f"has an odd {ascii_line(unknown[0])}"
        raise ModelFileError(f"its {kind.__name__} {what}")
    absent = {name: None for name in specs if _allows_none(hints[name]) and specs[name].default is MISSING}
    values = {name: _value(hints[name], value, f"{kind.__name__} {name}") for name, value in plain.items()}
    return kind(**{**absent, **values})


def _allows_none(hint: Any) -> bool:
    return type(None) in get_args(hint)


def _value(hint: Any, value: Any, name: str) -> Any:
    kinds = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    for kind in kinds:
        if kind is type(None) and value is None:
            return None
        if is_dataclass(kind) and isinstance(value, Mapping):
            return from_plain(kind, value)  # type: ignore[arg-type]
        if get_origin(kind) is tuple and isinstance(value, list):
            return _tuple(get_args(kind), value, name)
        if get_origin(kind) is Mapping and isinstance(value, dict):
            return {key: _value(get_args(kind)[1], inner, name) for key, inner in value.items()}
        if kind is object:
            return value
        if kind is float and type(value) in (int, float) and abs(value) <= sys.float_info.max:  # also no NaN
            return float(value)
        if kind in (int, bool, str) and type(value) is kind:
            return value
    raise ModelFileError(f"its {name} cannot be {ascii_line(value)}")


def _tuple(kinds: tuple[Any, ...], values: list[Any], name: str) -> tuple[Any, ...]:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_value(kinds[0], value, name) for value in values)
    if len(kinds) != len(values):
        raise ModelFileError(f"its {name} has {len(values)} values")
    return tuple(_value(kind, value, name) for kind, value in zip(kinds, values, strict=True))
