"""One column each: ids as numbered text, ratings as numbers (for times see `_times`), with the rows that are bad."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corml.data.ids import LONGEST_ID, fault_of
from corml.data.labels import Labels, of_series
from corml.errors import DataError, ascii_line

if TYPE_CHECKING:
    import polars as pl

UUID_BYTES = 16
DAY = 86_400  # seconds
PER_SECOND = {"ms": 10**3, "us": 10**6, "ns": 10**9}
CALENDAR = (-62_135_596_800, 253_402_300_799)  # seconds since 1970 that Python has a date for
LONGEST = 999_999_999 * DAY
NULL = "null"  # the id of rows without one, where they are kept
NOTHING = ("", "null", "none", "nan", "na", "n/a", "nil", "<na>", r"\n", "undefined")  # as programs write a missing id

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Check:
    """Rows that fail, and what is wrong with one of them."""

    bad: NDArray[np.bool_]
    what: Callable[[int], str]


@dataclass(frozen=True)
class Coded:
    """Labels in order of first appearance, and for each row the number of its label."""

    labels: Labels
    codes: NDArray[np.int64]
    check: Check
    remark: str = ""  # what was made of decimal numbers among them
    dropped: NDArray[np.bool_] | None = None  # rows to leave out because they have no id, with null_ids="drop"


def ids(series: "pl.Series", role: str, where: str, *, trim: bool, null_ids: str | None = None) -> Coded:
    """Give each id of a column a number; each must be text, or have one plain text form."""
    from corml._runtime.lazy_polars import polars as pl

    whole = series.dtype.is_integer() and null_ids is None  # then only the distinct numbers become text
    text = series if whole else texts(series, role, where)
    text = text.str.strip_chars() if trim and not whole else text
    dropped = None
    if null_ids == "keep":
        text = pl.select(pl.when(text.str.strip_chars() == "").then(None).otherwise(text)).to_series().fill_null(NULL)
    elif null_ids == "drop":
        dropped = text.str.strip_chars().str.to_lowercase().is_in(NOTHING).fill_null(True).to_numpy()
    unique = text.drop_nulls().unique(maintain_order=True)
    numbered = unique.alias("label").to_frame().with_row_index("code")
    matched = text.alias("label").to_frame().join(numbered, on="label", how="left", maintain_order="left")
    codes = matched["code"].cast(pl.Int64).fill_null(-1).to_numpy()
    labels = of_series(unique.cast(pl.String))
    odd = pl.Series([], dtype=pl.UInt32)
    if not whole:  # too long, or not beginning with a printable ASCII character, as blanks do not
        odd = ((unique.str.len_bytes() > LONGEST_ID) | ~unique.str.contains("^[!-~]")).arg_true()
    faults = {code: fault for code in odd.to_list() if (fault := fault_of(unique[code]))}
    bad = codes < 0
    if faults:
        bad |= np.isin(codes, list(faults))
    if dropped is not None:
        bad &= ~dropped

    def what(row: int) -> str:
        fault = faults.get(int(codes[row]), "an empty id")
        advice = "; null_ids='drop' (--null-ids drop) leaves such rows out" if fault == "an empty id" else ""
        return f"the {role} is {fault}{advice}"

    return Coded(labels, codes, Check(bad, what), _remark_on_decimals(series, role), dropped)


def _remark_on_decimals(series: "pl.Series", role: str) -> str:
    """What is made of ids that are decimal numbers, as whole ones become in a column with gaps; else nothing."""
    from corml._runtime.lazy_polars import polars as pl

    if not series.dtype.is_float():
        return ""
    numbers = series.cast(pl.Float64)
    whole = numbers.filter((numbers == numbers.floor()) & numbers.is_finite())
    if not len(whole):
        return ""
    lost = "; above 2^53 such numbers have lost digits" if (whole.abs() > 2**53).any() else ""
    example = f"{whole[0]} as {word(whole[0])}"
    return f"{role} ids: decimal numbers that are whole are read without .0 ({example}; rows: {len(whole):,}){lost}"


def ratings(
    series: "pl.Series", where: str, *, negative: bool, decimal: str = ".", noun: str = "rating"
) -> tuple[Floats, Check]:
    """Read ratings or weights as numbers; only finite ones count, and below zero only where that is allowed."""
    from corml._runtime.lazy_polars import polars as pl

    if not (series.dtype == pl.String or series.dtype.is_numeric() or series.dtype == pl.Boolean):
        raise DataError(
            f"{where}: the rating column holds {series.dtype}, not numbers: name another as rating= (--rating)."
        )
    values = numbers(series, decimal)
    bad = ~np.isfinite(values)
    if not negative:
        bad |= values < 0

    def what(row: int) -> str:
        value = series[row]
        if value is None:
            return f"the {noun} is missing"
        if values[row] < 0 and np.isfinite(values[row]):
            return f"the {noun} {ascii_line(value)} is negative; at_least= (--at-least) leaves out what is below it"
        comma = re.fullmatch(r"\s*[+-]?[\d.]*,\d+\s*", str(value)) and decimal == "."
        advice = "; decimal=',' (--decimal ,) reads it" if comma else ""
        return f"the {noun} {ascii_line(value)} is not a finite number{advice}"

    return values, Check(bad, what)


def texts(series: "pl.Series", role: str, where: str) -> "pl.Series":
    """Write each id as its exact text: 2⁶⁰+1 keeps its last digit, a decimal its zeros. Of floats 7.0 is 7."""
    from corml._runtime.lazy_polars import polars as pl

    if series.dtype.is_nested():
        raise DataError(f"{where}: the {role} column holds {series.dtype}: one plain value per row is needed.")
    if series.dtype.is_integer() or series.dtype.is_decimal() or series.dtype in (pl.String, pl.Categorical, pl.Enum):
        return series.cast(pl.String)
    if series.dtype == pl.Binary:
        return _bytes_as_text(series, role, where)
    check_calendar(series, role, where)
    if series.dtype.is_float():
        numbers = series.cast(pl.Float64).fill_nan(None)
        whole = numbers.cast(pl.Int64, strict=False)
        if whole.cast(pl.Float64).eq_missing(numbers).all():
            return whole.cast(pl.String)
    values = series.to_list()
    if series.dtype == pl.Object and any(isinstance(value, list | dict | set | tuple) for value in values):
        raise DataError(f"{where}: the {role} column holds lists or records: one plain value per row is needed.")
    return pl.Series([word(value) for value in values], dtype=pl.String)


def check_calendar(series: "pl.Series", role: str, where: str) -> None:
    """Refuse moments outside of Python's calendar before they are converted: Polars would panic."""
    from corml._runtime.lazy_polars import polars as pl

    if series.dtype in (pl.Date, pl.Datetime, pl.Duration):
        unit = 1 / DAY if series.dtype == pl.Date else PER_SECOND[series.dtype.time_unit]  # type: ignore[attr-defined]
        seconds = series.to_physical().cast(pl.Float64) / unit
        first, last = (-LONGEST, LONGEST) if series.dtype == pl.Duration else CALENDAR
        if not seconds.is_between(first, last).fill_null(True).all():
            raise DataError(f"{where}: the {ascii_line(role)} column holds a moment outside of the years 1 to 9999.")


