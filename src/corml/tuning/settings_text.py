"""Settings as TOML, in the form that `corml fit --settings` reads."""

import json
from collections.abc import Mapping
from typing import Any

from corml.errors import SettingError, ascii_line

__all__ = ["section"]


def section(name: str, values: Mapping[str, Any]) -> str:
    """One section, a line for each value; TOML has no word for nothing, so that is written "none"."""
    return "\n".join([f"[{name}]", *(f"{key} = {_text(value)}" for key, value in values.items())]) + "\n"


def _text(value: Any) -> str:
    if value is None:
        return '"none"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # the same escapes as TOML
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_text, value))}]"
    raise SettingError(f"{ascii_line(value)} cannot be written in a settings file.")
