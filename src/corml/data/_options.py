"""The options of `load`, checked once, and the notes it makes on the way."""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from typing import Literal, TypedDict, TypeVar

import numpy as np

from corml._runtime import durations
from corml._runtime.log import log
from corml._runtime.values import is_number, is_whole, nearest
from corml.data.ids import canonical, labels_of
from corml.errors import UsageError, ascii_line, warn

F = TypeVar("F", bound=Callable[..., object])
Column = str | int | Literal[False] | None  # a name, a position from 0, False for «do not use», None for «find it»


class LoadOptions(TypedDict, total=False):
    """The options of `load`, as its documentation explains them."""

    user: Column
    item: Column
    rating: Column
    time: Column
    at_least: float | None
    k_core: int
    min_user: int
    min_item: int
    titles: object
    separator: str | None
    header: bool | None
    trim: bool
    skip_bad_rows: bool
    allow_expansion: bool
    encoding: str | None
    decimal: str
    time_format: str | None
    null_ids: Literal["drop", "keep"] | None
    max_bad_rows: float | None
    item_lists: bool
    sheet: str | None
    query: str | None
    weight: str | int | None
    transform: str | None
    event: str | int | None
    weights: Mapping[str, float] | None
    negative: Iterable[str] | None
    half_life: str | None
    rating_strength: bool
    low_ratings: Literal["seen", "negative"] | None
    items: object
    now: object


@dataclass(frozen=True)
class Options:
    """The same with their defaults, checked."""

    user: Column = None
    item: Column = None
    rating: Column = None
    time: Column = None
    at_least: float | None = None
    k_core: int = 0
    min_user: int = 0
    min_item: int = 0
    titles: object = None
    separator: str | None = None
    header: bool | None = None
    trim: bool = False
    skip_bad_rows: bool = False
    allow_expansion: bool = False
    encoding: str | None = None
    decimal: str = "."
    time_format: str | None = None
    null_ids: str | None = None
    max_bad_rows: float | None = None
    item_lists: bool = False
    sheet: str | None = None
    query: str | None = None
    weight: str | int | None = None
    transform: str | None = None
    event: str | int | None = None
    weights: Mapping[str, float] | None = None
    negative: tuple[str, ...] | None = None
    half_life: str | None = None
    rating_strength: bool = False
    low_ratings: str | None = None
    items: object = None
    now: object = None

    def __post_init__(self) -> None:
        for names, fits, rule in RULES:
            for name in names.split():
                value = getattr(self, name)
                if value is not None and not fits(value):
                    raise UsageError(f"{shown(name)} {rule.format(ascii_line(value))}")
        if self.user is False or self.item is False:
            raise UsageError("user and item are needed: give a column, or None to find it by its name.")
        if self.now is not None:
            durations.moment(self.now, shown("now"))
        if self.half_life is not None:
            durations.seconds(self.half_life, "half_life")
        if self.transform is not None and self.weight is None and self.event is None and self.weights is None:
            raise UsageError("transform is about weights: give weight= (--weight) or event= (--event) too.")
        if (self.rating_strength or self.low_ratings == "negative") and self.at_least is None:
            raise UsageError(
                "rating_strength= (--rating-strength) and low_ratings= (--low-ratings) count from a threshold of "
                "ratings: give at_least= (--at-least) too."
            )

    @classmethod
    def of(cls, given: Mapping[str, object]) -> "Options":
        """The options that were given by name."""
        known = [one.name for one in fields(cls)]
        for name in given:
            if name == "kinds":
                raise TypeError("load has no option kinds: give items=corml.load_items(table, kinds=...).")
            if name not in known:
                raise TypeError(f"load has no option {ascii_line(name)}{nearest(name, known)}")
        negative = given.get("negative")
        if negative is not None:
            given = {**given, "negative": tuple(sorted(map(canonical, labels_of(negative, "negative"))))}
        return cls(**given)  # type: ignore[arg-type]

    def require_events(self) -> None:
        """Refuse weights of event types without any."""
        if (self.weights is not None or self.negative is not None) and self.event is None:
            raise UsageError("weights and negative are about event types: name their column with event= (--event).")

    def given(self) -> dict[str, object]:
        """List the options that differ from their defaults, ready for JSON."""
        chosen = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not f.default}
        chosen |= {name: _describe(chosen[name]) for name in ("titles", "items") if name in chosen}
        chosen |= {"now": chosen["now"].isoformat()} if isinstance(chosen.get("now"), date) else {}
        return chosen