def printed(series: "pl.Series") -> "pl.Series":
    """What is shown of values: of moments the number, as no calendar has a day for each."""
    return series.to_physical() if series.dtype.is_temporal() else series


def numbers(series: "pl.Series", decimal: str = ".") -> Floats:
    """Read numbers, NaN where there is none; with a decimal comma, points between three digits group thousands."""
    from corml._runtime.lazy_polars import polars as pl

    if series.dtype == pl.String:
        series = series.str.strip_chars()
        if decimal == ",":
            grouped = series.str.contains(r"^[+-]?\d{1,3}(\.\d{3})+(,\d*)?$").fill_null(False)
            plain = pl.select(
                pl.when(grouped).then(series.str.replace_all(".", "", literal=True)).otherwise(series)
            ).to_series()
            series = plain.str.replace(",", ".", literal=True)
    return series.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy().copy()


def _bytes_as_text(series: "pl.Series", role: str, where: str) -> "pl.Series":
    """Read bytes as UTF-8 text; sixteen in every row that are no text are UUIDs, as Parquet stores them."""
    from corml._runtime.lazy_polars import polars as pl

    try:
        return series.cast(pl.String)
    except pl.exceptions.PolarsError:
        pass
    if not (series.drop_nulls().bin.size() == UUID_BYTES).all():
        raise DataError(f"{where}: the {role} column holds bytes that are not UTF-8 text.")
    return series.bin.encode("hex").str.replace(r"^(.{8})(.{4})(.{4})(.{4})(.{12})$", "$1-$2-$3-$4-$5")


def word(value: object) -> str | None:
    """A value as text; a decimal number that is whole, without its .0."""
    if value is None or value != value:
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
