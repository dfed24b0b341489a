"""Options that several commands share, declared once."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import typer

from corml._runtime.values import whole_number
from corml.errors import UsageError

Option = tuple[Any, Any]


def _value(kind: Any, flag: str, shown: str, words: str) -> Option:
    return kind | None, typer.Option(None, flag, metavar=shown, help=words)


def _switch(flag: str, words: str) -> Option:
    return bool, typer.Option(False, flag, help=words)


LOADING: dict[str, Option] = {
    "user": _value(str, "--user", "COLUMN", "Column of user ids (default: recognised by its name)."),
    "item": _value(str, "--item", "COLUMN", "Column of item ids (default: recognised by its name)."),
    "rating": _value(str, "--rating", "COLUMN", "Column of ratings or weights (default: recognised by its name)."),
    "no_rating": _switch("--no-rating", "Ignore ratings: every row is an interaction."),
    "time": _value(str, "--time", "COLUMN", "Column of times (default: recognised by its name)."),
    "no_time": _switch("--no-time", "Ignore times."),
    "at_least": _value(float, "--at-least", "NUMBER", "Keep only ratings of at least this value."),
    "k_core": _value(int, "--k-core", "N", "Keep the N-core: users and items with at least N interactions each."),
    "min_user": _value(int, "--min-user", "N", "Drop users with fewer than N interactions."),
    "min_item": _value(int, "--min-item", "N", "Drop items with fewer than N interactions."),
    "weight": _value(str, "--weight", "COLUMN", "Column of quantities: how strong an interaction is."),
    "transform": _value(str, "--transform", "NAME", "Of the sum of a pair's weights: none, log1p or sqrt."),
    "event": _value(str, "--event", "COLUMN", "Column of kinds of events."),
    "weights": _value(str, "--weights", "KIND=NUMBER,…", "The weight of each kind of event: view=1,cart=3,buy=10."),
    "negative": _value(str, "--negative", "KINDS", "Kinds of events that say no: return,dislike."),
    "half_life": _value(str, "--half-life", "TIME", "After this time an interaction counts half: 90d."),
    "rating_strength": _switch("--rating-strength", "A pair weighs its rating - at least + 1; needs --at-least."),
    "low_ratings": _value(
        str, "--low-ratings", "seen|negative", "Ratings below --at-least: only seen, or push down what is like them."
    ),
    "titles": _value(str, "--titles", "FILE", "A second file with item ids and titles."),
    "items": _value(str, "--items", "FILE", "A table of items: ids and attributes, such as genre, price and title."),
    "separator": _value(str, "--separator", "TEXT", "Column separator (default: detected)."),
    "no_header": _switch("--no-header", "The first line is data; columns are 0, 1, 2 …"),
    "trim": _switch("--trim", "Strip whitespace around ids."),
    "skip_bad_rows": _switch("--skip-bad-rows", "Drop malformed rows (up to 1 %) and count them."),
    "max_bad_rows": _value(float, "--max-bad-rows", "SHARE", "Drop malformed rows up to this share, such as 0.05."),
    "null_ids": _value(
        str, "--null-ids", "drop|keep", "Rows without a user or item: drop them, or keep them as 'null'."
    ),
    "encoding": _value(str, "--encoding", "NAME", "Encoding of text that is not UTF-8, such as cp1252."),
    "decimal": _value(str, "--decimal", "CHARACTER", "Decimal character of numbers: . or , (default: .)."),
    "time_format": _value(str, "--time-format", "FORMAT", "How times are written, such as '%d.%m.%Y %H:%M'."),
    "now": _value(str, "--now", "TIME", "Times more than a day after this are bad rows (default: now)."),
    "item_lists": _switch("--item-lists", "Each line is a user and then all their items."),
    "sheet": _value(str, "--sheet", "NAME", "Sheet of an Excel workbook (default: the first)."),
    "query": _value(str, "--query", "SQL", "What to read from a SQLite or DuckDB file."),
    "allow_expansion": _switch("--allow-expansion", "Allow extreme compression ratios."),
}

SPLITTING: dict[str, Option] = {
    "how": _value(
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
            "moments=T1,T2 (temporal).",
        ),
    ),
    "targets": _value(
        str,
        "--targets",
        "TYPES",
        "Count only held-out pairs with such an event as targets: purchase; all counts every pair.",
    ),
}


def with_loading(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of loading; it receives those that were used as `loading`."""

    def gather(values: dict[str, Any]) -> dict[str, Any]:
        used = {name: value for name, value in values.items() if value is not None and value is not False}
        for name in ("rating", "time"):
            if used.pop(f"no_{name}", False):
                if name in used:
                    raise UsageError(f"--{name} and --no-{name} contradict each other: leave one out.")
                used[name] = False
        if "weights" in used:
            used["weights"] = {kind: _number(kind, text) for kind, text in _kinds(used["weights"]).items()}
        if "negative" in used:
            used["negative"] = [kind.strip() for kind in used["negative"].split(",") if kind.strip()]
        if used.pop("no_header", False):
            used["header"] = False
            for name in ("user", "item", "rating", "time", "weight", "event"):
                number = whole_number(str(used.get(name, "")))
                used |= {} if number is None else {name: number}  # without names, columns are counted from 0
        return used

    return with_options(command, "loading", LOADING, gather)


def with_splitting(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of splitting; it receives those that were used as `splitting`, as text."""

    def gather(values: dict[str, Any]) -> dict[str, Any]:
        given = {name: values[name] for name in ("how", "targets") if values[name]}
        return given | pairs(values["options"] or [])

    return with_options(command, "splitting", SPLITTING, gather)


def pairs(texts: list[str]) -> dict[str, str]:
    """Read NAME=VALUE texts."""
    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"'{text}' is not NAME=VALUE: write, for example, rank=64.")
        values[name.strip().replace("-", "_")] = value.strip()
    return values


def _kinds(text: str) -> dict[str, str]:
    """Read view=1,cart=3; a kind keeps its dashes."""
    split = [part.partition("=") for part in text.split(",") if part.strip()]
    return {kind.strip(): number for kind, _, number in split}


def _number(kind: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--weights needs a number for '{kind}': write, for example, view=1,cart=3,buy=10.") from None


def with_options(
    command: Callable[..., Any],
    receives: str,
    options: dict[str, Option],
    gather: Callable[[dict[str, Any]], dict[str, Any]],
) -> Callable[..., Any]:
    """Replace one parameter of a command by options, as typer sees it."""

    @functools.wraps(command)
    def wrapped(**given: Any) -> Any:
        values = {name: given.pop(f"{receives}_{name}") for name in options}
        return command(**given, **{receives: gather(values)})

    own = [p for name, p in inspect.signature(command).parameters.items() if name != receives]
    added = [
        inspect.Parameter(f"{receives}_{name}", inspect.Parameter.KEYWORD_ONLY, default=option, annotation=kind)
        for name, (kind, option) in options.items()
    ]
    keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
    wrapped.__signature__ = inspect.Signature([*keyword, *added])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in [*keyword, *added]}
    return wrapped
