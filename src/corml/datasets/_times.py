"""Times as seconds: numbers as they are; dates as they are commonly written, or in a format that is given.

Without a format these are understood: ISO dates and times with T or a blank, fractions of seconds, an offset such as
+00, +0530 or +05:30, a final Z, UTC or GMT, 2024/01/31, and 31.01.2024, 31/01/2024 or 1/31/2024 2:05 PM if the column
itself shows whether days or months come first: some day is above 12. Without an offset, UTC is meant.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corml.datasets._columns import Check, numbers, printed
from corml.errors import DataError, UsageError, ascii_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

__all__ = ["times"]

USUAL = "%Y-%m-%d %H:%M:%S%.f"
CLOCKS = ("%H:%M:%S%.f%#z", "%H:%M:%S%.f", "%H:%M%#z", "%H:%M", "%I:%M:%S %p", "%I:%M %p")
DAY_OR_MONTH_FIRST = r"^(\d{1,2})[./-](\d{1,2})[./-](\d{4})($|[ ,T])"

PIECE = 1 << 18  # rows of dates at a time

Floats = NDArray[np.float64]


def times(series: "pl.Series", where: str, form: str | None = None, decimal: str = ".") -> tuple[Floats, Check]:
    """Read times as seconds since 1970, or as the numbers they are; `form` is how they are written, as in strptime."""
    from corml.lazy_polars import polars as pl

    unsure = np.zeros(len(series), dtype=bool)
    if series.dtype.is_temporal() and series.dtype not in (pl.Time, pl.Duration):
        moments = _seconds(series.cast(pl.Datetime("us")) if series.dtype == pl.Date else series)
    elif form is not None and (series.dtype == pl.String or series.dtype.is_integer()):
        moments = _in_format(series.cast(pl.String), form)
    elif series.dtype == pl.String:
        moments, unsure = _from_text(series, decimal)
    elif series.dtype.is_numeric():
        moments = numbers(series)
    else:
        raise DataError(f"{where}: the time column holds {series.dtype}, not times: name another as time= (--time).")

    def what(row: int) -> str:
        given = printed(series)
        shown = f"the time {ascii_line(given[row] if given[row] is not None else '')}"
        if form is not None:
            return f"{shown} is not written as {ascii_line(form)}"
        if unsure[row]:
            return f"{shown} may have its day or its month first: give time_format= (--time-format), such as %d.%m.%Y"
        return f"{shown} is no number and no ISO date: give time_format= (--time-format) if it is a date"

    return moments, Check(~np.isfinite(moments), what)


def _in_format(series: "pl.Series", form: str) -> Floats:
    from corml.lazy_polars import polars as pl

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


def _from_text(series: "pl.Series", decimal: str) -> tuple[Floats, NDArray[np.bool_]]:
    """Numbers, and in the rows that are none, dates; also which rows are dates of an order that nothing shows."""
    moments, unsure = numbers(series, decimal), np.zeros(len(series), dtype=bool)
    for rows in _missing(moments):  # the usual format first: it is fast
        moments[rows] = _seconds(series.gather(rows).str.to_datetime(USUAL, strict=False, time_unit="us"))
    pieces = _missing(moments)
    order = _order(series.gather(rows).str.strip_chars() for rows in pieces)
    for rows in pieces:
        text = series.gather(rows).str.strip_chars()
        unsure[rows] = order is None and text.str.contains(DAY_OR_MONTH_FIRST).fill_null(False).to_numpy()
        moments[rows] = _parsed(_plain(text if order is None else text.str.replace(DAY_OR_MONTH_FIRST, order)))
    return moments, unsure


def _missing(moments: Floats) -> list[NDArray[np.int64]]:
    """Rows without a moment, in pieces that take little memory."""
    left = np.flatnonzero(~np.isfinite(moments))
    return [left[start : start + PIECE] for start in range(0, len(left), PIECE)]


def _order(pieces: "Iterable[pl.Series]") -> str | None:
    """How to write 31.01.2024 as 2024-01-31, if some day is above 12 and so shows which part it is."""
    from corml.lazy_polars import polars as pl

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
    from corml.lazy_polars import polars as pl

    seconds = _seconds(text.str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us")))
    for clock in CLOCKS:
        if np.isfinite(seconds).all():
            break
        parsed = _seconds(text.str.to_datetime(f"%Y-%m-%d {clock}", strict=False, time_unit="us"))
        seconds = np.where(np.isnan(seconds), parsed, seconds)
    return seconds


def _seconds(series: "pl.Series") -> Floats:
    from corml.lazy_polars import polars as pl

    return (series.dt.epoch("us").cast(pl.Float64) / 1e6).fill_null(np.nan).to_numpy()
