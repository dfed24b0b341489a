"""What every format becomes, columns; and one column each: ids as text, ratings as numbers, times as seconds.

Each column comes with a mask of the rows that cannot be read, each row with the line it stands on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from corml.errors import DataError, ascii_line
from corml.interactions import fault_of

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Check", "Coded", "Columns", "Fault", "Table", "ids", "ratings", "texts", "times"]

FORMATS = ("%Y-%m-%d %H:%M:%S%.f%:z", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d")


@dataclass(frozen=True)
class Fault:
    """One row that cannot be used: the number of its line or row, and why."""

    number: int
    what: str


@dataclass(frozen=True)
class Columns:
    """The columns that were read; rows that do not even have all columns are listed as faults."""

    series: "list[pl.Series]"
    unit: str  # what rows are counted in: «line» of a file, «row» of a frame
    first: int = 1  # the number of the first row
    lines: NDArray[np.int64] | None = None  # the numbers of all rows, where they are not consecutive
    faults: list[Fault] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.series[0])

    def number(self, row: int) -> int:
        """Give the line or row number people would look up."""
        return self.first + row if self.lines is None else int(self.lines[row])


class Table(Protocol):
    """Something with named columns, some of which can be read."""

    @property
    def where(self) -> str:
        """What to call it in a message."""

    @property
    def names(self) -> Sequence[str]:
        """Its column names in order."""

    @property
    def named(self) -> bool:
        """Whether the names come from the data (else they are just 0, 1, 2 …)."""

    def read(self, positions: Sequence[int]) -> Columns:
        """Read the columns at these positions."""


# --- one column ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Check:
    """Rows that fail, and what is wrong with one of them."""

    bad: NDArray[np.bool_]
    what: Callable[[int], str]


@dataclass(frozen=True)
class Coded:
    """Labels in order of first appearance, and for each row the number of its label."""

    labels: list[str]
    codes: NDArray[np.int64]
    check: Check
    floats: bool = False  # the ids arrived as decimal numbers


def ids(series: "pl.Series", role: str, where: str, *, trim: bool) -> Coded:
    """Give each id of a column a number; each must be text, or have one plain text form."""
    import polars as pl

    text = texts(series, role, where)
    text = text.str.strip_chars() if trim else text
    unique = text.drop_nulls().unique(maintain_order=True)
    numbered = unique.alias("label").to_frame().with_row_index("code")
    joined = text.alias("label").to_frame().join(numbered, on="label", how="left", maintain_order="left")
    codes = joined["code"].cast(pl.Int64).fill_null(-1).to_numpy()
    labels = unique.to_list()
    faults = {code: fault for code, label in enumerate(labels) if (fault := fault_of(label))}
    bad = codes < 0
    if faults:
        bad |= np.isin(codes, list(faults))

    def what(row: int) -> str:
        return f"the {role} is {faults.get(int(codes[row]), 'an empty id')}"

    return Coded(labels, codes, Check(bad, what), series.dtype.is_float())


def ratings(series: "pl.Series", where: str, *, negative: bool) -> tuple[NDArray[np.float64], Check]:
    """Read ratings as numbers; only finite ones count, and below zero only where that is allowed."""
    import polars as pl

    if not (series.dtype == pl.String or series.dtype.is_numeric() or series.dtype == pl.Boolean):
        raise DataError(f"{where}: the rating column holds {series.dtype}, not numbers: name another as rating=.")
    numbers = _as_float(series)
    bad = ~np.isfinite(numbers)
    if not negative:
        bad |= numbers < 0

    def what(row: int) -> str:
        value = series[row]
        kind = "negative" if numbers[row] < 0 and np.isfinite(numbers[row]) else "not a finite number"
        return f"the rating {'is missing' if value is None else f'{ascii_line(value)} is {kind}'}"

    return numbers, Check(bad, what)


def times(series: "pl.Series", where: str) -> tuple[NDArray[np.float64], Check]:
    """Read times as seconds: numbers as they are, ISO dates since 1970 (UTC unless they say otherwise)."""
    import polars as pl

    if series.dtype.is_temporal() and series.dtype not in (pl.Time, pl.Duration):
        moments = _seconds(series.cast(pl.Datetime("us")) if series.dtype == pl.Date else series)
    elif series.dtype == pl.String:
        moments = _from_text(series)
    elif series.dtype.is_numeric():
        moments = _as_float(series)
    else:
        raise DataError(f"{where}: the time column holds {series.dtype}, not times: name another as time=.")

    def what(row: int) -> str:
        return f"the time {ascii_line(series[row] if series[row] is not None else '')} is no number and no ISO date"

    return moments, Check(~np.isfinite(moments), what)


def texts(series: "pl.Series", role: str, where: str) -> "pl.Series":
    """Write each id as its exact text: 2⁶⁰+1 keeps its last digit, a decimal its zeros."""
    import polars as pl

    if series.dtype.is_nested() or series.dtype == pl.Object:
        raise DataError(f"{where}: the {role} column holds {series.dtype}: one plain value per row is needed.")
    if series.dtype.is_integer() or series.dtype in (pl.String, pl.Categorical, pl.Enum):
        return series.cast(pl.String)
    if series.dtype == pl.Binary:
        try:
            return series.cast(pl.String)
        except pl.exceptions.PolarsError:
            raise DataError(f"{where}: the {role} column holds bytes that are not UTF-8 text.") from None
    return pl.Series([_word(value) for value in series.to_list()], dtype=pl.String)


def _word(value: Any) -> str | None:
    return None if value is None or value != value else str(value)


def _as_float(series: "pl.Series") -> NDArray[np.float64]:
    import polars as pl

    text = series.str.strip_chars() if series.dtype == pl.String else series
    return text.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy().copy()


def _from_text(series: "pl.Series") -> NDArray[np.float64]:
    """Numbers, and in the rows that are none, ISO dates and times."""
    moments = _as_float(series)
    left = np.flatnonzero(~np.isfinite(moments))
    if len(left):
        text = series.gather(left).str.strip_chars().str.replace("T", " ", literal=True).str.replace(r"Z$", "+00:00")
        seconds = np.full(len(left), np.nan)
        for form in FORMATS:
            parsed = _seconds(text.str.to_datetime(form, strict=False, time_unit="us"))
            seconds = np.where(np.isnan(seconds), parsed, seconds)
        moments[left] = seconds
    return moments


def _seconds(series: "pl.Series") -> NDArray[np.float64]:
    import polars as pl

    return (series.dt.epoch("us").cast(pl.Float64) / 1e6).fill_null(np.nan).to_numpy()
