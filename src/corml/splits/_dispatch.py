"""From the name of a split to the file that makes it."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from corml import plugins
from corml.errors import SettingError, UsageError, ascii_line
from corml.interactions import Interactions
from corml.settings import nearest
from corml.splits._split import Split

__all__ = ["options_of", "split"]


def split(data: Interactions, how: str = "ratio", **options: Any) -> Split:
    """Divide interactions into train, valid and test.

    `how` names a file of this room (dashes and underscores are the same); `options` are that split's own.
    """
    if not isinstance(data, Interactions):
        raise UsageError(f"Only Interactions can be split, not {type(data).__name__}: read it with corml.load first.")
    if not isinstance(how, str):
        raise UsageError(f"The kind of split must be a name such as 'ratio', not {ascii_line(how)}.")
    make = plugins.get("corml.splits", how)
    _refuse_unknown(how, options, options_of(make))
    made: Split = make(data, **options)
    return made


def options_of(make: Callable[..., Split]) -> list[str]:
    """Names of the options a split takes."""
    parameters = inspect.signature(make).parameters.values()
    return [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]


def _refuse_unknown(how: str, given: Iterable[str], valid: list[str]) -> None:
    for name in given:
        if name not in valid:
            raise SettingError(f"The split {ascii_line(how)} has no option {ascii_line(name)}{nearest(name, valid)}")
