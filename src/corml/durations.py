"""Lengths of time in words: "30d", "12h", "2w"."""

import re
from datetime import timedelta

from corml.errors import UsageError, ascii_line

__all__ = ["in_units_of", "seconds"]

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


def in_units_of(length: float, latest: float) -> float:
    """Seconds in the unit of some moments: theirs are seconds since 1970, unless they are too large for that.

    A latest moment above 10¹¹ (the year 5138) is of milliseconds, above 10¹⁴ of microseconds, 10¹⁷ of nanoseconds.
    """
    return length * next((per_second for bound, per_second in FINER if latest > bound), 1.0)
