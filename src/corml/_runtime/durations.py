"""Lengths of time in words: "30d", "12h", "2w"; moments as people give them; and the unit of dates in numbers."""

import re
from datetime import UTC, date, datetime, timedelta

from corml._runtime.values import is_number
from corml.errors import UsageError, ascii_line

SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}
FINER = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))  # a moment above the first is counted in this many units per second
_LENGTH = re.compile(r"(\d+(?:\.\d+)?) *(" + "|".join(SECONDS) + ")")


def seconds(length: object, name: str) -> float:
    """Seconds of a length such as "30d" or a timedelta; `name` says which option it was given as."""
    if isinstance(length, timedelta) and length > timedelta(0):
        return length.total_seconds()
    match = _LENGTH.fullmatch(length.strip()) if isinstance(length, str) else None
    if match and float(match[1]) > 0:
        return float(match[1]) * SECONDS[match[2]]
    raise UsageError(
        f"{name} must be a length of time such as '30d', '12h' or '2w' (units: {', '.join(SECONDS)}); "
        f"got {ascii_line(length)}."
    )


def moment(given: object, name: str) -> float:
    """Seconds since 1970 of a date as ISO writes it, or of a number in any unit; `name` says which option it was."""
    value = _date(given.strip()) if isinstance(given, str) else given
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if is_number(value):
        return value / per_second(value)
    raise UsageError(f"{name} must be a date such as 2024-05-31, or seconds since 1970; got {ascii_line(given)}.")


def _date(text: str) -> object:
    """What a text says: a number, a date, or neither."""
    for read in (float, datetime.fromisoformat):
        try:
            return read(text)
        except ValueError:
            continue
    return None


def per_second(typical: float) -> float:
    """How many units of some moments a second has, by one of them: seconds since 1970, unless it is too large for that.

    A moment above 10¹¹ (the year 5138) is of milliseconds, above 10¹⁴ of microseconds, 10¹⁷ of nanoseconds.
    """
    return next((units for bound, units in FINER if typical > bound), 1.0)
