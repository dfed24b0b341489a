"""Options that several commands share, declared once."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import typer

__all__ = ["pairs", "with_loading", "with_splitting"]


def _text(flag: str, words: str) -> Any:
    return typer.Option(None, flag, help=words)


LOADING: dict[str, tuple[Any, Any]] = {
    "user": (str | None, _text("--user", "Column with the user ids (otherwise found by its name).")),
    "item": (str | None, _text("--item", "Column with the item ids (otherwise found by its name).")),
    "rating": (str | None, _text("--rating", "Column with ratings or weights.")),
    "time": (str | None, _text("--time", "Column with times.")),
    "at_least": (float | None, _text("--at-least", "Count only ratings of at least this much.")),
    "k_core": (int | None, _text("--k-core", "Keep users and items with k interactions, over and over.")),
    "min_user": (int | None, _text("--min-user", "Drop users with fewer interactions.")),
    "min_item": (int | None, _text("--min-item", "Drop items with fewer interactions.")),
    "titles": (str | None, _text("--titles", "A second file with item ids and titles.")),
    "separator": (str | None, _text("--separator", "Character between columns (otherwise guessed).")),
    "no_header": (bool, typer.Option(False, "--no-header", help="The first line is data, not column names.")),
    "trim": (bool, typer.Option(False, "--trim", help="Strip blanks around ids.")),
    "skip_bad_rows": (bool, typer.Option(False, "--skip-bad-rows", help="Drop bad rows (up to 1 %) and count them.")),
    "allow_expansion": (bool, typer.Option(False, "--allow-expansion", help="Unpack even what looks like a bomb.")),
}

SPLITTING: dict[str, tuple[Any, Any]] = {
    "how": (str | None, _text("--split", "How to split: ratio, authors, k-fold, leave-last, temporal, new-users.")),
    "options": (
        list[str] | None,
        typer.Option(None, "--split-set", metavar="NAME=VALUE", help="An option of the split, e.g. seed=2026."),
    ),
}


def with_loading(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of loading; it receives those that were used as `loading`."""

    def gather(values: dict[str, Any]) -> dict[str, Any]:
        used = {name: value for name, value in values.items() if value not in (None, False)}
        if used.pop("no_header", False):
            used["header"] = False
            columns = [name for name in ("user", "item", "rating", "time") if str(used.get(name, "")).isdigit()]
            used |= {name: int(used[name]) for name in columns}  # without names, columns are counted from 0
        return used

    return _with(command, "loading", LOADING, gather)


def with_splitting(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of splitting; it receives them as `splitting`, empty where none was used."""

    def gather(values: dict[str, Any]) -> dict[str, Any]:
        options = pairs(values["options"] or [])
        if options and not values["how"]:
            raise typer.BadParameter("--split-set needs --split")
        return {"how": values["how"], **{k: _plain(v) for k, v in options.items()}} if values["how"] else {}

    return _with(command, "splitting", SPLITTING, gather)


def pairs(texts: list[str]) -> dict[str, str]:
    """Read NAME=VALUE texts."""
    made = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise typer.BadParameter(f"'{text}' is not NAME=VALUE")
        made[name.strip().replace("-", "_")] = value.strip()
    return made


def _plain(text: str) -> Any:
    """A number, a list of numbers, or the text itself."""
    try:
        if "," in text:
            return tuple(float(part) for part in text.split(","))
        number = float(text)
        return int(number) if number.is_integer() and "." not in text else number
    except ValueError:
        return text


def _with(
    command: Callable[..., Any],
    receives: str,
    options: dict[str, tuple[Any, Any]],
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
