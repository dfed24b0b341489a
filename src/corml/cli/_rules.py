"""Rules of lists as a command line writes them: --diversity .3 --max-per genre=2 --boost 318=1.2 --max-share 5%."""

from collections.abc import Callable
from typing import Any

import typer

from corml._runtime.values import whole_number
from corml.cli._options import with_options
from corml.cli._work import ids
from corml.errors import UsageError, ascii_line
from corml.models.recommender import Recommender
from corml.recommend.rules import ListRules

RULES: dict[str, Any] = {
    "diversity": (
        float | None,
        typer.Option(
            None,
            "--diversity",
            metavar="NUMBER",
            help="From 0 (by score alone) to 1: put items into a list that are far from each other.",
        ),
    ),
    "boost": (
        list[str] | None,
        typer.Option(
            None,
            "--boost",
            metavar="WHAT=FACTOR",
            help="Multiply scores: ID=1.2 of an item, genre:Comedy=1.2 of items with this attribute, or @FILE with one "
            "per line; may be repeated.",
        ),
    ),
    "max_per": (
        list[str] | None,
        typer.Option(
            None, "--max-per", metavar="NAME=N", help="At most N items of a category in a list: genre=2; repeatable."
        ),
    ),
    "max_share": (
        str | None,
        typer.Option(None, "--max-share", metavar="SHARE", help="An item in at most this share of the lists: 5%."),
    ),
}


def with_rules(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the rules of lists; it receives those that were used as `rules`, as text, for `rules_of`."""

    def gather(values: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in values.items() if value not in (None, [])}

    return with_options(command, "rules", RULES, gather)


def rules_of(given: dict[str, Any], model: Recommender) -> ListRules:
    """The rules that are meant for the items and attributes of a model."""
    values = dict(given)
    if "boost" in values:
        values["boost"] = _boosts(values["boost"], model)
    if "max_per" in values:
        values["max_per"] = dict(_limit(text) for text in values["max_per"])
    if "max_share" in values:
        values["max_share"] = _share(values["max_share"])
    return ListRules(**values)


def _boosts(texts: list[str], model: Recommender) -> dict[str, Any]:
    """What stands before the = is an item of the model; or else, with a colon, an attribute and one of its values."""
    boosts: dict[str, Any] = {}
    for text in (line for given in texts for line in (ids(given) if given.startswith("@") else [given]) or ()):
        what, equals, number = text.rpartition("=")
        if not equals or not what:
            raise UsageError(f"--boost {ascii_line(text)} is no boost: write ID=1.2 or genre:Comedy=1.2.")
        factor = _number(number, f"--boost {ascii_line(text)}")
        name, colon, value = what.partition(":")
        if what in model.items_ or not colon or name not in _names(model):
            boosts[what] = factor
        else:
            boosts.setdefault(name, {})[value] = factor
    return boosts


def _names(model: Recommender) -> set[str]:
    """Names that attributes can be called by: their own, in the singular or plural."""
    names = model.attributes_.names
    return {*names, *(name.removesuffix("s") for name in names), *(f"{name}s" for name in names)}


def _limit(text: str) -> tuple[str, int]:
    name, _, number = text.rpartition("=")
    count = whole_number(number)
    if not name or count is None:
        raise UsageError(f"--max-per {ascii_line(text)} is no limit: write, for example, genre=2.")
    return name.strip(), count


def _share(text: str) -> float:
    percent = text.strip().endswith("%")
    number = _number(text.strip().removesuffix("%"), f"--max-share {ascii_line(text)}")
    return number / 100 if percent else number


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{where} needs a number; got {ascii_line(text)}.") from None
