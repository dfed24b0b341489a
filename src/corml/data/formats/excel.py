"""Excel workbooks: one sheet, its first filled row the header, whole numbers whole. openpyxl reads them."""

import importlib.util
import io
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any, ClassVar

import numpy as np

from corml.data._options import Notes, Options
from corml.data.formats._files import File, check_methods
from corml.data.formats._frames import column
from corml.data.formats._guard import Budget
from corml.data.formats._sniff import bare, looks_like_data, looks_like_header, without_header
from corml.data.formats._table import Columns, Cut, Place, Table, cut_rows, plain_names
from corml.errors import CormlError, DataError, UsageError, ascii_line, quoted

__all__ = ["Excel"]

LAST_ROW = 1 << 20
PER_CELL = 40  # bytes, with the number in it

Row = tuple[int, list[object]]  # its number in the sheet, and its cells


class Excel(Table):
    """A sheet of a workbook."""

    SUFFIXES: ClassVar[tuple[str, ...]] = ("xlsx", "xlsm", "xls", "ods")

    def __init__(self, file: File, options: Options, notes: Notes, *, about_items: bool = False) -> None:
        self.where = file.where
        if file.kind in ("xls", "ods"):
            raise DataError(f"{self.where} is a spreadsheet of a kind corml does not read: save it as .xlsx or CSV.")
        if importlib.util.find_spec("openpyxl") is None:
            raise UsageError(
                f"{self.where} is an Excel workbook, and openpyxl, which reads it, is not installed: "
                "pip install 'corml[excel]', or save the sheet as CSV."
            )
        self._cells = _sheet(file, options, notes)
        if not self._cells:
            raise DataError(f"{self.where} has no interactions: the sheet is empty.")
        first = ["" if cell is None else str(cell) for cell in self._cells[0][1]]
        if options.header is None and looks_like_data(first) and not looks_like_header(first):
            raise without_header(self.where, first, about_items=about_items)
        self.named = options.header is not False
        if self.named:
            del self._cells[0]
            self.names = plain_names([bare(name) or f"column {at}" for at, name in enumerate(first)], self.where)
        else:
            self.names = [str(at) for at in range(len(first))]
        self.rows = len(self._cells)

    @classmethod
    def starts(cls, start: bytes) -> bool:
        """Whether bytes begin a workbook."""
        return start.startswith(b"PK\x03\x04") and b"xl/" in start

    @classmethod
    def open(cls, file: File, options: Options, notes: Notes, *, about_items: bool = False) -> Table:
        """The table in a file."""
        return cls(file, options, notes, about_items=about_items)

    def _slices(self, positions: Sequence[int], cut: Cut, skip: int) -> Iterator[Columns]:
        for start, count in cut_rows(self.rows, cut, skip):
            rows = self._cells[start : start + count]
            series = [column([cells[at] if at < len(cells) else None for _, cells in rows]) for at in positions]
            lines = np.array([number for number, _ in rows], dtype=np.int64)  # as Excel numbers its rows
            yield Columns(series, "row", [Place(self.where, len(rows), lines=lines)])


def _sheet(file: File, options: Options, notes: Notes) -> list[Row]:
    """Read the sheet that was named, or the first, without its empty rows."""
    import openpyxl

    try:
        with zipfile.ZipFile(io.BytesIO(file.data)) as archive:
            check_methods(archive.infolist(), file.where)
            file.budget.check(sum(info.file_size for info in archive.infolist()))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="openpyxl")  # about styles and filters that do not matter here
            workbook = openpyxl.load_workbook(io.BytesIO(file.data), read_only=True, data_only=True)
            with closing(workbook):
                sheet = workbook[_choose(workbook.sheetnames, file.where, options, notes)]
                return list(_filled(sheet, file.budget))
    except CormlError:
        raise
    except Exception as fault:  # openpyxl, zipfile and the XML reader complain about damage in a dozen ways
        reason = str(fault).partition("\n")[0]
        raise DataError(f"{file.where} is not a readable Excel workbook ({reason}): save it again.") from fault


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


def _filled(sheet: Any, limit: Budget) -> Iterator[Row]:
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
            limit.grow(taken, size)
            yield number, row


def _bytes(cell: object) -> int:
    """What a cell takes: a text that the workbook has once is written out for each of its cells."""
    return PER_CELL + (len(cell) if isinstance(cell, str) else 0)


def _whole(cell: object) -> object:
    """Excel knows only one kind of number: 17850.0 is 17850."""
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell
