"""The options of `load`, checked once, and the notes it makes on the way."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from typing import Any, Literal

import numpy as np

from corml._runtime import durations
from corml._runtime.log import log
from corml._runtime.values import is_number
from corml.errors import UsageError, ascii_line, warn

__all__ = ["Column", "Notes", "Options"]

Column = str | int | Literal[False] | None  # a name, a position from 0, False for «do not use», None for «find it»


@dataclass(frozen=True)
class Options:
    """The options of `load`, as its documentation explains them."""

    user: Column = None
    item: Column = None
    rating: Column = None
    time: Column = None
    at_least: float | None = None
    k_core: int = 0
    min_user: int = 0
    min_item: int = 0
    titles: Any = None
    separator: str | None = None
    header: bool | None = None
    trim: bool = False
    skip_bad_rows: bool = False
    allow_expansion: bool = False
    encoding: str | None = None
    decimal: str = "."
    time_format: str | None = None
    null_ids: str | None = None
    max_bad_rows: float | None = None
    item_lists: bool = False
    sheet: str | None = None
    query: str | None = None
    weight: str | int | None = None
    transform: str | None = None
    event: str | int | None = None
    weights: Mapping[str, float] | None = None
    negative: tuple[str, ...] | None = None
    half_life: str | None = None
    rating_strength: bool = False
    low_ratings: str | None = None
    items: Any = None
    now: Any = None

    def __post_init__(self) -> None:
        for name in ("k_core", "min_user", "min_item"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise UsageError(f"{_both(name)} must be a whole number of 0 or more; got {ascii_line(value)}.")
        if self.at_least is not None and not is_number(self.at_least):
            raise UsageError(f"{_both('at_least')} must be a finite number; got {ascii_line(self.at_least)}.")
        if self.separator is not None and not _separates(self.separator):
            shown = ascii_line(self.separator)
            raise UsageError(
                f"{_both('separator')} must be one or more characters, not a quote or a line end; got {shown}."
            )
        for name in ("user", "item", "rating", "time", "weight", "event"):
            column = getattr(self, name)
            if not (column is None or isinstance(column, str | int | np.integer)):
                raise UsageError(
                    f"{_both(name)} must be the name of a column, or its number; got {ascii_line(column)}."
                )
        if self.user is False or self.item is False:
            raise UsageError("user and item are needed: give a column, or None to find it by its name.")
        self._check_reading()

    def _check_reading(self) -> None:
        if self.encoding is not None and not _decodes(self.encoding):
            raise UsageError(
                f"{_both('encoding')} {ascii_line(self.encoding)} is not known: write it like utf-8, cp1252 or latin-1."
            )
        if self.decimal not in (".", ","):
            raise UsageError(f"{_both('decimal')} must be '.' or ','; got {ascii_line(self.decimal)}.")
        if self.time_format is not None and "%" not in str(self.time_format):
            shown = ascii_line(self.time_format)
            raise UsageError(f"{_both('time_format')} must be a pattern such as '%d.%m.%Y %H:%M'; got {shown}.")
        if self.now is not None:
            durations.moment(self.now, _both("now"))
        if self.null_ids not in (None, "drop", "keep"):
            raise UsageError(f"{_both('null_ids')} must be 'drop' or 'keep'; got {ascii_line(self.null_ids)}.")
        if self.max_bad_rows is not None and not (is_number(self.max_bad_rows) and 0 <= self.max_bad_rows <= 1):
            shown = ascii_line(self.max_bad_rows)
            raise UsageError(f"{_both('max_bad_rows')} must be a share from 0 to 1; got {shown}.")

    def given(self) -> dict[str, Any]:
        """List the options that differ from their defaults, ready for JSON."""
        chosen = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not f.default}
        chosen |= {name: _describe(chosen[name]) for name in ("titles", "items") if name in chosen}
        chosen |= {"now": chosen["now"].isoformat()} if isinstance(chosen.get("now"), date) else {}
        return chosen


@dataclass
class Notes:
    """One-line notes and warnings: kept with the data, and passed on as they are made."""

    notify: Callable[[str], object] | None = None
    lines: list[str] = field(default_factory=list)
    warned: set[str] = field(default_factory=set)  # those of the lines that are warnings
    warner: Callable[[str], object] = warn

    def add(self, line: str) -> None:
        """Keep a remark and pass it on."""
        self.lines.append(line)
        log.info("load: %s", line)
        if self.notify is not None:
            self.notify(line)

    def warn(self, line: str) -> None:
        """Keep a line about input that was dropped, ignored or reinterpreted, and warn of it."""
        self.lines.append(line)
        self.warned.add(line)
        self.warner(line)


def _both(name: str) -> str:
    """Name an option as Python writes it, and as the command line does, which shows only that."""
    return f"{name}= (--{name.replace('_', '-')})"


def _decodes(encoding: object) -> bool:
    try:
        return isinstance(encoding, str) and bool(b"ab".decode(encoding))
    except UnicodeError:  # it exists, and two letters are not text in it
        return True
    except (LookupError, ValueError):
        return False


def _separates(text: object) -> bool:
    return isinstance(text, str) and bool(text) and not set(text) & set('"\r\n\0')


def _describe(table: Any) -> str:
    if isinstance(table, str | os.PathLike):
        return os.fspath(table)
    return "mapping" if isinstance(table, Mapping) else "frame"
