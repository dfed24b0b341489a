"""How a split is made: a procedure by name, its options, and a record from which it can be run again."""

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from corml import plugins
from corml._runtime.settings import Rule, whole
from corml._runtime.values import nearest
from corml.data.interactions import Interactions
from corml.errors import DataError, SettingError, UsageError, ascii_line

GROUP = "corml.splits"
SEED = whole(0, 2**32 - 1)

Shares = Sequence[float]


def options(how: str) -> tuple[str, ...]:
    """Names of the options that a split takes."""
    parameters = inspect.signature(plugins.get(GROUP, how)).parameters.values()
    return tuple(parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY)


def run(data: Any, how: str, given: Mapping[str, Any]) -> Any:
    """Make the split of that name with these options."""
    valid = options(how)
    for name in given:
        if name not in valid:
            raise SettingError(f"The split {ascii_line(how)} has no option {ascii_line(name)}{nearest(name, valid)}")
    return plugins.get(GROUP, how)(data, **given)


def record(name: str, data: Any, **options: Any) -> dict[str, Any]:
    """Note what it takes to make the split again, in plain values that a file can hold."""
    plain = {key: list(value) if isinstance(value, tuple) else value for key, value in options.items()}
    return {"name": name, **plain, "data": data.fingerprint}


def run_again(recorded: Mapping[str, Any], data: Interactions) -> Any:
    """Make a split from its record."""
    name = str(recorded.get("name"))
    try:
        return run(data, name, {key: recorded[key] for key in options(name) if key in recorded})
    except UsageError as fault:
        raise DataError(f"The recorded procedure cannot be run: {fault}") from fault


def option(how: str, name: str, value: object, rule: Rule, given: object = None) -> Any:
    """Read the value of an option, from text if need be, and check it."""
    plain = value.item() if isinstance(value, np.generic) else value
    try:
        read = rule.read(plain) if isinstance(plain, str) else plain
        holds = rule.holds(read)
    except (TypeError, ValueError):  # something else than numbers among them
        holds = False
    if not holds:
        shown = ascii_line(value if given is None else given)
        raise SettingError(f"{name} of the split '{how}' must be {rule.phrase}; got {shown}.")
    return read


def three_shares(how: str, value: object) -> tuple[float, float, float]:
    """Shares of the train, validation and test set; the second of two shares is for the test set."""
    train, *valid, test = option(how, "shares", numbers(value), _SHARES)
    return train, (valid[0] if valid else 0.0), test


def numbers(value: Any) -> Any:
    """Make a tuple of anything that holds numbers; text is left to be read, and the rest for a rule to refuse."""
    if isinstance(value, str):
        return value
    try:
        return tuple(float(number) for number in (value if isinstance(value, Iterable) else (value,)))
    except (TypeError, ValueError):
        return value


def read_numbers(text: str) -> tuple[float, ...]:
    """Read «.6,.2,.2»."""
    return tuple(float(word) for word in text.split(","))


def _are_shares(value: Any) -> bool:
    if not isinstance(value, tuple) or len(value) not in (2, 3):
        return False
    return value[0] >= 0.001 and all(0 <= share <= 1 for share in value) and math.isclose(sum(value), 1, abs_tol=1e-6)


_SHARES = Rule("two or three numbers from 0 to 1 that sum to 1, the first not below .001", _are_shares, read_numbers)