def shows_options(function: F) -> F:
    """Show the options of `load` in the signature of a function, with their defaults."""
    signature = inspect.signature(function)
    own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    more = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=one.type)
        for one in fields(Options)
    ]
    vars(function)["__signature__"] = signature.replace(parameters=[*own, *more])
    return function


@dataclass
class Notes:
    """One-line notes and warnings: kept with the data, and passed on as they are made."""

    notify: Callable[[str], object] | None = None
    lines: list[str] = field(default_factory=list)
    warned: set[str] = field(default_factory=set)  # the lines that are warnings
    warner: Callable[[str], object] = warn

    def add(self, line: str) -> None:
        """Keep a note and pass it on."""
        self.lines.append(line)
        log.info("load: %s", line)
        if self.notify is not None:
            self.notify(line)

    def warn(self, line: str) -> None:
        """Keep a line about input that was dropped, ignored or reinterpreted, and warn of it."""
        self.lines.append(line)
        self.warned.add(line)
        self.warner(line)


def shown(name: str) -> str:
    """Name an option as Python writes it, and as the command line does, which shows only that."""
    return f"{name}= (--{name.replace('_', '-')})"


def _decodes(encoding: object) -> bool:
    try:
        return isinstance(encoding, str) and bool(b"ab".decode(encoding))
    except UnicodeError:  # it exists, and two letters are not text in it
        return True
    except (LookupError, ValueError):
        return False


def _are_weights(value: object) -> bool:
    return isinstance(value, Mapping) and all(is_number(weight) and weight >= 0 for weight in value.values())


RULES: tuple[tuple[str, Callable[[object], bool], str], ...] = (  # options, what they must be, and the message
    (
        "k_core min_user min_item",
        lambda value: isinstance(value, int) and is_whole(value) and value >= 0,
        "must be a whole number of 0 or more; got {}.",
    ),
    ("at_least", is_number, "must be a finite number; got {}."),
    (
        "separator",
        lambda text: isinstance(text, str) and bool(text) and not set(text) & set('"\r\n\0'),
        "must be one or more characters, not a quote or a line end; got {}.",
    ),
    (
        "user item rating time weight event",
        lambda column: isinstance(column, str | int | np.integer),
        "must be the name of a column, or its number; got {}.",
    ),
    ("encoding", _decodes, "{} is not known: write it like utf-8, cp1252 or latin-1."),
    ("decimal", lambda mark: mark in (".", ","), "must be '.' or ','; got {}."),
    ("time_format", lambda form: "%" in str(form), "must be a pattern such as '%d.%m.%Y %H:%M'; got {}."),
    ("null_ids", lambda value: value in ("drop", "keep"), "must be 'drop' or 'keep'; got {}."),
    (
        "max_bad_rows",
        lambda share: is_number(share) and 0 <= share <= 1,
        "must be a share from 0 to 1; got {}.",
    ),
    ("transform", lambda name: name in ("none", "log1p", "sqrt"), "must be one of none, log1p, sqrt; got {}."),
    ("low_ratings", lambda value: value in ("seen", "negative"), "must be 'seen' or 'negative'; got {}."),
    ("weights", _are_weights, "must give each event type a number of 0 or more; got {}."),
)


def _describe(table: object) -> str:
    if isinstance(table, str | os.PathLike):
        return os.fspath(table)
    return "mapping" if isinstance(table, Mapping) else "frame"
