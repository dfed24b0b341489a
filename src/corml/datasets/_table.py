"""What every format becomes: named columns, and for each row the place where it stands."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Columns", "Fault", "Table"]


@dataclass(frozen=True)
class Fault:
    """One row that cannot be used: the number of its line or row, and why."""

    number: int
    what: str


@dataclass(frozen=True)
class Columns:
    """The columns that were asked for; rows that do not even have all columns are listed as faults."""

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

    def read(self, wanted: Sequence[int]) -> Columns:
        """Read the columns at these positions."""
