"""Everything corml raises on purpose.

    CormlError                     exit
    ├── UsageError                    2   an option, argument or setting is wrong
    │   ├── SettingError              2   a hyper-parameter is unknown or out of range
    │   ├── NotFittedError            2   a model was used before `fit`
    │   └── ForkedError               2   data are read or written in a fork of a process that used Polars
    ├── DataError                     3   an interaction file, frame or split is wrong
    │   └── UnknownIdError            3   a user or item that was not in the training data
    ├── ResourceError                 4   refused before allocating: it would not fit in memory
    ├── NumericalError                4   a stage produced something that is not finite
    ├── ModelFileError                5   a model file that must not be trusted
    └── StudyError                    6   a part of a study failed; the rest of it is finished
    ConvergenceWarning                    a solver stopped before its tolerance
    DataWarning                           rows, times, columns or ids were dropped, ignored or reinterpreted
    LeakageWarning                        a model is evaluated on pairs it was fitted on
    WeightsWarning                        a model can only count weighted interactions

Each message says what, where and what to do, in one line: the command line prints it as it is.
"""

import json
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

__all__ = [
    "ConvergenceWarning",
    "CormlError",
    "DataError",
    "DataWarning",
    "ForkedError",
    "LeakageWarning",
    "ModelFileError",
    "NotFittedError",
    "NumericalError",
    "ResourceError",
    "SettingError",
    "StudyError",
    "UnknownIdError",
    "UsageError",
    "WeightsWarning",
    "warn",
]

INTERRUPTED = 75  # exit code: stopped by Ctrl-C or SIGTERM, nothing written, run it again
_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_PERHAPS_ODD = re.compile("[^\n -~]")


class CormlError(Exception):
    """The root: catch this to catch everything corml raises on purpose."""

    code = "corml"
    exit_code = 1

    def __str__(self) -> str:
        return printable(" ".join(super().__str__().splitlines()))  # a traceback is shown on a terminal too


class UsageError(CormlError, ValueError):
    """An option or argument that cannot be meant."""

    code = "usage"
    exit_code = 2


class SettingError(UsageError):
    """A hyper-parameter that does not exist, or a value outside its range."""

    code = "setting"


class NotFittedError(UsageError):
    """A model was used before it was fitted."""

    def __init__(self, model: str) -> None:
        super().__init__(f"This {model} has not been fitted: call fit(train) first, or read_model(path).")


class ForkedError(UsageError):
    """Data are read or written in a process that was forked from one that used Polars: it would wait without end."""

    code = "fork"


class DataError(CormlError, ValueError):
    """Interactions that cannot be read, or that say nothing."""

    code = "data"
    exit_code = 3


class UnknownIdError(DataError, LookupError):
    """A user or item label that was not in the training data."""

    def __init__(self, kind: str, missing: Sequence[str], known: int, *, advice: str = "") -> None:
        self.kind, self.missing = kind, tuple(missing)
        remedy = advice or "Check the spelling (ids are text: '7', '07' and '7.0' differ), or refit with them."
        ids = "id is" if len(missing) == 1 else "ids are"
        super().__init__(f"{len(missing):,} {kind} {ids} not among the {known:,} known: {quoted(missing)}. {remedy}")


class ResourceError(CormlError, MemoryError):
    """Work refused before allocating, because it would not fit."""

    code = "memory"
    exit_code = 4


class NumericalError(CormlError, ArithmeticError):
    """A stage of a fit produced something that is not a finite number."""

    code = "numerical"
    exit_code = 4


class ModelFileError(CormlError, ValueError):
    """A model file that is damaged, foreign, or newer than this program."""

    code = "model"
    exit_code = 5


class StudyError(CormlError):
    """A part of a study failed; everything else is finished and kept."""

    code = "study"
    exit_code = 6


class ConvergenceWarning(UserWarning):
    """A solver stopped before reaching its tolerance; its answer is usable but not optimal."""


class DataWarning(UserWarning):
    """Rows, times, columns or ids of the input were dropped, ignored or reinterpreted."""


class LeakageWarning(UserWarning):
    """A model is evaluated on pairs it was fitted on: its figures are better than they would be on new data."""


class WeightsWarning(UserWarning):
    """A model was fitted on weighted interactions that it can only count."""


def warn(text: str, category: type[Warning] = DataWarning) -> None:
    """Warn, and name the line outside this package that led here."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def quoted(values: Sequence[object], shown: int = 3) -> str:
    """Show the first few values on one line, escaped, so that data cannot forge a line of output."""
    return ", ".join(ascii_line(value) for value in values[:shown]) + (", …" if len(values) > shown else "")


def ascii_line(value: object, longest: int = 60) -> str:
    """Quote one value with control characters escaped and its length bounded."""
    try:
        text = str(value)
    except ValueError:  # a whole number of thousands of digits
        text = f"a {type(value).__name__} too long to print"
    clipped = text if len(text) <= longest else text[: longest - 1] + "…"
    return f"'{printable(clipped)}'"


def printable(text: object) -> str:
    """Escape what does not print: data must not be able to move the cursor or forge a line."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def printable_json(text: str) -> str:
    """The same for JSON in lines, by escapes of its own: it reads back as it was."""
    return _PERHAPS_ODD.sub(lambda found: found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1], text)


@contextmanager
def as_utf8() -> Iterator[None]:
    """Say in a sentence that half of a character, which a text of Python may have, fits in no table and no file."""
    try:
        yield
    except UnicodeEncodeError as fault:
        half = ascii_line(fault.object[fault.start : fault.end])
        raise DataError(
            f"An id or title is not text that can be written as UTF-8: it has half of a character, {half}. Rename it."
        ) from None
