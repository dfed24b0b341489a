"""Excel workbooks: one sheet, its first filled row the header, whole numbers whole. openpyxl reads them."""

import importlib.util
import io
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from corml.data._options import Notes, Options
from corml.data.cleaning._columns import LOOK, Columns
from corml.data.formats._expansion import Expansion
from corml.data.formats._frames import column
from corml.data.formats._packed import Content, check_methods
from corml.data.formats._sniff import bare, listed, looks_like_data, looks_like_header, without_header
from corml.errors import CormlError, DataError, UsageError, ascii_line, quoted

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ExcelTable"]

LAST_ROW = 1 << 20
PER_CELL = 40  # bytes, with the number in it

Row = tuple[int, list[Any]]  # its number in the sheet, and its cells


class ExcelTable:
    """A sheet of a workbook."""

    def __init__(self, content: Content, options: Options, notes: Notes, *, beside: bool = False) -> None:
        if importlib.util.find_spec("openpyxl") is None:
            raise UsageError(
                f"{content.where} is an Excel workbook, and openpyxl, which reads it, is not installed: "
                "pip install 'corml[excel]', or save the sheet as CSV."
            )
        self.where = content.where
        self._rows = _sheet(content, options, notes)
        if not self._rows:
            raise DataError(f"{self.where} has no interactions: the sheet is empty.")
        first = ["" if cell is None else str(cell) for cell in self._rows[0][1]]
        if options.header is None and looks_like_data(first) and not looks_like_header(first):
            raise without_header(self.where, first, beside=beside)
        self.named = options.header is not False
        self.names = [bare(name) or f"column {at}" for at, name in enumerate(first)]
        if self.named:
            del self._rows[0]
        else:
            self.names = [str(at) for at in range(len(first))]
        if len(set(self.names)) < len(self.names):
            raise DataError(
                f"{self.where} has two columns of one name; its columns are {listed(self.names)}: rename one."
            )

    @property
    def rows(self) -> int:
        """Filled rows."""
        return len(self._rows)

    def extra(self, columns: int) -> int:
        """Nothing: the cells are in memory."""
        return 0

    def read(self, positions: Sequence[int]) -> Columns:
        """Hand out some columns, with the numbers that Excel shows beside its rows."""
        series = [column([cells[at] if at < len(cells) else None for _, cells in self._rows]) for at in positions]
        return Columns(series, "row", lines=np.array([number for number, _ in self._rows], dtype=np.int64))

    def head(self, positions: Sequence[int]) -> "dict[int, pl.Series]":
        """The first rows of some columns."""
        rows = self._rows[:LOOK]
        return {at: column([cells[at] if at < len(cells) else None for _, cells in rows]) for at in positions}


def _sheet(content: Content, options: Options, notes: Notes) -> list[Row]:
    """Read the sheet that was named, or the first, without its empty rows."""
    import openpyxl

    try:
        with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
            check_methods(archive.infolist(), content.where)
            size = sum(info.file_size for info in archive.infolist())
        content.expansion(allowed=options.allow_expansion).check(size)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="openpyxl")  # about styles and filters that do not matter here
            workbook = openpyxl.load_workbook(io.BytesIO(content.data), read_only=True, data_only=True)
            with closing(workbook):
                sheet = workbook[_choose(workbook.sheetnames, content.where, options, notes)]
                return list(_filled(sheet, content.expansion(allowed=options.allow_expansion)))
    except CormlError:
        raise
    except Exception as fault:  # openpyxl, zipfile and the XML reader complain about damage in a dozen ways
        reason = str(fault).partition("\n")[0]
        raise DataError(f"{content.where} is not a readable Excel workbook ({reason}): save it again.") from fault


def _choose(names: Sequence[str], where: str, options: Options, notes: Notes) -> str:
    if options.sheet is None:
        if len(names) > 1:
            notes.warn(
                f"sheet: {ascii_line(names[0])} is read, the first of {len(names)}; sheet= (--sheet) chooses another"
            )
        return names[0]
    if options.sheet not in names:
        raise DataError(f"{where} has no sheet {ascii_line(options.sheet)}; its sheets are {quoted(names, 12)}.")
    return options.sheet


def _filled(sheet: Any, limit: Expansion) -> Iterator[Row]:
    """Rows with a cell as far as the first one reaches: one cell far to the right makes a row of 16,384."""
    sheet.reset_dimensions()  # some programs write wrong ones
    width, taken = None, 0
    for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
        if number > LAST_ROW:
            raise DataError(f"{limit.where} has a row beyond {LAST_ROW:,}, the last of Excel: save it again.")
        row = [_whole(cell) for cell in cells[:width]]
        if any(cell is not None for cell in row):
            width = width or len(row)
            size = sum(map(_bytes, row))
            taken += size
            limit.check_while_reading(taken, size, "Reading")
            yield number, row


def _bytes(cell: Any) -> int:
    """What a cell takes: a text that the workbook has once is written out for each of its cells."""
    return PER_CELL + (len(cell) if isinstance(cell, str) else 0)


def _whole(cell: Any) -> Any:
    """Excel knows only one kind of number: 17850.0 is 17850."""
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell
