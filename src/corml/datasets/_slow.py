"""Row by row: the reader that can say on which line a table goes wrong."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from corml.datasets._table import Columns, Fault
from corml.errors import DataError

__all__ = ["Layout", "read"]

Record = tuple[int, list[str] | str]  # the line a row begins on, and its fields, or why it has none


@dataclass(frozen=True)
class Layout:
    """How the text is to be read: csv's options, fields per row, lines above the table, and whether it has a header."""

    dialect: Mapping[str, object]
    width: int
    skip: int
    header: bool
    where: str


def read(data: bytes, wanted: Sequence[int], layout: Layout) -> Columns:
    """Read some columns; rows with too few or too many fields become faults, blank lines are passed over."""
    import polars as pl

    kept: list[list[str]] = [[] for _ in wanted]
    lines: list[int] = []
    faults: list[Fault] = []
    for line, fields in islice(_records(data, layout), layout.header, None):
        if isinstance(fields, str):
            faults.append(Fault(line, fields))
        elif len(fields) != layout.width:
            faults.append(Fault(line, f"there are {len(fields)} fields where {layout.width} are expected"))
        else:
            lines.append(line)
            for column, at in zip(kept, wanted, strict=True):
                column.append(fields[at])
    series = [pl.Series(values=column, dtype=pl.String) for column in kept]
    return Columns(series, "line", lines=np.array(lines, dtype=np.int64), faults=faults)


def _records(data: bytes, layout: Layout) -> Iterator[Record]:
    with io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="") as text:
        for _ in range(layout.skip):
            next(text)
        reader = csv.reader(text, **layout.dialect)  # type: ignore[arg-type]
        while True:
            line = layout.skip + reader.line_num + 1
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error as fault:
                yield line, _complaint(fault, layout.where, line)
                continue
            if len(fields) > 1 or (fields and fields[0].strip()):
                yield line, fields


def _complaint(fault: csv.Error, where: str, line: int) -> str:
    """Say what is wrong with one row; a quote that never closes has swallowed the rest of the file and ends it all."""
    if "unexpected end of data" in str(fault) or "field limit" in str(fault):
        raise DataError(f"{where}, line {line:,}: a quote opens and never closes: close it, or double it.") from fault
    return "there is text after a closing quote"
