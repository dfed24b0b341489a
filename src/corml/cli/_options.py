"""Options that several commands share, declared once."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import typer

from corml.errors import UsageError

__all__ = ["pairs", "with_loading", "with_splitting"]

Option = tuple[Any, Any]


def _value(kind: Any, flag: str, shown: str, words: str) -> Option:
    return kind | None, typer.Option(None, flag, metavar=shown, help=words)


def _switch(flag: str, words: str) -> Option:
    return bool, typer.Option(False, flag, help=words)


LOADING: dict[str, Option] = {
    "user": _value(str, "--user", "COLUMN", "Column with the user ids (otherwise found by its name)."),
    "item": _value(str, "--item", "COLUMN", "Column with the item ids (otherwise found by its name)."),
    "rating": _value(str, "--rating", "COLUMN", "Column with ratings or weights (otherwise found by its name)."),
    "no_rating": _switch("--no-rating", "Every row counts, whatever its rating."),
    "time": _value(str, "--time", "COLUMN", "Column with times (otherwise found by its name)."),
    "no_time": _switch("--no-time", "Leave times aside."),
    "at_least": _value(float, "--at-least", "NUMBER", "Count only ratings of at least this much."),
    "k_core": _value(int, "--k-core", "N", "Keep users and items with N interactions among those kept."),
    "min_user": _value(int, "--min-user", "N", "Drop users with fewer interactions."),
    "min_item": _value(int, "--min-item", "N", "Drop items with fewer interactions."),
    "titles": _value(str, "--titles", "FILE", "A second file with item ids and titles."),
    "separator": _value(str, "--separator", "TEXT", "What stands between columns (otherwise guessed)."),
    "no_header": _switch("--no-header", "The first line is data; columns are 0, 1, 2 …"),
    "trim": _switch("--trim", "Strip blanks around ids."),
    "skip_bad_rows": _switch("--skip-bad-rows", "Drop bad rows (up to 1 %) and count them."),
    "allow_expansion": _switch("--allow-expansion", "Unpack even what looks like a bomb."),
}

SPLITTING: dict[str, Option] = {
    "how": _value(str, "--split", "HOW", "ratio, authors, k-fold, leave-last, temporal or new-users."),
    "options": (
        list[str] | None,
        typer.Option(
            None,
            "--split-set",
            metavar="NAME=VALUE",
            help="An option of the split; may be repeated: seed=7 (ratio, authors, k-fold, new-users), "
            "shares=.8,.1,.1 (ratio, authors, temporal, new-users), given=.8 (new-users), folds=5, fold=0 and "
            "valid_fold=1 (k-fold), n=1 and n_valid=1 (leave-last), moments=T1,T2 (temporal).",
        ),
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
        if used.pop("no_header", False):
            used["header"] = False
            columns = [name for name in ("user", "item", "rating", "time") if str(used.get(name, "")).isdigit()]
            used |= {name: int(used[name]) for name in columns}  # without names, columns are counted from 0
        return used

    return _with(command, "loading", LOADING, gather)


def with_splitting(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of splitting; it receives those that were used as `splitting`, all texts."""

    def gather(values: dict[str, Any]) -> dict[str, Any]:
        return ({"how": values["how"]} if values["how"] else {}) | pairs(values["options"] or [])

    return _with(command, "splitting", SPLITTING, gather)


def pairs(texts: list[str]) -> dict[str, str]:
    """Read NAME=VALUE texts."""
    made = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"'{text}' is not NAME=VALUE: write, for example, rank=64.")
        made[name.strip().replace("-", "_")] = value.strip()
    return made


def _with(
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

    kept = [p for name, p in inspect.signature(command).parameters.items() if name != receives]
    added = [
        inspect.Parameter(f"{receives}_{name}", inspect.Parameter.KEYWORD_ONLY, default=option, annotation=kind)
        for name, (kind, option) in options.items()
    ]
    keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in kept]
    wrapped.__signature__ = inspect.Signature([*keyword, *added])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in [*keyword, *added]}
    return wrapped
