"""Options of splits: checked in a sentence, and read from text where a command line brings text."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from corml.errors import SettingError, ascii_line
from corml.settings import Rule, whole

__all__ = ["SEED", "Shares", "numbers", "option", "read_numbers", "three_shares"]

Shares = Sequence[float]

SEED = whole(0, 2**32 - 1)


def option(how: str, name: str, value: Any, rule: Rule) -> Any:
    """Read the value of an option; it must keep the rule."""
    plain = value.item() if isinstance(value, np.generic) else value
    try:
        read = rule.read(plain) if isinstance(plain, str) else plain
        fine = rule.holds(read)
    except ValueError:
        fine = False
    if not fine:
        raise SettingError(f"{name} of the split '{how}' must be {rule.phrase}; got {ascii_line(value)}.")
    return read


def three_shares(how: str, value: Any) -> tuple[float, float, float]:
    """Shares of train, valid and test; of two shares the second is that of test."""
    read = option(how, "shares", numbers(value), _SHARES)
    train, *valid, test = read
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
