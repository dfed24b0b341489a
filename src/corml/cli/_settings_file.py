"""A settings file: everything a fit needs, in TOML; a key nobody knows is an error, never ignored.

[data]                      [split]                 [model]
source = "ratings.csv"      how = "ratio"           name = "corml"
rating = "rating"           seed = 2026             mix = 0.8
at_least = 4
"""

import inspect
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from corml.errors import SettingError, ascii_line
from corml.settings import nearest

__all__ = ["read_settings"]

SECTIONS = ("data", "split", "model")


def read_settings(path: str | None) -> dict[str, dict[str, Any]]:
    """The three sections of a settings file; all empty where there is no file."""
    found: dict[str, dict[str, Any]] = {name: {} for name in SECTIONS}
    if path is None:
        return found
    name = ascii_line(path, 200)
    try:
        given = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as fault:
        raise SettingError(f"Cannot read the settings file {name}: {fault.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        raise SettingError(f"The settings file {name} is not TOML: {fault}.") from None
    _known(given, SECTIONS, f"{name} has no section")
    for section, values in given.items():
        if not isinstance(values, dict):
            raise SettingError(f"{name}: {section} must be a section, written [{section}].")
        found[section] = values
    _known(found["data"], _loading_keys(), f"{name}, [data]: there is no option")
    return found


def _known(given: Iterable[str], valid: Iterable[str], sentence: str) -> None:
    names = list(valid)
    for key in given:
        if key not in names:
            raise SettingError(f"{sentence} {ascii_line(key)}{nearest(key, names)}.")


def _loading_keys() -> list[str]:
    from corml.datasets import load

    return [name for name in inspect.signature(load).parameters if name != "notify"]
