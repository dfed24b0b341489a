"""Times as seconds: dates as they are commonly written, or in a format that is given, and numbers that are dates.

Numbers that are no dates (see `clock`), such as counters, stay as they are.

Without a format these are understood: ISO dates and times with T or a blank, fractions of seconds, an offset such as
+00, +0530 or +05:30, a final Z, UTC or GMT, 2024/01/31, and 31.01.2024, 31/01/2024 or 1/31/2024 2:05 PM if the column
itself shows whether days or months come first: some day is above 12. Without an offset, UTC is meant.

A time that cannot be read, and one that cannot be meant (see `clock`), make a bad row.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corml.data._options import Options
from corml.data.cleaning._columns import Check, Floats, numbers, printed
from corml.data.clock import DAY, Clock, date_in_digits
from corml.data.formats._table import Place
from corml.errors import DataError, UsageError, ascii_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

USUAL = "%Y-%m-%d %H:%M:%S%.f"
CLOCKS = ("%H:%M:%S%.f%#z", "%H:%M:%S%.f", "%H:%M%#z", "%H:%M", "%I:%M:%S %p", "%I:%M %p")
DAY_OR_MONTH_FIRST = r"^(\d{1,2})[./-](\d{1,2})[./-](\d{4})($|[ ,T])"

PIECE = 1 << 18  # rows of dates at a time


@dataclass(frozen=True)
class Times:
    """The times of a column, NaN where there is none: dates in seconds, and what their numbers counted in before."""

    values: Floats
    dates: bool  # whether they are written as dates
    check: Check
    unit: Clock

    @property
    def readable(self) -> float:
        """The share that can be read."""
        return float(np.isfinite(self.values).mean()) if len(self.values) else 1.0

    @property
    def remark(self) -> str:
        """What to say of numbers that were dates before somebody took out what divides them; else nothing."""
        counted = self.unit.per_second is None
        form = date_in_digits(self.values[np.isfinite(self.values)]) if counted else None
        if form is None:
            return ""
        example = f"{np.nanmax(self.values):.0f}"
        return f"times: numbers such as {example} are not read as dates; time_format={form!r} (--time-format) does so"

    @property
    def clock(self) -> Clock:
        """What the values count in."""
        return self.unit.read

    @property
    def counted(self) -> bool:
        """Whether they are a counter, and not dates some of which are missing."""
        return self.unit.per_second is None and bool((np.abs(self.values) >= DAY).any())


def plausible(
    series: "pl.Series", where: str, options: Options, unit: Clock | None = None, places: "Sequence[Place]" = ()
) -> Times:
    """Read times; those that cannot be read and those that cannot be meant fail the check.

    Of a column that is read in pieces, `unit` is what the first one showed; of one that comes from several files, each
    of the `places` has a unit of its own.
    """
    read = times(series, where, options.time_format, options.decimal, unit=unit, places=places)
    clock = read.clock
    wrong = clock.late(read.values, options.now) | clock.absent(read.values)

    def what(row: int) -> str:
        if wrong[row]:
            return clock.fault(printed(series)[row], float(read.values[row]))
        return read.check.what(row)

    return replace(read, check=Check(read.check.bad | wrong, what))


def times(
    series: "pl.Series",
    where: str,
    form: str | None = None,
    decimal: str = ".",
    *,
    unit: Clock | None = None,
    places: "Sequence[Place]" = (),
) -> Times:
    """Read times as seconds since 1970, or as the numbers they are; `form` is how they are written, as in strptime."""
    from corml._runtime.lazy_polars import polars as pl

    unsure = counted = np.zeros(len(series), dtype=bool)
    if series.dtype.is_temporal() and series.dtype not in (pl.Time, pl.Duration):
        moments = _seconds(series.cast(pl.Datetime("us")) if series.dtype == pl.Date else series)
    elif form is not None and (series.dtype == pl.String or series.dtype.is_integer()):
        moments = _in_format(series.cast(pl.String), form)
    elif series.dtype == pl.String:
        moments, unsure, counted = _from_text(series, decimal)
    elif series.dtype.is_numeric():
        moments = numbers(series)
        counted = np.isfinite(moments)
    else:
        raise DataError(
            f"{where}: the time column holds {series.dtype}, not times: name another as time= (--time), "
            "or do without times with time=False (--no-time)."
        )

    def what(row: int) -> str:
        value = printed(series)[row]
        if value is None or value == "":
            return "the time is missing"
        shown = f"the time {ascii_line(value)}"
        if form is not None:
            return f"{shown} is not written as {ascii_line(form)}"
        if unsure[row]:
            return f"{shown} may have its day or its month first: give time_format= (--time-format), such as %d.%m.%Y"
        return f"{shown} is no number and no ISO date: give time_format= (--time-format) if it is a date"

    check = Check(~np.isfinite(moments), what)
    dates, parts, start = _mostly_dates(moments, counted), [], 0
    for name, rows in _files(places) or [(where, len(moments))]:
        here, start = slice(start, start + rows), start + rows
        own = _to_seconds(moments[here], counted[here], unit)
        parts.append((name, Times(moments[here], dates, check, own)))
    require_alike(parts)
    return Times(moments, dates, check, next((part.unit for _, part in parts if part.unit.per_second), Clock()))


def _files(places: "Sequence[Place]") -> list[tuple[str, int]]:
    """The files that rows come from, each with its rows: the numbers of each have a unit of their own."""
    rows: dict[tuple[int, str], int] = {}
    for place in places:
        rows[place.file, place.where] = rows.get((place.file, place.where), 0) + place.rows
    return [(where, count) for (_, where), count in rows.items()]


def require_alike(parts: "Sequence[tuple[str, Times]]") -> None:
    """Refuse counters mixed with dates: they have no common scale."""
    counters = [(name, part) for name, part in parts if part.counted]
    dated = [name for name, part in parts if part.unit.per_second is not None]
    if counters and dated:
        name, part = counters[0]
        raise DataError(
            f"The times of {name} are numbers that are no dates, such as {np.nanmax(part.values):.17g}, and those of "
            f"{dated[0]} are dates: write them alike, or do without times with time=False (--no-time)."
        )


def _to_seconds(moments: Floats, counted: NDArray[np.bool_], unit: Clock | None) -> Clock:
    """Bring those of some times that are numbers to seconds, in place, if they are dates; what they all count in."""
    numbers = moments if counted.all() else moments[counted]
    if unit is None:
        unit = Clock() if date_in_digits(numbers) else Clock.of(numbers)
    if unit.per_second not in (None, 1.0):
        moments[counted] = unit.seconds(numbers)
    return Clock(1.0) if unit.per_second is None and _mostly_dates(moments, counted) else unit


def _mostly_dates(moments: Floats, counted: NDArray[np.bool_]) -> bool:
    """Whether more times are written as dates than as numbers."""
    return int(np.isfinite(moments).sum()) > 2 * int(counted.sum())


def _in_format(series: "pl.Series", form: str) -> Floats:
    from corml._runtime.lazy_polars import polars as pl

    text = series.str.strip_chars()
    try:
        if not any(code in form for code in ("%H", "%I", "%T", "%R", "%X", "%s", "%c", "%r", "%k", "%l")):
            return _seconds(text.str.to_date(form, strict=False).cast(pl.Datetime("us")))
        return _seconds(text.str.to_datetime(form, strict=False, time_unit="us"))
    except pl.exceptions.PolarsError as fault:
        reason = str(fault).partition("\n")[0]
        raise UsageError(
            f"time_format= (--time-format) {ascii_line(form)} is no format of times ({reason}): "
            "write it like %d.%m.%Y %H:%M."
        ) from fault


def _from_text(series: "pl.Series", decimal: str) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_]]:
    """Numbers, and in the rows that are none, dates.

    Also which rows are dates of an order that nothing shows, and which are numbers.
    """
    moments, unsure = numbers(series, decimal), np.zeros(len(series), dtype=bool)
    counted = np.isfinite(moments)
    for rows in _missing(moments):  # the usual format first: it is fast
        moments[rows] = _seconds(series.gather(rows).str.to_datetime(USUAL, strict=False, time_unit="us"))
    pieces = _missing(moments)
    order = _order(series.gather(rows).str.strip_chars() for rows in pieces)
    for rows in pieces:
        text = series.gather(rows).str.strip_chars()
        unsure[rows] = order is None and text.str.contains(DAY_OR_MONTH_FIRST).fill_null(False).to_numpy()
        moments[rows] = _parsed(_plain(text if order is None else text.str.replace(DAY_OR_MONTH_FIRST, order)))
    return moments, unsure, counted


def _missing(moments: Floats) -> list[NDArray[np.int64]]:
    """Rows without a moment, in pieces that take little memory."""
    left = np.flatnonzero(~np.isfinite(moments))
    return [left[start : start + PIECE] for start in range(0, len(left), PIECE)]


def _order(pieces: "Iterable[pl.Series]") -> str | None:
    """How to write 31.01.2024 as 2024-01-31, if some day is above 12 and so shows which part it is."""
    from corml._runtime.lazy_polars import polars as pl

    above = [False, False]
    for text in pieces:
        for at in (0, 1):
            part = text.str.extract(DAY_OR_MONTH_FIRST, at + 1).cast(pl.Int32)
            above[at] |= bool((part > 12).any())
    return {(True, False): "${3}-${2}-${1}${4}", (False, True): "${3}-${1}-${2}${4}"}.get((above[0], above[1]))


def _plain(text: "pl.Series") -> "pl.Series":
    """Bring the variants of ISO to one: blanks for T, hyphens in the date, offsets without a word or a blank."""
    text = text.str.replace(r"^(\d{4})[/.](\d{1,2})[/.](\d{1,2})", "${1}-${2}-${3}")
    text = text.str.replace(r"^(\d{4}-\d{1,2}-\d{1,2})(?:T|, ?| +)", "${1} ")
    text = text.str.replace(r"(?: ?Z| ?UTC| ?GMT)$", "").str.replace(r" ([+-]\d{2}:?\d{0,2})$", "${1}")
    return text.str.replace(r"(\d)([AaPp][Mm])$", "${1} ${2}")


def _parsed(text: "pl.Series") -> Floats:
    from corml._runtime.lazy_polars import polars as pl

    seconds = _seconds(text.str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us")))
    for clock in CLOCKS:
        if np.isfinite(seconds).all():
            break
        parsed = _seconds(text.str.to_datetime(f"%Y-%m-%d {clock}", strict=False, time_unit="us"))
        seconds = np.where(np.isnan(seconds), parsed, seconds)
    return seconds


def _seconds(series: "pl.Series") -> Floats:
    from corml._runtime.lazy_polars import polars as pl

    return (series.dt.epoch("us").cast(pl.Float64) / 1e6).fill_null(np.nan).to_numpy()
