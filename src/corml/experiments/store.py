"""Where finished cells are kept: in memory, or in a folder that a later run goes on from.

    FOLDER/study.json            what was planned: split, metrics, the primary one, entries and their cells
    FOLDER/cells/KEY.json        one finished (or failed) cell
    FOLDER/tuning/KEY.json       best settings of one model and what finding them took; KEY.journal its trials
    FOLDER/.lock                 which process works here

Files are written whole or not at all. One process works in a folder at a time, because a study is one plan and one set
of tables; the system takes its lock back however it ends, and what a killed process was at is done again.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from corml.errors import DataError, ascii_line
from corml.experiments.cell import Cell
from corml.experiments.recorded import check_cell, is_outcome
from corml.persistence import atomic

__all__ = ["MANIFEST", "Folder", "Memory", "Store"]

MANIFEST = "study.json"


class Store(Protocol):
    """What the loop asks of a place for cells."""

    def cell(self, key: str) -> Cell | None:
        """A cell that has been run, or None."""

    def keep(self, cell: Cell) -> None:
        """Keep a cell."""

    def tuning(self, key: str) -> dict[str, Any] | None:
        """The outcome of a search, or None."""

    def keep_tuning(self, key: str, outcome: dict[str, Any]) -> None:
        """Keep the outcome of a search."""

    def journal(self, key: str) -> str | None:
        """The file that keeps the trials of a search, if there is one."""


class Memory:
    """Cells of a study that nobody asked to keep."""

    def __init__(self) -> None:
        self._cells: dict[str, Cell] = {}
        self._tuning: dict[str, dict[str, Any]] = {}

    def cell(self, key: str) -> Cell | None:
        """A cell that has been run, or None."""
        return self._cells.get(key)

    def keep(self, cell: Cell) -> None:
        """Keep a cell."""
        self._cells[cell.key] = cell

    def tuning(self, key: str) -> dict[str, Any] | None:
        """The outcome of a search, or None."""
        return self._tuning.get(key)

    def keep_tuning(self, key: str, outcome: dict[str, Any]) -> None:
        """Keep the outcome of a search."""
        self._tuning[key] = outcome

    def journal(self, key: str) -> str | None:
        """None: trials are kept in memory."""
        return None


class Folder:
    """Cells in a folder."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._cells, self._tuning = self.path / "cells", self.path / "tuning"

    def create(self) -> None:
        """Make the folder, or use the one there is."""
        try:
            for folder in (self._cells, self._tuning):
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            raise DataError(
                f"Cannot make the folder {ascii_line(self.path, 200)}: {fault.strerror or fault}."
            ) from None

    def manifest(self) -> dict[str, Any] | None:
        """What was planned, or None in a new folder."""
        return self._read_json(self.path / MANIFEST)

    def keep_manifest(self, manifest: dict[str, Any]) -> None:
        """Write down what is planned."""
        atomic.replace(self.path / MANIFEST, _json(manifest))

    def cell(self, key: str) -> Cell | None:
        """A cell that has been run, or None."""
        path = self._cells / f"{key}.json"
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        cell = Cell.from_bytes(content, str(path))
        try:
            check_cell(cell)
        except TypeError:
            raise DataError(f"{ascii_line(path, 200)} is not a cell of a study: delete it, and run again.") from None
        if cell.key != key:
            raise DataError(f"{ascii_line(path, 200)} is another cell under a false name: delete it, and run again.")
        return cell

    def keep(self, cell: Cell) -> None:
        """Write a cell."""
        atomic.replace(self._cells / f"{cell.key}.json", cell.to_bytes())

    def tuning(self, key: str) -> dict[str, Any] | None:
        """The outcome of a search, or None."""
        return self._read_json(self._tuning / f"{key}.json", is_outcome)

    def keep_tuning(self, key: str, outcome: dict[str, Any]) -> None:
        """Write the outcome of a search."""
        atomic.replace(self._tuning / f"{key}.json", _json(outcome))

    def journal(self, key: str) -> str | None:
        """The file that keeps the trials of a search."""
        return str(self._tuning / f"{key}.journal")

    def _read_json(self, path: Path, holds: Callable[[Any], bool] = bool) -> dict[str, Any] | None:
        try:
            plain = json.loads(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, RecursionError):
            plain = None
        if not isinstance(plain, dict) or not holds(plain):
            raise DataError(f"{ascii_line(path, 200)} is damaged: delete it, and run again.")
        return plain


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")
