"""Options that several commands share, declared once."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import typer

from corml._runtime.values import whole_number
from corml.errors import UsageError
from corml.recommend.text import share

Given = dict[str, Any]  # options by name, as they were given
Command = Callable[..., Any]
Option = tuple[Any, Any]  # its type, and what typer needs to know


def option(kind: Any, flag: str, metavar: str, text: str) -> Option:
    """Declare an option with a value."""
    return kind | None, typer.Option(None, flag, metavar=metavar, help=text)


def switch(flag: str, text: str) -> Option:
    """Declare an option without a value."""
    return bool, typer.Option(False, flag, help=text)


LOADING: dict[str, Option] = {
    "user": option(str, "--user", "COLUMN", "Column of user ids (default: recognised by its name)."),
    "item": option(str, "--item", "COLUMN", "Column of item ids (default: recognised by its name)."),
    "rating": option(str, "--rating", "COLUMN", "Column of ratings or weights (default: recognised by its name)."),
    "no_rating": switch("--no-rating", "Ignore ratings: every row is an interaction."),
    "time": option(str, "--time", "COLUMN", "Column of times (default: recognised by its name)."),
    "no_time": switch("--no-time", "Ignore times."),
    "at_least": option(float, "--at-least", "NUMBER", "Keep only ratings of at least this value."),
    "k_core": option(int, "--k-core", "N", "Keep the N-core: users and items with at least N interactions each."),
    "min_user": option(int, "--min-user", "N", "Drop users with fewer than N interactions."),
    "min_item": option(int, "--min-item", "N", "Drop items with fewer than N interactions."),
    "weight": option(str, "--weight", "COLUMN", "Column of weights, such as quantities."),
    "transform": option(str, "--transform", "NAME", "Transform of a pair's summed weight: none, log1p or sqrt."),
    "event": option(str, "--event", "COLUMN", "Column of event types."),
    "weights": option(str, "--weights", "TYPE=NUMBER,…", "Weight of each event type: view=1,cart=3,buy=10."),
    "negative": option(str, "--negative", "TYPES", "Event types that are negative feedback: return,dislike."),
    "half_life": option(str, "--half-life", "TIME", "Half-life of an interaction's weight: 90d."),
    "rating_strength": switch("--rating-strength", "Weight of a pair: rating - at least + 1; needs --at-least."),
    "low_ratings": option(
        str,
        "--low-ratings",
        "seen|negative",
        "Ratings below --at-least: exclude-only (seen) or negative feedback.",
    ),
    "titles": option(str, "--titles", "FILE", "A second file with item ids and titles."),
    "items": option(str, "--items", "FILE", "A table of items: ids and attributes, such as genre, price and title."),
    "separator": option(str, "--separator", "TEXT", "Column separator (default: detected)."),
    "no_header": switch("--no-header", "The first line is data; columns are 0, 1, 2 …"),
    "trim": switch("--trim", "Strip whitespace around ids."),
    "skip_bad_rows": switch("--skip-bad-rows", "Drop malformed rows (up to 1 %) and count them."),
    "max_bad_rows": option(str, "--max-bad-rows", "SHARE", "Drop malformed rows up to this share, such as 5%."),
    "null_ids": option(
        str, "--null-ids", "drop|keep", "Rows without a user or item: drop them, or keep them as 'null'."
    ),
    "encoding": option(str, "--encoding", "NAME", "Encoding of text that is not UTF-8, such as cp1252."),
    "decimal": option(str, "--decimal", "CHARACTER", "Decimal character of numbers: . or , (default: .)."),
    "time_format": option(str, "--time-format", "FORMAT", "How times are written, such as '%d.%m.%Y %H:%M'."),
    "now": option(str, "--now", "TIME", "Times more than a day after this are bad rows (default: now)."),
    "item_lists": switch("--item-lists", "Each line is a user and then all their items."),
    "sheet": option(str, "--sheet", "NAME", "Sheet of an Excel workbook (default: the first)."),
    "query": option(str, "--query", "SQL", "What to read from a SQLite or DuckDB file."),
    "allow_expansion": switch("--allow-expansion", "Allow extreme compression ratios."),
}

SPLITTING: dict[str, Option] = {
    "how": option(
        str,
        "--split",
        "HOW",
        "How to split: ratio, authors, k-fold, leave-last, temporal, new-users or new-items; or a split file.",
    ),
    "options": (
        list[str] | None,
        typer.Option(
            None,
            "--split-set",
            metavar="NAME=VALUE",
            help="An option of the split; may be repeated: seed=7 (ratio, authors, k-fold, new-users, new-items), "
            "shares=.8,.1,.1 (ratio, authors, temporal, new-users, new-items), given=.8 (new-users), "
            "known=.2 (new-items), folds=5, fold=0 and valid_fold=1 (k-fold), n=1 and n_valid=1 (leave-last), "
            "moments=T1,T2 (temporal; dates such as 2024-05-31, or seconds since 1970).",
        ),
    ),
    "targets": option(
        str,
        "--targets",
        "TYPES",
        "Count only held-out pairs with such an event as targets: purchase; all counts every pair.",
    ),
}


# The sets of a precomputed split.
TRAIN, VALID, TEST = (
    typer.Option(None, f"--{name}", metavar="FILE", help=f"{text} set of a precomputed split.")
    for name, text in (("train", "Train"), ("valid", "Validation"), ("test", "Test"))
)


def with_loading(command: Command) -> Command:
    """Give a command the options of loading; it receives those that were used as `loading`."""

    def gather(values: Given) -> Given:
        given = used(values)
        for name in ("rating", "time"):
            if given.pop(f"no_{name}", False):
                if name in given:
                    raise UsageError(f"--{name} and --no-{name} contradict each other: leave one out.")
                given[name] = False
        if "weights" in given:
            given["weights"] = _weights(given["weights"])
        if "max_bad_rows" in given:
            given["max_bad_rows"] = share(given["max_bad_rows"], "--max-bad-rows")
        if "negative" in given:
            given["negative"] = [event.strip() for event in given["negative"].split(",") if event.strip()]
        if given.pop("no_header", False):
            given["header"] = False
            for name in ("user", "item", "rating", "time", "weight", "event"):
                number = whole_number(str(given.get(name, "")))
                given |= {} if number is None else {name: number}  # without names, columns are counted from 0
        return given

    return with_options(command, "loading", LOADING, gather)


def with_splitting(command: Command) -> Command:
    """Give a command the options of splitting; it receives those that were used as `splitting`, as text."""

    def gather(values: Given) -> Given:
        return {name: values[name] for name in ("how", "targets") if values[name]} | pairs(values["options"] or [])

    return with_options(command, "splitting", SPLITTING, gather)


def used(values: Mapping[str, Any]) -> Given:
    """The options that were given on the command line."""
    return {name: value for name, value in values.items() if value is not None and value is not False and value != []}


def pairs(texts: list[str]) -> dict[str, str]:
    """Read NAME=VALUE texts."""
    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"'{text}' is not NAME=VALUE: write, for example, rank=64.")
        values[name.strip().replace("-", "_")] = value.strip()
    return values


def _weights(text: str) -> dict[str, float]:
    """Read view=1,cart=3."""
    weights = {}
    for part in filter(str.strip, text.split(",")):
        event, _, number = part.partition("=")
        try:
            weights[event.strip()] = float(number)
        except ValueError:
            raise UsageError(
                f"--weights needs a number for '{event.strip()}': write, for example, view=1,cart=3,buy=10."
            ) from None
    return weights


def with_options(
    command: Command,
    receives: str,
    options: Mapping[str, Option],
    gather: Callable[[Given], Given],
) -> Command:
    """Replace one parameter of a command by options, as typer sees it; it receives what `gather` makes of them."""

    @functools.wraps(command)
    def wrapped(**given: Any) -> Any:
        values = {name: given.pop(f"{receives}_{name}") for name in options}
        return command(**given, **{receives: gather(values)})

    own = [p for name, p in inspect.signature(command).parameters.items() if name != receives]
    added = [
        inspect.Parameter(f"{receives}_{name}", inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in options.items()
    ]
    parameters = [*(p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own), *added]
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    return wrapped
