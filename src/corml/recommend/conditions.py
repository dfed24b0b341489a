"""Conditions on attributes of items: `only={"genre": ["Comedy"], "price": (None, 20)}`.

All conditions of a mapping must hold, and of several values of one condition any. A list of mappings and item ids means
any of them. The result is one mask over the catalogue, for all users.

    category   "Comedy", or ["Comedy", "Drama"]         one of the values of the item
    number     (low, high), None for no bound; 20       within the bounds, both included; an item without a value is not
    time       the same with days or moments            a day as upper bound counts to its end
    text       "star wars"                              the text contains it, ignoring case
    item       ids                                      the item itself, unless an attribute has that name
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime.values import nearest
from corml.data.attributes import Attributes
from corml.data.ids import canonical, is_one_id
from corml.data.requested_ids import rows_or_warn
from corml.errors import UsageError, ascii_line

FROM, UNTIL = "available_from", "available_until"
DAY = timedelta(days=1)

Mask = NDArray[np.bool_]
Filter = Mapping[str, object] | Sequence[Mapping[str, object]]


@dataclass(frozen=True)
class Bounds:
    """A range in JSON: {"from": low, "to": high}, both included; without one end there is no bound on that side."""

    low: float | str | None = None
    high: float | str | None = None


Value = str | int | float | bool  # int first: 7 stays 7, and names a value of a category
Conditions = dict[str, Value | list[Value] | Bounds]


def is_by_attribute(given: object) -> bool:
    """Whether `only` or `exclude` has conditions, not ids alone."""
    return isinstance(given, Mapping) or (
        isinstance(given, list | tuple) and any(isinstance(one, Mapping) for one in given)
    )


def mask_of(table: Attributes, only: object, exclude: object, now: object = None) -> Mask | None:
    """The items that conditions and the moment leave; None where there are neither."""
    masks = [chosen(table, only, "only")] if is_by_attribute(only) else []
    masks += [~chosen(table, exclude, "exclude")] if is_by_attribute(exclude) else []
    masks += [] if now is None else [available(table, now)]
    return np.logical_and.reduce(masks) if masks else None


def chosen(table: Attributes, given: Any, name: str) -> Mask:
    """The items that any of the conditions, or ids, of `only` or `exclude` names."""
    mask = np.zeros(len(table), dtype=bool)
    for one in [given] if isinstance(given, Mapping) else given:
        if not isinstance(one, Mapping) and not is_one_id(one):
            raise UsageError(f"{name} takes conditions for all rows: it cannot have one list of ids per row as well.")
        mask |= holding(table, one, name) if isinstance(one, Mapping) else _listed(table, one, name)
    return mask


def holding(table: Attributes, conditions: Mapping[str, object], option: str = "only") -> Mask:
    """The items for which all conditions hold."""
    mask = np.ones(len(table), dtype=bool)
    for name, wanted in conditions.items():
        if name == "item" and name not in table.columns:
            mask &= _listed(table, wanted, option)
        else:
            mask &= _tested(table, table.name_of(name), wanted)
    return mask


def available(table: Attributes, now: object) -> Mask:
    """The items that are available at a moment; an item without these times always is."""
    names = [name for name in table.names if name.lower() in (FROM, UNTIL) and table.kind(name) == "time"]
    if not names:
        raise UsageError(
            f"now= (--now) needs a column {FROM} or {UNTIL} of times in the table of items, and there is none."
        )
    at = datetime.now(UTC).timestamp() if now == "now" else moment(now, "now")
    mask = np.ones(len(table), dtype=bool)
    for name in names:
        moments = table.numbers(name)
        mask &= ~(moments > at) if name.lower() == FROM else ~(moments < at)
    return mask


# --- conditions ------------------------------------------------------------------------------------------------------


def _listed(table: Attributes, ids: object, name: str) -> Mask:
    mask = np.zeros(len(table), dtype=bool)
    (rows,) = rows_or_warn(table.items, [ids], name)
    mask[rows[rows >= 0]] = True
    return mask


def _tested(table: Attributes, name: str, wanted: object) -> Mask:
    kind = table.kind(name)
    if kind == "category":
        return _with_value(table, name, wanted)
    if kind == "text":
        return _with_words(table, name, wanted)
    values = table.numbers(name)
    read: Callable[[object, str], float] = _number if kind == "number" else moment
    mask = np.zeros(len(values), dtype=bool)
    for low, high in _ranges(wanted, name):
        above = True if low is None else values >= read(low, name)
        below = True if high is None else values <= _last(high, name, kind, read)
        mask |= above & below & ~np.isnan(values)
    return mask


def _with_value(table: Attributes, name: str, wanted: object) -> Mask:
    labels = [canonical(value) for value in ([wanted] if is_one_id(wanted) else _several(wanted, name))]
    labels = [label.lower() if label in ("True", "False") else label for label in labels]
    known = table.values(name)
    column = {label: at for at, label in enumerate(known)}
    for label in labels:
        if label not in column:
            raise UsageError(f"No item has the {name} {ascii_line(label)}{nearest(label, known)}")
    chosen = np.zeros(len(known), dtype=np.float32)
    chosen[[column[label] for label in labels]] = 1
    return np.asarray(table.categories(name) @ chosen > 0)


def _with_words(table: Attributes, name: str, wanted: object) -> Mask:
    parts = [str(part).casefold() for part in ([wanted] if is_one_id(wanted) else _several(wanted, name))]
    return np.array([any(part in text.casefold() for part in parts) for text in table.texts(name)], dtype=bool)


def _several(wanted: Any, name: str) -> list[object]:
    if isinstance(wanted, list | tuple | set | frozenset) or hasattr(wanted, "tolist"):
        return wanted.tolist() if hasattr(wanted, "tolist") else list(wanted)
    raise UsageError(
        f"The condition on {ascii_line(name)} takes a value or a list of values; got {ascii_line(wanted)}."
    )


def _ranges(wanted: object, name: str) -> list[tuple[object, object]]:
    """Bounds: a pair is one range; a single value, or each of a list, is itself."""
    if isinstance(wanted, tuple):
        if len(wanted) != 2 or wanted == (None, None):
            raise UsageError(
                f"A range of {ascii_line(name)} is (low, high), None for no bound; got {ascii_line(wanted)}."
            )
        return [(wanted[0], wanted[1])]
    values = _several(wanted, name) if isinstance(wanted, list | set | frozenset) else [wanted]
    if any(value is None for value in values):
        raise UsageError(f"The condition on {ascii_line(name)} needs a value; to say nothing of it, leave it out.")
    return [(value, value) for value in values]


def _number(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if np.isnan(number):
        raise UsageError(f"The condition on {ascii_line(name)} needs a number; got {ascii_line(value)}.")
    return number


def moment(value: object, name: str) -> float:
    """Seconds since 1970 of a number, a date, a moment, or the text of one; without a time zone UTC is meant."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, str):
        value = _from_text(value, name)
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    return _number(value, name)


def _from_text(text: str, name: str) -> object:
    try:
        return float(text) if text.strip().lstrip("+-").replace(".", "", 1).isdigit() else datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{ascii_line(text)} for {ascii_line(name)} is no date: write 2024-01-31, or 2024-01-31T18:00."
        ) from None


def _last(high: object, name: str, kind: str, read: Callable[[object, str], float]) -> float:
    """The upper bound: a day counts to its end."""
    whole_day = isinstance(high, str) and len(high.strip()) == len("2024-01-31") and high.count("-") == 2
    whole_day |= isinstance(high, date) and not isinstance(high, datetime)
    if kind == "time" and whole_day:
        return float(np.nextafter(read(high, name) + DAY.total_seconds(), 0))
    return read(high, name)
