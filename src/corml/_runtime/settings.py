"""A hyper-parameter declared once: its default, what it may be, where a search should look.

Command-line flags, settings files, checks, documentation and tuning all read these declarations.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from corml._runtime.values import is_number, nearest
from corml.errors import SettingError, ascii_line

T = TypeVar("T")


@dataclass(frozen=True)
class Rule:
    """What a setting may be: a phrase that completes «must be …» and the test behind it."""

    phrase: str
    holds: Callable[[Any], bool]
    read: Callable[[str], Any] = float
    whole: bool = False


@dataclass(frozen=True)
class Search:
    """Where a tuner should look: an interval (linear or logarithmic) or a list of choices."""

    kind: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Declared:
    """One hyper-parameter as its model declares it."""

    name: str
    default: Any
    rule: Rule
    help: str
    symbol: str
    search: Search | None


def setting(default: Any, rule: Rule, *, help: str, symbol: str = "", search: Search | None = None) -> Any:
    """Declare a hyper-parameter as a dataclass field."""
    return dataclasses.field(default=default, metadata={"setting": (rule, help, symbol, search)})


def declared(model: type) -> dict[str, Declared]:
    """All hyper-parameters of a model class, in the order it declares them."""
    fields = [f for f in dataclasses.fields(model) if "setting" in f.metadata]
    return {f.name: Declared(f.name, f.default, *f.metadata["setting"]) for f in fields}


def values_of(model: object) -> dict[str, Any]:
    """The settings of a model by name, as they stand now."""
    return {name: getattr(model, name) for name in declared(type(model))}


def described(model: type[T]) -> type[T]:
    """Add every setting to the docstring of a model class, so that `help` teaches them; for use above @dataclass."""
    lines = [(model.__doc__ or "").rstrip(), "", "    Settings", "    --------"]
    for spec in declared(model).values():
        symbol = f" ({spec.symbol})" if spec.symbol else ""
        lines += [f"    {spec.name} : {spec.rule.phrase}; default {spec.default}", f"        {spec.help}{symbol}"]
    model.__doc__ = "\n".join(lines) + "\n"
    _refuse_unknown_names(model)
    return model


def _refuse_unknown_names(model: type) -> None:
    """Let the constructor say which name was probably meant."""
    plain, known = model.__init__, {field.name for field in dataclasses.fields(model) if field.init}  # type: ignore[misc]

    @functools.wraps(plain)
    def checked(self: object, *given: Any, **settings: Any) -> None:
        if not settings.keys() <= known:
            check_names(model, [name for name in settings if name not in known])
        plain(self, *given, **settings)

    model.__init__ = checked  # type: ignore[misc]


def check(model: object) -> None:
    """Refuse the first setting that breaks its rule, in one sentence; NumPy's numbers become plain ones."""
    for name, spec in declared(type(model)).items():
        given = getattr(model, name)
        value = given.item() if hasattr(given, "item") and getattr(given, "ndim", 0) == 0 else given
        if not spec.rule.holds(value):
            owner = type(model).__name__
            raise SettingError(f"{name} of {owner} must be {spec.rule.phrase}; got {ascii_line(given)}.")
        plain = int(value) if isinstance(value, float) and spec.rule.whole else value
        if type(plain) is not type(given):
            setattr(model, name, plain)


def build(model: type, values: Mapping[str, Any]) -> Any:
    """Make a model from named values (text is read by the setting's own rule); unknown names are errors."""
    check_names(model, values)
    specs = declared(model)
    configured = model(**{name: _read(specs[name], value) for name, value in values.items()})
    check(configured)
    return configured


def check_names(model: type, names: Iterable[str]) -> None:
    """Refuse the first name that is no setting of a model, and suggest the nearest."""
    specs = declared(model)
    for name in names:
        if name not in specs:
            raise SettingError(f"{model.__name__} has no setting {ascii_line(name)}{nearest(name, specs)}")


def _read(spec: Declared, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return spec.rule.read(value)
    except ValueError:
        raise SettingError(f"{spec.name} must be {spec.rule.phrase}; got {ascii_line(value)}.") from None


# --- rules -----------------------------------------------------------------------------------------------------------


def between(low: float, high: float) -> Rule:
    """A number in the closed interval."""
    return Rule(f"a number from {low:g} to {high:g}", lambda v: is_number(v) and low <= v <= high)


LARGEST = 1e12  # beyond it single precision overflows in products of three, and nothing is learned long before


def above(low: float, high: float = LARGEST) -> Rule:
    """A number strictly above `low` and at most `high`."""
    return Rule(f"a number above {low:g} and at most {high:g}", lambda v: is_number(v) and low < v <= high)


def at_least(low: float) -> Rule:
    """A number not below `low`."""
    return between(low, LARGEST)


def whole(low: int, high: int) -> Rule:
    """A whole number in the closed interval."""
    return Rule(
        f"a whole number from {low:,} to {high:,}",
        lambda v: is_number(v) and float(v).is_integer() and low <= v <= high,
        _whole,
        whole=True,
    )


def one_of(*choices: str) -> Rule:
    """One of a few names."""
    return Rule("one of " + ", ".join(map(repr, choices)), lambda v: isinstance(v, str) and v in choices, str)


def optional(rule: Rule, meaning: str) -> Rule:
    """The rule, or None (written «auto» or «none» in text) with the meaning given."""
    return Rule(
        f"{rule.phrase}, or none ({meaning})",
        lambda v: v is None or rule.holds(v),
        lambda text: None if text.strip().lower() in ("none", "auto") else rule.read(text),
        whole=rule.whole,
    )


def yes_or_no() -> Rule:
    """True or False."""
    words = {"true": True, "yes": True, "false": False, "no": False}

    def read(text: str) -> bool:
        try:
            return words[text.strip().lower()]
        except KeyError:
            raise ValueError(text) from None

    return Rule("true or false", lambda v: isinstance(v, bool), read)


def _whole(text: str) -> int:
    number = float(text)
    if not number.is_integer():
        raise ValueError(text)
    return int(number)


# --- where to search -------------------------------------------------------------------------------------------------


def linear(low: float, high: float) -> Search:
    """Search evenly between two numbers."""
    return Search("linear", (low, high))


def log(low: float, high: float) -> Search:
    """Search evenly on a logarithmic scale."""
    return Search("log", (low, high))


def choice(*values: Any) -> Search:
    """Search among a few values."""
    return Search("choice", values)
