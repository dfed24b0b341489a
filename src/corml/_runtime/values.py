"""What every package asks of a value: is it a number, what does JSON make of it, which name was probably meant."""

import difflib
import json
import math
import re
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import TypeGuard

from corml.errors import UsageError, ascii_line, printable, printable_json

_FIRST_PLURAL = re.compile(r"(?<=user|rget|pair)s\b")  # of users, targets and pairs
LONGEST = 18  # digits of a whole number: what an array can count


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a finite number of Python or NumPy; true and false are none."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number beyond any float
        return False


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number of Python or NumPy; true and false are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def whole_number(text: str) -> int | None:
    """Read a number of at most eighteen plain digits, none of them of another script; None for anything else."""
    digits = text.strip()
    if not (digits.isascii() and digits.isdecimal()):
        return None
    digits = digits.lstrip("0") or "0"
    return int(digits) if len(digits) <= LONGEST else None


def share_of(text: str) -> float:
    """Read 0.05 or 5%; ValueError for anything else."""
    number = text.strip()
    return float(number[:-1]) / 100 if number.endswith("%") else float(number)


def counted(number: int, what: str) -> str:
    """A number and its noun: «1 list», «2,000 lists»."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def counted_note(number: int, what: str) -> str:
    """A number and words that begin with a plural: «1 user without targets», «2 users without targets»."""
    return f"{number:,} {_FIRST_PLURAL.sub('', what, count=1) if number == 1 else what}"


def finite(value: object) -> object:
    """The value with null for every number that is not finite, which every reader of JSON takes."""
    if isinstance(value, Mapping):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_text(value: object, *, ascii_only: bool = False) -> str:
    """JSON in indented lines that every reader takes and no terminal obeys; unknown objects become text."""
    text = json.dumps(finite(value), indent=2, ensure_ascii=ascii_only, allow_nan=False, default=str)
    return printable_json(text)


def nearest(name: str, valid: Iterable[str]) -> str:
    """Suggest the valid name that was probably meant: «; did you mean 'rank'?»."""
    names = list(valid)
    if not names:
        return "; it has none."
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {ascii_line(close[0])}?"
    return f"; there is: {', '.join(printable(name) for name in sorted(names))}."


def no_such(what: str, name: object, valid: Iterable[str]) -> UsageError:
    """The error for a name that does not exist: «There is no chart 'slises'; did you mean 'slices'?»."""
    return UsageError(f"There is no {what} {ascii_line(name)}{nearest(str(name), valid)}")
