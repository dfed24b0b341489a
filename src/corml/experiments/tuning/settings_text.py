"""Settings as TOML, in the form that `corml fit --settings` reads."""

import json
import os
import re
from collections.abc import Mapping

from corml.errors import SettingError, ascii_line

BARE = re.compile(r"[A-Za-z0-9_-]+")  # keys that need no quotes


def section(name: str, values: Mapping[str, object]) -> str:
    """One section, a line for each value; TOML has no word for nothing, so that is written "none"."""
    return "\n".join([f"[{name}]", *(f"{_key(key)} = {_text(value)}" for key, value in values.items())]) + "\n"


def _text(value: object) -> str:
    if value is None:
        return '"none"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | os.PathLike):
        return _quoted(os.fspath(value))
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return repr(float(value))  # of numpy too
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_key(key)} = {_text(inner)}' for key, inner in value.items())}}}"
    raise SettingError(f"{ascii_line(value)} cannot be written in a settings file.")


def _key(name: object) -> str:
    text = str(name)
    return text if BARE.fullmatch(text) else _quoted(text)


def _quoted(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:  # a file name of other bytes
        raise SettingError(
            f"{ascii_line(text)} cannot be written in a settings file, because it is not UTF-8: rename it."
        ) from None
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")  # the same escapes as TOML
