"""What an option of lists is made of: its declaration, its flags, the limits of its JSON, and checks of values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from corml._runtime.values import is_number, is_whole
from corml.errors import UsageError, ascii_line

MAX_K = 10_000
LARGEST_BOOST = 1e6


@dataclass(frozen=True, kw_only=True)
class Range:
    """What JSON may hold: bounds of a number, of the length of a text or list, and a pattern."""

    ge: float | None = None
    le: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None


@dataclass(frozen=True)
class Flag:
    """An option of a command line: what it takes, and its help where that is not the option's."""

    name: str
    metavar: str
    help: str = ""
    kind: type = str
    many: bool = False


@dataclass(frozen=True, kw_only=True)
class Option:
    """One list option.

    `check` raises UsageError for a value that cannot be meant. `json` is the type that a request may hold; an option
    without one is not part of the HTTP API. `read` makes a value of the texts of its `flags`, by name; if it is
    `by_catalogue` it needs the items and attributes of a model.
    """

    default: object = None
    help: str
    check: Callable[[object], object] = lambda value: None
    flags: tuple[Flag, ...] = ()
    read: Callable[..., object] = lambda given, catalogue: next(iter(given.values()))
    by_catalogue: bool = False
    json: object = None
    words: Callable[[object], str] | None = None  # of rules of lists: what is said of lists that were made by it


# --- checks ---------------------------------------------------------------------------------------------------------


def check_k(k: object) -> None:
    """K is a length that lists can have."""
    if not is_whole(k) or not 1 <= k <= MAX_K:
        raise UsageError(f"k must be a whole number from 1 to {MAX_K:,}; got {ascii_line(k)}.")


def one_of(name: str, *choices: str | None) -> Callable[[object], None]:
    """A check for one of these choices."""
    shown = [repr(choice) for choice in choices if choice is not None]

    def check(value: object) -> None:
        if value not in choices:
            raise UsageError(f"{name} must be {', '.join(shown[:-1])} or {shown[-1]}; got {ascii_line(value)}.")

    return check


def check_diversity(value: object) -> None:
    """A number from 0 to 1."""
    if not is_number(value) or not 0 <= value <= 1:
        raise UsageError(
            "diversity must be a number from 0 (by score alone) to 1 (as far apart as can be); "
            f"got {ascii_line(value)}."
        )


def check_novelty(value: object) -> None:
    """Nothing, or a number from 0 to 1."""
    if value is not None and (not is_number(value) or not 0 <= value <= 1):
        raise UsageError(f"novelty must be a number from 0 (popular) to 1 (novel); got {ascii_line(value)}.")


def check_share(value: object) -> None:
    """Nothing, or a share above 0."""
    if value is not None and not (is_number(value) and 0 < value <= 1):
        raise UsageError(
            f"max_share must be a share of the lists above 0, up to 1, such as 0.05; got {ascii_line(value)}."
        )


def _mapping(given: object, name: str, what: str) -> Mapping[str, object]:
    if given is not None and not isinstance(given, Mapping):
        raise UsageError(f"{name} takes a mapping of {what}; got {ascii_line(given)}.")
    return given or {}


def check_limits(given: object) -> None:
    """Nothing, or a whole number for each attribute."""
    for name, count in _mapping(given, "max_per", "attributes to numbers, such as {'genre': 2}").items():
        if not is_whole(count) or count < 1:
            raise UsageError(
                f"max_per must be a whole number of at least 1 for {ascii_line(name)}; got {ascii_line(count)}."
            )


def check_boosts(given: object) -> None:
    """Nothing, or a factor for each item, or for each value of an attribute."""
    what = "items to factors, such as {'318': 1.2}, or attributes to such"
    for name, factor in _mapping(given, "boost", what).items():
        for one, number in factor.items() if isinstance(factor, Mapping) else [(name, factor)]:
            if not is_number(number) or not 1 / LARGEST_BOOST <= number <= LARGEST_BOOST:
                raise UsageError(
                    f"boost must be a factor above 0 for {ascii_line(one)}, up to {LARGEST_BOOST:,.0f}; "
                    f"got {ascii_line(number)}. To leave an item out, use exclude."
                )
