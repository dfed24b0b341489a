"""What times count in, and which can be meant: none later than now, none on a day that stands for a missing time.

Numbers of which nine in ten are dates since 1973, in seconds, milli-, micro- or nanoseconds, become seconds once, where
they are read: from there on dates of all sources are alike. Other numbers, such as counters, are a clock of their own.
"""

import time
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime import durations
from corml.errors import ascii_line

DAY = 86_400  # seconds
EPOCH = date(1970, 1, 1)
NO_TIME = (  # what .NET, Windows, spreadsheets, databases and Unix (with 0 or -1) have for a missing time
    *(date(1, 1, 1), date(1601, 1, 1), date(1753, 1, 1)),
    *(date(1899, 12, 30), date(1899, 12, 31), date(1900, 1, 1), EPOCH - timedelta(days=1), EPOCH),
)
FIRST = 1e8  # seconds since 1970 from which numbers are dates: March 1973
TYPICAL = 0.1  # the share of times that may be before it, as counters are at first

DIGITS = 1e11  # from here on, a date in digits has hours and minutes as well

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Clock:
    """What the times of a column count in: units of a second since 1970, or nothing that a calendar knows (None)."""

    per_second: float | None = None

    @classmethod
    def of(cls, times: Floats, *, dates: bool = False) -> "Clock":
        """The clock of some times; `dates` are in seconds, whatever they say."""
        if dates:
            return cls(1.0)
        known = times[np.isfinite(times) & (np.abs(times) >= DAY)]
        if not len(known):
            return cls()
        typical = float(np.quantile(known, TYPICAL, method="lower"))
        unit = durations.per_second(typical)
        return cls(unit if typical / unit >= FIRST else None)

    def seconds(self, times: Floats) -> Floats:
        """Dates in this unit as seconds, to the microsecond; counters as they are."""
        if self.per_second in (None, 1.0):
            return times
        return np.asarray(np.rint(times * (1e6 / float(self.per_second or 1))) / 1e6, dtype=np.float64)

    @property
    def read(self) -> "Clock":
        """What the same times count in once they were read."""
        return Clock(None if self.per_second is None else 1.0)

    def late(self, times: Floats, now: Any = None) -> Mask:
        """Which times are more than a day later than now, or than the time given for it."""
        if self.per_second is None:
            return np.zeros(len(times), dtype=bool)
        moment = time.time() if now is None else durations.moment(now, "now= (--now)")
        return np.asarray(times > (moment + DAY) * self.per_second)

    def absent(self, times: Floats) -> Mask:
        """Which times are on a day that stands for none."""
        if self.per_second is None:
            return np.zeros(len(times), dtype=bool)
        days = np.floor(times / (DAY * self.per_second))
        return np.isin(days, [(day - EPOCH).days for day in NO_TIME])

    def shown(self, moment: float) -> str:
        """A time as a date, where it is one, else the number."""
        if self.per_second is None:
            return f"{moment:.17g}"
        try:
            written = datetime.fromtimestamp(0, UTC) + timedelta(seconds=moment / self.per_second)
        except OverflowError:  # no calendar has it
            return f"{moment:.17g}"
        return written.isoformat(timespec="seconds")

    def fault(self, given: object, moment: float, now: Any = None) -> str:
        """What is wrong with a time that cannot be meant."""
        if self.absent(np.array([moment]))[0]:
            return (
                f"the time {ascii_line(given)} is on {self.shown(moment)[:10]}, which programs write for a missing time"
            )
        return (
            f"the time {ascii_line(given)}, {self.shown(moment)}, is later than now; if that is right, give "
            "now= (--now); if it is a date written otherwise, time_format= (--time-format)"
        )


def date_in_digits(times: Floats) -> str | None:
    """How dates such as 20240131 or 202401311200 are written, if all numbers are such dates; else None."""
    if not len(times) or (times % 1).any():
        return None
    if (times >= DIGITS).all():
        clock, days, form = times % 10_000, times // 10_000, "%Y%m%d%H%M"
    else:
        clock, days, form = np.zeros(1), times, "%Y%m%d"
    month, day = days // 100 % 100, days % 100
    fits = (days >= 19_700_101) & (days <= 21_001_231) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    return form if fits.all() and ((clock // 100 < 24) & (clock % 100 < 60)).all() else None
