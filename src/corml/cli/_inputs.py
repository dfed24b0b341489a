"""What a command works on: data, options of loading and a split, from the command line over a settings file.

[data]                          [split]                     [model]
source = "events.csv"           how = "ratio"               name = "corml"
event = "event"                 seed = 2026                 mix = 0.8
weights = {view = 1, buy = 10}  shares = [0.8, 0.1, 0.1]    rank = "none"

Every option of `load` can stand under [data]. TOML has no word for nothing: settings that may be none are written
"none" (or "auto"), and a column that is not to be used is false. A path is meant from the folder the program runs in,
as it is on the command line.
"""

import datetime
import math
import os
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from corml import data as datasets
from corml._runtime.values import nearest
from corml.cli._options import LOADING, Given
from corml.cli._work import load, make_split, over, split_alone, split_file
from corml.data.interactions import Interactions
from corml.errors import SettingError, UsageError, ascii_line
from corml.splits import Split, is_split_file

DATA = typer.Argument(None, metavar="DATA", help="A file of interactions, the name of a data set, or a split file.")


@dataclass(frozen=True)
class Inputs:
    """The name of the data, options of loading and of the split, and the model of a settings file; any may be none."""

    source: str | None
    loading: Given
    splitting: Given
    model: str | None
    settings: Given

    @property
    def files(self) -> tuple[Any, ...]:
        """All files that are read, which must not be written."""
        return self.source, self.loading.get("titles"), self.loading.get("items"), self.splitting.get("how")

    @property
    def is_one_split_file(self) -> bool:
        """Whether a split file is all there is, without the data it was made of."""
        return not self.source and split_file(self.splitting) is not None

    def data(self) -> Interactions:
        """All pairs."""
        return load(self.source, self.loading) if self.source else split_alone(self.splitting, self.loading).whole()

    def split(self) -> Split:
        """The split of the data, or the one in the file."""
        if self.is_one_split_file:
            return split_alone(self.splitting, self.loading)
        return make_split(self.data(), self.splitting)

    def data_or_split(self) -> Interactions | Split:
        """The split if one is asked for, else all pairs."""
        return self.split() if self.splitting else self.data()


def inputs_of(
    source: str | None, settings: str | None, loading: Given, splitting: Given, *, needed: str = ""
) -> Inputs:
    """Read the settings file, and put over it what the command line says; `needed` is the error if there are no data.

    A split file given as DATA is the split, and there are no other data.
    """
    sections = read_settings(settings)
    base = sections["data"]
    recorded = base.pop("source", None)
    if source and is_split_file(source):
        base, sections["split"] = {}, {}
    given = str(source or recorded or "")
    loading, splitting = {**base, **loading}, over(sections["split"], splitting)
    if given and is_split_file(given):
        if splitting.keys() - {"targets"}:
            raise UsageError(f"{ascii_line(given, 200)} is a split already: leave out --split.")
        splitting = {**splitting, "how": given}
        if not split_file(splitting):  # it has the name of a kind of split
            splitting["how"] = os.path.join(os.curdir, given)
        given = ""
    if needed and not given and not split_file(splitting):
        raise UsageError(needed)
    model = sections["model"]
    name = str(model.pop("name", "corml")) if model else None
    return Inputs(given or None, loading, splitting, name, model)


LONGEST = 1 << 20  # bytes of a settings file
SECTIONS = ("data", "split", "model")
SETTINGS = typer.Option(
    None,
    "--settings",
    metavar="FILE",
    help="A TOML file with [data], [split] and [model]; options given here override it.",
)
SWITCHES = ("header", *(name for name, (kind, _) in LOADING.items() if kind is bool and not name.startswith("no_")))
COLUMNS = tuple(name for name, (_, option) in LOADING.items() if option.metavar == "COLUMN")


def read_settings(path: str | None) -> dict[str, dict[str, Any]]:
    """The three sections of a settings file; all empty where there is no file."""
    sections: dict[str, dict[str, Any]] = {name: {} for name in SECTIONS}
    if path is None:
        return sections
    name = ascii_line(path, 200)
    given = _parsed(path, name)
    _check_names(given, SECTIONS, f"{name} has no section")
    for section, values in given.items():
        if not isinstance(values, dict):
            raise SettingError(f"{name}: {section} must be a section, written [{section}].")
        if isinstance(values.get("now"), datetime.date):  # as TOML writes it, without quotes
            values["now"] = values["now"].isoformat()
        for key, value in values.items():
            _check_plain(value, f"{name}, [{section}]: {ascii_line(key)}")
        sections[section] = values
    data = sections["data"]
    options = ["source", *datasets.LoadOptions.__annotations__]
    _check_names(data, options, f"{name}, [data]: there is no option")
    for key, value in data.items():
        _check_kind(key, value, f"{name}, [data]: {key} must be")
    if isinstance(data.get("source"), dict):
        data["source"] = datasets.in_words(data["source"])
    return sections


def _parsed(path: str, name: str) -> dict[str, Any]:
    """Parse a file that is as short as settings are: a device has no end, and a pipe may never begin."""
    try:
        if Path(path).is_fifo():
            raise SettingError(f"The settings file {name} is a pipe: give the name of a file.")
        with Path(path).open("rb") as file:
            data = file.read(LONGEST + 1)
        if len(data) > LONGEST:
            raise SettingError(f"The settings file {name} has more than {LONGEST:,} bytes: it is something else.")
        return tomllib.loads(data.decode("utf-8"))
    except SettingError:
        raise
    except OSError as fault:
        raise SettingError(f"Cannot read the settings file {name}: {fault.strerror}.") from None
    except RecursionError:
        raise SettingError(f"The settings file {name} is nested too deeply: use sections with values.") from None
    except ValueError as fault:  # no TOML, no UTF-8, or a number of thousands of digits
        raise SettingError(f"The settings file {name} is not TOML: {fault}.") from None


def _check_names(given: Iterable[str], valid: Sequence[str], sentence: str) -> None:
    for key in given:
        if key not in valid:
            raise SettingError(f"{sentence} {ascii_line(key)}{nearest(key, valid)}")


def _check_plain(value: object, what: str) -> None:
    """Refuse what options cannot be and model files cannot keep: dates, and numbers that are not finite."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            _check_plain(inner, what)
    elif not isinstance(value, str | int | float):
        raise SettingError(f"{what}: write dates and times in quotes; got {ascii_line(value)}.")
    elif isinstance(value, float) and not math.isfinite(value):
        raise SettingError(f"{what} must be a finite number; got {ascii_line(value)}.")


def _check_kind(key: str, value: object, sentence: str) -> None:
    """Refuse a value of the wrong type where TOML has a missing or needless quote; the loader checks numbers."""
    files = value.values() if key == "source" and isinstance(value, dict) else [value]
    if key in ("source", "titles", "items") and not all(isinstance(one, str) for one in files):
        raise SettingError(f"{sentence} the name of a file, in quotes; got {ascii_line(value)}.")
    if key in SWITCHES and not isinstance(value, bool):
        raise SettingError(f"{sentence} true or false, without quotes; got {ascii_line(value)}.")
    if key in COLUMNS and value is not False and (isinstance(value, bool) or not isinstance(value, str | int)):
        raise SettingError(f"{sentence} a column's name in quotes, or its number from 0; got {ascii_line(value)}.")
